package world

import (
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections/views"
)

// ending is that of the last operation of a service that has ended.
type ending struct {
	sequence uint64
	end      events.OperationEnded
}

// operationsShown holds what people are shown of operations to what the log has said of them, beside being what the state makes
// of it: each service has the one that is under way, or what the last one came to, and no other has any.
func (j *judge) operationsShown(entries []bus.Entry) {
	shown := map[string]views.ServiceOperation{}
	for _, e := range entries {
		var v views.ServiceOperation
		if err := json.Unmarshal(e.Value, &v); err != nil {
			j.breach("views", "%s of %s does not read: %v", e.Key, bus.BucketOperations, err)
			return
		}
		shown[e.Key] = v
	}
	for _, id := range slices.SortedFunc(maps.Keys(j.cluster.services), events.ServiceID.Compare) {
		key := id.Namespace + "." + id.Name
		v, is := shown[key]
		delete(shown, key)
		if wrong := j.wronglyShown(id, v, is); wrong != "" {
			j.breach("views", "the operation of %s is shown as %+v, and %s", id, v, wrong)
			return
		}
	}
	for key := range shown {
		j.breach("views", "an operation of %s is shown, and there is no such service", key)
		return
	}
}

// wronglyShown says in what the operation of a service is shown otherwise than it is; "" for in nothing.
func (j *judge) wronglyShown(id events.ServiceID, v views.ServiceOperation, is bool) string {
	o := j.cluster.operating(j, id)
	switch op, ended := o.op, o.s.ended; {
	case op == nil && ended.sequence == 0:
		if is {
			return "it has had none"
		}
	case op == nil:
		if v.Started != ended.sequence || v.Outcome != ended.end.Outcome || v.Message != ended.end.Message || v.Ended.IsZero() || len(v.Waits) > 0 {
			return fmt.Sprintf("that of %d ended as %s", ended.sequence, ended.end.Outcome)
		}
	case v.Started != op.sequence || v.Kind != op.kind || v.Phase != op.phase || v.Wave != op.wave || v.Waves < v.Wave || v.Outcome != "":
		return fmt.Sprintf("the one of %d is in phase %s of wave %d", op.sequence, op.phase, op.wave)
	case (v.Paused != "") == op.paused.IsZero():
		return fmt.Sprintf("its pause began %s", op.paused)
	case op.paused.IsZero() && op.phase == events.OperationWait:
		return o.bindsAsShown(v.Waits)
	case op.paused.IsZero() && op.phase == events.OperationPromote && len(v.Waits) == 0:
		return fmt.Sprintf("its slots %v wait for a promotion", op.slots)
	}
	return ""
}

// bindsAsShown says which of the slots that wait for their nodes is not said to, or is and does not.
func (o operating) bindsAsShown(waits []views.Wait) string {
	nodes := map[uint32]string{}
	for _, w := range waits {
		nodes[w.Ordinal] = w.Node
	}
	for _, i := range o.k.of(o.id) {
		if !i.runs() || i.replaces > 0 || !slices.Contains(o.op.waiting, i.id.Ordinal) {
			continue
		}
		want := ""
		if !o.k.ready(i.node) {
			want = i.node
		}
		if nodes[i.id.Ordinal] != want {
			return fmt.Sprintf("slot %d waits for %q", i.id.Ordinal, want)
		}
	}
	return ""
}
