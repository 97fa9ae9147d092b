package main

import (
	"slices"

	"github.com/rookery-project/rookery/events"
)

// waves are the slots that operations wait for, by service. The log names those of a wave once, with its first phase; people who
// follow it are told of them with each.
type waves map[string]events.Ordinals

// recall returns the event, with a phase that begins all slots that are waited for.
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
		d.Slots = nil // what it waits for is nodes
	}
	return d
}
