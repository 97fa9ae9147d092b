package main

import (
	"slices"

	"github.com/rookery-project/rookery/events"
)

// waves are the slots that operations wait for, by service. The log names the slots of a wave once, with its first phase. The display
// repeats them with each phase.
type waves map[string]events.Ordinals

// recall returns the event. To a phase that starts it adds the slots that the operation waits for.
func (w waves) recall(m events.Message, data events.Data) events.Data {
	d, enters := data.(events.OperationEntered)
	if !enters {
		return data
	}
	service := subjectWords(m.Subject)
	if len(d.Slots) == 0 {
		d.Slots = slices.DeleteFunc(slices.Clone(w[service]), func(o uint32) bool { return slices.Contains(d.GivenUp, o) })
	}
	w[service] = d.Slots
	if d.Phase == events.OperationWait {
		d.Slots = nil // it waits for nodes and not for slots
	}
	return d
}
