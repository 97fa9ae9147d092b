package views

import (
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// Operation shows a change that is under way.
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
	Since time.Time             `json:"since"`
	Until time.Time             `json:"until,omitzero"`
	// WaitsFor are the slots that are not done with the phase, as it was when the value was written.
	WaitsFor events.Ordinals `json:"waits_for,omitempty"`
	// Failed counts the slots that were given up. Paused says what failed, where all stays as it is because of that.
	Failed int    `json:"failed,omitzero"`
	Paused string `json:"paused,omitempty"`
}

func operationOf(c *projections.Cluster, s *projections.Service) *Operation {
	op := s.Operation
	value := &Operation{
		Started: op.Started, Kind: op.Kind, Revision: op.Revision, From: op.From, Wave: op.Wave, Slots: op.Slots, Waiting: op.Waiting,
		Rescale: op.Rescale, Attempt: op.Attempt, Phase: op.Phase, Since: op.Entered, Failed: op.Failed, Paused: op.Paused,
	}
	if op.Paused == "" && (op.Together() || op.Revision == s.Revision) {
		value.Until, value.WaitsFor = s.Until(), c.Verdict(s, c.Now).Awaited()
	}
	return value
}
