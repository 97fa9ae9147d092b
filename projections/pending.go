package projections

import (
	"fmt"
	"strings"

	"github.com/dustin/go-humanize"

	"github.com/rookery-project/rookery/events"
)

// WhyPending tells an operator why the service's empty slots have no instance.
func (c *Cluster) WhyPending(s *Service) string {
	switch {
	case s.Suspended():
		return "the service is suspended"
	case s.Idle():
		return "it waits for its schedule"
	case s.Pending == nil && s.Job != nil:
		return "its turn has not come"
	case s.Pending == nil && (s.Operation != nil || s.clears()):
		return "its previous instances must be gone first"
	case s.Pending == nil:
		return "not decided yet"
	}
	text := Reasons(*s.Pending)
	if n := c.Nodes[s.Home(s.Pending.Ordinal)]; n != nil && !n.Live() {
		text += fmt.Sprintf("; its volumes are on %s, which is %s", n.Name, n.state())
	}
	return text
}

// clears reports whether an empty slot waits until its previous instances are gone.
func (s *Service) clears() bool {
	for o, slot := range s.Slots {
		if s.Has(uint32(o)) && slot.Current == nil && slot.Remains() != nil && s.Alone(uint32(o)) {
			return true
		}
	}
	return false
}

// Reasons tells an operator why no node can take an instance.
func Reasons(p events.InstancePending) string {
	if p.Nodes == 0 {
		return "no node has joined"
	}
	var why []string
	for _, r := range []struct {
		count uint32
		what  string
	}{
		{p.Removed.Silent, "silent"},
		{p.Removed.Degraded, "degraded"},
		{p.Removed.Paused, "paused"},
		{p.Removed.Drained, "drained"},
		{p.Removed.NotAllowed, "not on the list of allowed nodes"},
		{p.Removed.NodeSelector, "without the labels of node_selector"},
		{p.Removed.Zone, "in none of the zones"},
		{p.Removed.AllowHostPort, "not started with --allow-host-port for it"},
		{p.Removed.AllowEngineContext, "not started with --allow-engine-context"},
		{p.Removed.AntiAffinity, "with an instance that anti_affinity excludes"},
		{p.Removed.MaxPerNode, "with max_per_node instances"},
		{p.Removed.HostPort, "with the host port taken"},
		{p.Removed.Ports, "without a free port in the range"},
		{p.Removed.CPU, "with too little CPU left"},
		{p.Removed.Memory, "with too little memory left"},
		{p.Removed.Disk, "with too little disk left"},
		{p.Removed.Spread, "in zones that are ahead of others"},
		{p.Removed.Held, "held for " + p.HeldFor + ", which has waited longer"},
		{p.Removed.Volumes, "without the volumes of the slot"},
	} {
		if r.count > 0 {
			why = append(why, fmt.Sprintf("%d %s", r.count, r.what))
		}
	}
	text := fmt.Sprintf("of %d nodes %s", p.Nodes, strings.Join(why, ", "))
	if p.Closest != nil {
		text += fmt.Sprintf("; %s lacks least: %s", p.Closest.Node, amounts(p.Closest.Lacks))
	}
	if p.Holds != "" {
		text += fmt.Sprintf("; %s is held for it", p.Holds)
	}
	return text
}

// amounts describes resources to an operator.
func amounts(r events.Resources) string {
	var all []string
	if r.CPU > 0 {
		all = append(all, r.CPU.String()+" of CPU")
	}
	if r.Memory > 0 {
		all = append(all, humanize.IBytes(uint64(r.Memory))+" of memory")
	}
	if r.Disk > 0 {
		all = append(all, humanize.IBytes(uint64(r.Disk))+" of disk")
	}
	return strings.Join(all, ", ")
}

// Pends reports whether the slot has no instance while the service waits for a node.
func (s *Service) Pends(ordinal uint32) bool {
	return s.Pending != nil && s.Wants(ordinal) && (int(ordinal) >= len(s.Slots) || s.Slots[ordinal].Vacant())
}
