package coordinator

import (
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// verb is how the coordinator takes a command to a service.
type verb struct {
	// changes returns what the command changes of what the service is to be, as it is now, or why it may not.
	changes func(*Turn, *projections.Service, events.Command) ([]events.Data, error)
	// creates says that there may be no service yet, suspended that the command is taken while the service is suspended or about to be, and
	// atOnce that it needs no turn: it is done with its changes.
	creates, suspended, atOnce bool
}

// verbs has an entry for each of events.Verbs.
var verbs = map[string]verb{
	nameOf[events.ServiceEnsure](): {changes: by((*Turn).ensure), creates: true},
	nameOf[events.ServiceScale](): {changes: by(func(t *Turn, s *projections.Service, c events.ServiceScale) ([]events.Data, error) {
		return scale(t.Cluster, s, c)
	})},
	nameOf[events.ServiceRestart]():  {changes: of(restart)},
	nameOf[events.ServiceSnapshot](): {changes: of(snapshot)},
	nameOf[events.ServiceSuspend]():  {changes: of(suspend), suspended: true},
	nameOf[events.ServiceResume](): {changes: by(func(t *Turn, s *projections.Service, c events.ServiceResume) ([]events.Data, error) {
		return resume(t.Cluster, s, c)
	}), suspended: true},
	nameOf[events.ServiceRollback](): {changes: by(func(t *Turn, s *projections.Service, c events.ServiceRollback) ([]events.Data, error) {
		return rollback(t.Cluster, s, c)
	})},
	nameOf[events.ServicePromote](): {changes: of(promote), atOnce: true},
	nameOf[events.ServiceCancel](): {changes: by(func(t *Turn, s *projections.Service, _ events.ServiceCancel) ([]events.Data, error) {
		return cancelAll(t.Cluster, s)
	}), suspended: true},
	nameOf[events.ServiceDrop](): {changes: of(func(s *projections.Service) ([]events.Data, error) { return drop(s), nil }), suspended: true},
}

func nameOf[C events.ServiceCommand]() string {
	var command C
	return command.Kind().Name
}

// by has changes take commands of one type.
func by[C events.ServiceCommand](changes func(*Turn, *projections.Service, C) ([]events.Data, error)) func(*Turn, *projections.Service, events.Command) ([]events.Data, error) {
	return func(t *Turn, s *projections.Service, c events.Command) ([]events.Data, error) {
		return changes(t, s, c.(C))
	}
}

// of has changes depend on the service alone.
func of(changes func(*projections.Service) ([]events.Data, error)) func(*Turn, *projections.Service, events.Command) ([]events.Data, error) {
	return func(_ *Turn, s *projections.Service, _ events.Command) ([]events.Data, error) { return changes(s) }
}

// guard returns what the command says of when it is taken.
func guard(c events.Command) events.Guard { return c.(events.ServiceCommand).When() }
