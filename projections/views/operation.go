package views

import (
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
)

// Operation shows a change that goes through a service.
type Operation struct {
	// Started is the sequence of its start in the log.
	Started uint64               `json:"started"`
	Kind    events.OperationKind `json:"kind"`
	// Revision is what the slots get, and From what those have until their wave; 0 where they shall have nothing else.
	Revision uint64 `json:"revision"`
	From     uint64 `json:"from,omitzero"`
	// Rescale is what topology the slots get, and Attempt counts from 1 with each phase that it tries again; not there where it brings none.
	Rescale *events.Rescale `json:"rescale,omitempty"`
	Attempt uint32          `json:"attempt,omitzero"`
	// Slots are those of the present wave, and Waiting those whose wave has not come.
	Wave    uint32          `json:"wave"`
	Slots   events.Ordinals `json:"slots,omitempty"`
	Waiting events.Ordinals `json:"waiting,omitempty"`
	// Phase is what the wave goes through since Since. It ends Until, or what is waited for has failed then; without Until
	// it waits for people or nodes.
	Phase events.OperationPhase `json:"phase"`
	Since time.Time             `json:"since,omitzero"`
	Until time.Time             `json:"until,omitzero"`
	// WaitsFor are the slots that are not done with the phase, as it was when the value was written.
	WaitsFor events.Ordinals `json:"waits_for,omitempty"`
	// Failed counts the slots that were given up. Paused says what failed, where all stays as it is because of that.
	Failed int    `json:"failed,omitzero"`
	Paused string `json:"paused,omitempty"`
}

// ServiceOperation is the value of a key <namespace>.<name> in the bucket rookery_operations: the operation that the service goes
// through, or else the last that it went through. What one came to stays until the next begins, so that who looks later than it
// ended does not miss it, and goes with the service.
type ServiceOperation struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// What it is and how far it is; of one that has ended the wave and the phase in which it did, and nothing of who was waited for.
	Operation
	// Command is the sequence of the command that it works for; not there where nobody asked for it.
	Command uint64 `json:"command,omitzero"`
	// Waves is how many there will be, as far as nodes take what comes; not there once it has ended.
	Waves uint32 `json:"waves,omitzero"`
	// Waits says of the slots of WaitsFor what each lacks, in phase wait of those whose nodes take nothing: of the first 50 where
	// there are more.
	Waits []Wait `json:"waits,omitempty"`
	// Outcome is how it ended: done, rolled-back, superseded or aborted; not there while it goes on.
	Outcome events.OperationOutcome `json:"outcome,omitempty"`
	// Message says for people what failed, and Ended is when it ended.
	Message string    `json:"message,omitempty"`
	Ended   time.Time `json:"ended,omitzero"`
	// Sequence is the place in the log that the value is true at, from its end on that of the end.
	Sequence uint64 `json:"sequence"`
}

// Wait is a slot that an operation waits for.
type Wait struct {
	Ordinal uint32 `json:"ordinal"`
	// Instance is the one that is to be done with the phase or to be gone, as <namespace>/<name>.<ordinal>.<generation>, and Node
	// where it is; not there where the slot has none.
	Instance string `json:"instance,omitempty"`
	Node     string `json:"node,omitempty"`
	// Missing says for people what it lacks, and why as far as that is known.
	Missing string `json:"missing"`
}

// mostWaits bounds a value: a wave may have thousands of slots, and a message of the bus a mebibyte.
const mostWaits = 50

// operation shows what the service goes through or went through last, and returns what it goes through; nil for nothing.
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

// fill shows an operation that is under way.
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

// fillEnded shows what an operation came to.
func (v *ServiceOperation) fillEnded(op *projections.EndedOperation) {
	v.Operation = Operation{
		Started: op.Started, Kind: op.Kind, Revision: op.Revision, From: op.From, Rescale: op.Rescale, Attempt: op.Attempt,
		Wave: op.Wave, Phase: op.Phase, Failed: op.Failed,
	}
	v.Command, v.Outcome, v.Message, v.Ended, v.Sequence = op.Command, op.Outcome, op.Message, op.At, op.Sequence
}

// decidesWaits reports whether the event says of nodes what decides who is waited for, and why.
func decidesWaits(d events.Data) bool {
	switch d.(type) {
	case events.NodeJoined, events.NodeSilent, events.NodeLost, events.NodeReturned, events.NodePaused, events.NodeResumed,
		events.NodeDegraded, events.NodeRecovered, events.NodesAllowed, events.NodeDraining, events.NodeForgotten, events.NodeRemoved, events.InstanceForgotten:
		return true
	}
	return false
}

// operationsOfNodes shows all operations: no event of a service says that a node which it waits for is silent, or is back.
func (ch Changes) operationsOfNodes(c *projections.Cluster) {
	for id := range c.Operating() {
		ch.service(c, id)
	}
}
