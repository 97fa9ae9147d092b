package views

import (
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
)

// Operation is an operation of a service: a change that goes through its slots, wave by wave.
type Operation struct {
	// Started is the sequence of its start in the log.
	Started uint64               `json:"started"`
	Kind    events.OperationKind `json:"kind"`
	// Revision is the revision that the slots get. From is what a slot gets that must be replaced before its wave; 0 for none.
	Revision uint64 `json:"revision"`
	From     uint64 `json:"from,omitzero"`
	// Rescale is the change of topology that the operation makes. Attempt starts at 1 and counts each retry of a phase. Both are absent
	// where the topology does not change.
	Rescale *events.Rescale `json:"rescale,omitempty"`
	Attempt uint32          `json:"attempt,omitzero"`
	// Slots are the slots of the present wave. Waiting are the slots whose wave has not begun.
	Wave    uint32          `json:"wave"`
	Slots   events.Ordinals `json:"slots,omitempty"`
	Waiting events.Ordinals `json:"waiting,omitempty"`
	// Phase is the phase in which the wave has been since Since. At Until the phase ends, or the slots that are not done have failed.
	// Without Until the phase waits for an operator or for nodes.
	Phase events.OperationPhase `json:"phase"`
	Since time.Time             `json:"since,omitzero"`
	Until time.Time             `json:"until,omitzero"`
	// WaitsFor are the slots that were not done with the phase when the coordinator wrote the value.
	WaitsFor events.Ordinals `json:"waits_for,omitempty"`
	// Failed counts the slots that the operation gave up. Paused says which failure has paused the operation.
	Failed int    `json:"failed,omitzero"`
	Paused string `json:"paused,omitempty"`
}

// ServiceOperation is the value of a key <namespace>.<name> in the bucket rookery_operations: the service's operation, or the last
// one that has ended. The outcome of an operation stays until the next one begins, so that a client that looks late still sees it.
// The value goes with the service.
type ServiceOperation struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Operation says what the operation is and how far it has come. After the end it has the last wave and phase, and no slots.
	Operation
	// Command is the sequence of the command that the operation carries out; absent where no command asked for it.
	Command uint64 `json:"command,omitzero"`
	// Waves is how many waves there will be if all nodes are ready; absent after the end.
	Waves uint32 `json:"waves,omitzero"`
	// Waits says what each slot of WaitsFor lacks. In phase wait it lists the slots that are bound to nodes which are not ready. It has
	// the first 50 slots at most.
	Waits []Wait `json:"waits,omitempty"`
	// Outcome is how the operation ended: done, rolled-back, superseded or aborted; absent while it runs.
	Outcome events.OperationOutcome `json:"outcome,omitempty"`
	// Message tells an operator what failed. Ended is when the operation ended.
	Message string    `json:"message,omitempty"`
	Ended   time.Time `json:"ended,omitzero"`
	// Sequence is the log sequence at which the value is true. After the end it is the sequence of the end.
	Sequence uint64 `json:"sequence"`
}

// Wait is a slot for which an operation waits.
type Wait struct {
	Ordinal uint32 `json:"ordinal"`
	// Instance is the instance that must be done with the phase or must be gone, as <namespace>/<name>.<ordinal>.<generation>. Node is
	// its node. Both are absent where the slot has no instance.
	Instance string `json:"instance,omitempty"`
	Node     string `json:"node,omitempty"`
	// Missing tells an operator what the slot lacks, and why if that is known.
	Missing string `json:"missing"`
}

// mostWaits bounds the size of a value: a wave may have thousands of slots, and a message of the bus has at most one mebibyte.
const mostWaits = 50

// operation adds the value of the service's present or last operation. It returns the present one; nil for none.
func (ch Changes) operation(c *projections.Cluster, s *projections.Service) *Operation {
	key := s.ID.Namespace + "." + s.ID.Name
	value := ServiceOperation{Namespace: s.ID.Namespace, Name: s.ID.Name, Sequence: c.Sequence}
	switch {
	case s.Operation != nil:
		value.fill(c, s)
		ch.put(bus.BucketOperations, key, value)
		return &value.Operation
	case s.Last != nil:
		value.fillEnded(s.Last)
		ch.put(bus.BucketOperations, key, value)
	default:
		ch.Values[Key{bus.BucketOperations, key}] = nil
	}
	return nil
}

// fill sets the fields of an operation that is under way.
func (v *ServiceOperation) fill(c *projections.Cluster, s *projections.Service) {
	op := s.Operation
	v.Operation = Operation{
		Started: op.Started, Kind: op.Kind, Revision: op.Revision, From: op.From, Wave: op.Wave, Slots: op.Slots, Waiting: op.Waiting,
		Rescale: op.Rescale, Attempt: op.Attempt, Phase: op.Phase, Since: op.Entered, Failed: op.Failed, Paused: op.Paused,
	}
	v.Command, v.Waves = op.Command, s.Waves()
	if op.Paused != "" || (!op.Kind.Together() && op.Revision != s.Revision) {
		return
	}
	verdict := c.Verdict(s, c.Now)
	v.Until, v.WaitsFor = s.Until(), verdict.Awaited()
	for _, w := range c.Waits(s, verdict, mostWaits) {
		wait := Wait{Ordinal: w.Ordinal, Missing: w.Missing}
		if w.Instance != nil {
			wait.Instance, wait.Node = w.Instance.ID.String(), w.Instance.Node
		}
		v.Waits = append(v.Waits, wait)
	}
}

// fillEnded sets the fields of an operation that has ended.
func (v *ServiceOperation) fillEnded(op *projections.EndedOperation) {
	v.Operation = Operation{
		Started: op.Started, Kind: op.Kind, Revision: op.Revision, From: op.From, Rescale: op.Rescale, Attempt: op.Attempt,
		Wave: op.Wave, Phase: op.Phase, Failed: op.Failed,
	}
	v.Command, v.Outcome, v.Message, v.Ended, v.Sequence = op.Command, op.Outcome, op.Message, op.At, op.Sequence
}

// decidesWaits reports whether the event is about nodes and may change for which slots operations wait, or why.
func decidesWaits(d events.Data) bool {
	switch d.(type) {
	case events.NodeJoined, events.NodeSilent, events.NodeLost, events.NodeReturned, events.NodePaused, events.NodeResumed,
		events.NodeDegraded, events.NodeRecovered, events.NodesAllowed, events.NodeDraining, events.NodeForgotten, events.NodeRemoved, events.NodeRevoked,
		events.InstanceForgotten:
		return true
	}
	return false
}

// operationsOfNodes adds the values of all operations. The log has no event about the service when a node for which it waits becomes
// silent or returns.
func (ch Changes) operationsOfNodes(c *projections.Cluster) {
	for id := range c.Operating() {
		ch.service(c, id)
	}
}
