package coordinator

import "github.com/rookery-project/rookery/events"

// queue accepts the command and puts it behind the last command that has not ended.
func (t *Turn) queue(r events.Request, holder uint64, queue []events.CommandQueued) error {
	before := unended(holder, queue)
	queued, err := events.Queued(r.Sequence, before[len(before)-1], r.Command.(events.ServiceCommand))
	if err != nil {
		return err
	}
	t.emit(r.Scope, events.CommandAccepted{CommandIdentity: r.Identity(), Queued: true})
	t.emit(r.Scope, queued)
	return nil
}

// begin begins the first command that waits for the service, once no command holds the service. It decides the command's
// changes now. The command fails if they are no longer possible, or if the service has changed since the sequence that its
// client had seen. begin reports whether a command has begun or ended.
func (t *Turn) begin(id events.ServiceID) bool {
	queue := t.Cluster.Queues[id]
	if len(queue) == 0 || t.Cluster.HolderOf(id) != 0 {
		return false
	}
	next, scope := queue[0], events.ServiceScope(id)
	t.cause = t.Cluster.Commands[next.Sequence].Cause
	changes, err := t.asked(id, next)
	if err != nil {
		t.emit(scope, events.CommandFailed{Sequence: next.Sequence, Reason: events.ReasonRefused, Message: err.Error()})
		return true
	}
	t.emit(scope, append([]events.Data{events.CommandBegun{Sequence: next.Sequence}}, changes...)...)
	return true
}

// asked returns the changes of a command that has waited.
func (t *Turn) asked(id events.ServiceID, waited events.CommandQueued) ([]events.Data, error) {
	command, err := waited.Command()
	if err != nil {
		return nil, err
	}
	return t.changes(id, command)
}
