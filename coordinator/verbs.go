package coordinator

import (
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// verb is how the coordinator processes a command to a service.
type verb struct {
	// changes returns the events by which the command changes the service's target, or an error that says why it may not.
	changes func(*Turn, *projections.Service, events.Command) ([]events.Data, error)
	// creates says that the service need not exist yet. suspended says that the service takes the command while it is suspended
	// or about to be. atOnce says that the command does not wait in turn: it is complete with its changes.
	creates, suspended, atOnce bool
}

// verbs has an entry for each command to a service.
var verbs = map[events.Kind]verb{
	kindOf[events.ServiceEnsure]():   {changes: by((*Turn).ensure), creates: true},
	kindOf[events.ServiceScale]():    {changes: by((*Turn).scale)},
	kindOf[events.ServiceRestart]():  {changes: of(restart)},
	kindOf[events.ServiceSnapshot](): {changes: of(snapshot)},
	kindOf[events.ServiceSuspend]():  {changes: of(suspend), suspended: true},
	kindOf[events.ServiceResume]():   {changes: by((*Turn).resume), suspended: true},
	kindOf[events.ServiceRollback](): {changes: by((*Turn).rollback)},
	kindOf[events.ServicePromote]():  {changes: of(promote), atOnce: true},
	kindOf[events.ServiceCancel]():   {changes: by((*Turn).cancel), suspended: true},
	kindOf[events.ServiceDrop]():     {changes: of(func(s *projections.Service) ([]events.Data, error) { return drop(s), nil }), suspended: true},
}

// admissions has an entry for each other command: a function that accepts it, or returns why not.
var admissions = map[events.Kind]func(*Turn, events.Request) error{
	kindOf[events.GroupEnsure]():          ofGroup((*Turn).ensureGroup),
	kindOf[events.GroupCancel]():          ofGroup((*Turn).cancelGroup),
	kindOf[events.NodePause]():            ofNode((*Turn).pauseNode),
	kindOf[events.NodeResume]():           ofNode((*Turn).resumeNode),
	kindOf[events.NodeDrain]():            ofNode((*Turn).drain),
	kindOf[events.NodeForget]():           ofNode((*Turn).forget),
	kindOf[events.NodeUpdate]():           ofNode((*Turn).update),
	kindOf[events.ClusterPolicy]():        ofCluster((*Turn).policy),
	kindOf[events.ClusterNodes]():         ofCluster((*Turn).allow),
	kindOf[events.ClusterRebalance]():     ofCluster((*Turn).askRebalance),
	kindOf[events.ClusterFinishUpgrade](): finishUpgrade,
	kindOf[events.ClusterCreateToken]():   (*Turn).createToken,
	kindOf[events.NodeAdmit]():            (*Turn).admitNode,
	kindOf[events.NodeRevoke]():           (*Turn).revokeNode,
}

func kindOf[C events.Command]() events.Kind {
	var command C
	return command.Kind()
}

// by adapts changes that take commands of one type.
func by[C events.ServiceCommand](changes func(*Turn, *projections.Service, C) ([]events.Data, error)) func(*Turn, *projections.Service, events.Command) ([]events.Data, error) {
	return func(t *Turn, s *projections.Service, c events.Command) ([]events.Data, error) {
		return changes(t, s, c.(C))
	}
}

// of adapts changes that depend on the service alone.
func of(changes func(*projections.Service) ([]events.Data, error)) func(*Turn, *projections.Service, events.Command) ([]events.Data, error) {
	return func(_ *Turn, s *projections.Service, _ events.Command) ([]events.Data, error) { return changes(s) }
}

// guard returns the conditions under which the command may be accepted.
func guard(c events.Command) events.Guard { return c.(events.ServiceCommand).When() }

// ofGroup adapts a function that takes a command of one type to its group.
func ofGroup[C events.Command](take func(*Turn, events.Request, events.GroupID, C) error) func(*Turn, events.Request) error {
	return func(t *Turn, r events.Request) error {
		id, _ := r.Scope.Group()
		return take(t, r, id, r.Command.(C))
	}
}

// ofNode adapts a function that takes a command of one type to its node, and rejects the command if the node does not exist.
func ofNode[C events.Command](take func(*Turn, events.Request, *projections.Node, C) error) func(*Turn, events.Request) error {
	return func(t *Turn, r events.Request) error {
		n, err := t.nodeOf(r)
		if err != nil {
			return err
		}
		return take(t, r, n, r.Command.(C))
	}
}

// ofCluster adapts a function that takes a command of one type which no rule rejects.
func ofCluster[C events.Command](take func(*Turn, events.Request, C)) func(*Turn, events.Request) error {
	return func(t *Turn, r events.Request) error {
		take(t, r, r.Command.(C))
		return nil
	}
}
