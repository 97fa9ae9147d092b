package main

import (
	"fmt"
	"maps"
	"slices"

	"github.com/rookery-project/rookery/events"
)

// overrideDetails says what people say of a node in place of its own.
func overrideDetails(o events.Overrides) string {
	var text string
	for _, name := range slices.Sorted(maps.Keys(o.Labels)) {
		text += " " + name + "=" + o.Labels[name]
	}
	for _, name := range o.Without {
		text += " without " + name
	}
	return text + resourceDetails(o.Capacity)
}

func misfitDetails(m events.NodeMisfits) string {
	text := fmt.Sprintf(" %d", m.Total)
	for _, i := range m.Instances {
		text += fmt.Sprintf(" %s/%s.%d.%d (%s)", i.Namespace, i.Name, i.Ordinal, i.Generation, i.Filter)
	}
	if m.Over != (events.Resources{}) {
		text += " over by" + resourceDetails(m.Over)
	}
	return text
}

func resourceDetails(r events.Resources) string {
	var text string
	if r.CPU > 0 {
		text += " cpu=" + r.CPU.String()
	}
	if r.Memory > 0 {
		text += " memory=" + r.Memory.String()
	}
	if r.Disk > 0 {
		text += " disk=" + r.Disk.String()
	}
	return text
}
