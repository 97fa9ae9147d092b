package main

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
)

// overrideDetails describes the labels that an operator sets in place of the node's own.
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

// lossDetails describes instances that are lost or return with their node, and why Rookery suspends losses.
func lossDetails(data events.Data) string {
	switch d := data.(type) {
	case events.InstanceLost:
		return fmt.Sprintf(" %d.%d: lost connection to %s", d.Ordinal, d.Generation, d.Node)
	case events.InstanceReturned:
		return fmt.Sprintf(" %d.%d on %s", d.Ordinal, d.Generation, d.Node)
	case events.EvictionsPaused:
		return fmt.Sprintf(" %d of %d nodes are silent: no instance counts as lost until fewer are", d.Silent, d.Nodes)
	case events.EvictionsResumed:
		return fmt.Sprintf(" %d of %d nodes are silent", d.Silent, d.Nodes)
	}
	return ""
}

// tokenDetails describes with which token nodes may join.
func tokenDetails(d events.TokenCreated) string {
	until := " until " + d.Until.UTC().Format(time.RFC3339)
	if d.Approve {
		return " " + d.ID + " for nodes that an operator admits" + until
	}
	return fmt.Sprintf(" %s for %d nodes%s", d.ID, d.Uses, until)
}

// admittedDetails describes which node may connect, and why.
func admittedDetails(d events.NodeAdmitted) string {
	text := " with key " + string(d.Key)
	if d.Token != "" {
		text += ", by token " + d.Token
	}
	if d.Former != "" {
		text += ", in place of " + string(d.Former)
	}
	return text
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

// leavingDetails describes a node that drains or is forgotten, and its orphans.
func leavingDetails(data events.Data, at time.Time) string {
	switch d := data.(type) {
	case events.NodeDraining:
		return " until " + clock(d.Until, at)
	case events.NodeDrained:
		if d.Forced {
			return ": the remaining instances stop at the deadline"
		}
	case events.NodeRemoved:
		return fmt.Sprintf(" with its epoch %d", d.Epoch)
	case events.InstanceForgotten:
		return fmt.Sprintf(" %d.%d on %s: %s", d.Ordinal, d.Generation, d.Node, d.Reason)
	case events.StrayFound:
		return orphanDetails(d)
	case events.StrayRemoved:
		return orphanDetails(d.StrayFound)
	case events.StrayForgotten:
		return orphanDetails(d.StrayFound)
	}
	return ""
}

func orphanDetails(d events.StrayFound) string {
	text := " " + d.ID().String()
	if d.Why != "" {
		text += ": " + d.Why.Words()
	}
	return text
}

func signedDetails(d events.ClusterSigned) string {
	if d.Key == "" {
		return " with no key from here on"
	}
	return " with " + string(d.Key)
}
