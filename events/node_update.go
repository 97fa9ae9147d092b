package events

import (
	"maps"
	"slices"
	"strings"
	"unicode"
)

// NodeUpdate is the command that a node has other labels, or counts as having another capacity, than its own process reports. Its instances
// keep running. The command also holds for every later process of the node. Labels that it does not name stay as they are.
type NodeUpdate struct {
	// Labels are given to the node, in place of its own of the same name.
	Labels map[string]string `json:"labels,omitempty"`
	// Without names labels that the command takes away from the node, those of its own process included.
	Without []string `json:"without,omitempty"`
	// Capacity is in place of the node's own in each part that is given; those that are not are the node's own again.
	Capacity *Resources `json:"capacity,omitzero"`
}

// Kind implements Data.
func (NodeUpdate) Kind() Kind { return v1("node", "update") }

func (c NodeUpdate) check() error {
	if len(c.Labels) == 0 && len(c.Without) == 0 && c.Capacity == nil {
		return Reject(CodeMissingField, "labels",
			`none of labels, without and capacity is given: write what changes, as in {"labels":{"disk":"ssd"},"without":["old"]} or {"capacity":{"memory":"8GiB"}}`)
	}
	if len(c.Labels)+len(c.Without) > MaxLabels {
		return Reject(CodeOutOfRange, "labels", "labels and without have %d entries, more than %d", len(c.Labels)+len(c.Without), MaxLabels)
	}
	for _, name := range sortedKeys(c.Labels) {
		if name == "" || strings.ContainsFunc(name, unicode.IsControl) {
			return Reject(CodeInvalidName, "labels."+printable(name), "label %s is not allowed: a name is not empty and has no control characters", quote(name))
		}
		if err := checkText("labels."+printable(name), c.Labels[name]); err != nil {
			return err
		}
		if slices.Contains(c.Without, name) {
			return Reject(CodeInvalidValue, "without", "without names %s, which labels gives: write it in one of them", quote(name))
		}
	}
	return checkList("without", c.Without)
}

func (c NodeUpdate) normal() Command {
	c.Without = slices.Compact(slices.Sorted(slices.Values(c.Without)))
	return c
}

// NodeUpdated says which of a node's own facts are replaced from here on. It has all of them, not only the new ones.
type NodeUpdated struct {
	Overrides
}

// Kind implements Data.
func (NodeUpdated) Kind() Kind { return v1("node", "updated") }

// Overrides are the facts that operators set for a node in place of those that its process reports.
type Overrides struct {
	Labels map[string]string `json:"labels,omitempty"`
	// Without names labels that are not the node's even where its process says so, in order.
	Without []string `json:"without,omitempty"`
	// Capacity is the node's own in each part that is 0.
	Capacity Resources `json:"capacity,omitzero"`
}

// With returns the overrides as the command changes them.
func (o Overrides) With(c NodeUpdate) Overrides {
	if c.Capacity != nil {
		o.Capacity = *c.Capacity
	}
	labels := maps.Clone(o.Labels)
	maps.DeleteFunc(labels, func(name, _ string) bool { return slices.Contains(c.Without, name) })
	o.Labels = merged(labels, c.Labels)
	without := slices.DeleteFunc(slices.Clone(o.Without), func(name string) bool { return has(c.Labels, name) })
	o.Without = slices.Compact(slices.Sorted(slices.Values(append(without, c.Without...))))
	return o
}

// Same reports whether both say the same.
func (o Overrides) Same(p Overrides) bool {
	return o.Capacity == p.Capacity && maps.Equal(o.Labels, p.Labels) && slices.Equal(o.Without, p.Without)
}

// Of returns the facts of a node with the overrides of operators in place of those that its process reports.
func (o Overrides) Of(f NodeFacts) NodeFacts {
	if len(o.Labels) > 0 || len(o.Without) > 0 {
		f.Labels = merged(maps.Clone(f.Labels), o.Labels)
		maps.DeleteFunc(f.Labels, func(name, _ string) bool { return slices.Contains(o.Without, name) })
	}
	if o.Capacity.CPU > 0 {
		f.Capacity.CPU = float64(o.Capacity.CPU) / float64(Core)
	}
	if o.Capacity.Memory > 0 {
		f.Capacity.Memory = uint64(o.Capacity.Memory)
	}
	if o.Capacity.Disk > 0 {
		f.Capacity.Disk = uint64(o.Capacity.Disk)
	}
	return f
}

// merged returns the labels with the others, which win; nil where there are none.
func merged(labels, others map[string]string) map[string]string {
	if len(labels)+len(others) == 0 {
		return nil
	}
	if labels == nil {
		labels = make(map[string]string, len(others))
	}
	maps.Copy(labels, others)
	return labels
}

func has(labels map[string]string, name string) bool {
	_, has := labels[name]
	return has
}
