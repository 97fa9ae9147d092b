package events

import (
	"fmt"
	"slices"
)

// MaxAllowedNodes bounds the list of allowed nodes.
const MaxAllowedNodes = 5000

// ClusterNodes is the command to place instances on these nodes alone. Instances on other nodes keep running. It replaces the whole list.
type ClusterNodes struct {
	// Allowed are the names of the nodes, of which some may not have joined yet. An empty list allows every node.
	Allowed []string `json:"allowed" jsonschema:"pattern=^[a-z0-9]([a-z0-9-]*[a-z0-9])?$,maxLength=63"`
}

// Kind implements Data.
func (ClusterNodes) Kind() Kind { return v1("cluster", "nodes") }

func (c ClusterNodes) check() error {
	if c.Allowed == nil {
		return Reject(CodeMissingField, "allowed",
			`allowed is missing: name the nodes, as in {"allowed":["edge-1","edge-2"]}, or allow every node with {"allowed":[]}`)
	}
	if len(c.Allowed) > MaxAllowedNodes {
		return Reject(CodeOutOfRange, "allowed", "allowed has %d entries, more than %d", len(c.Allowed), MaxAllowedNodes)
	}
	for i, name := range c.Allowed {
		if err := checkName(fmt.Sprintf("allowed[%d]", i), name); err != nil {
			return err
		}
	}
	return nil
}

// normal has the names in order, each once, and nil for an empty list, as the log gives it back.
func (c ClusterNodes) normal() Command {
	c.Allowed = slices.Compact(slices.Sorted(slices.Values(c.Allowed)))
	return c
}

// NodesAllowed says that instances are placed on these nodes alone from here on; on every node where there are none.
type NodesAllowed struct {
	Allowed []string `json:"allowed,omitempty"`
}

// Kind implements Data.
func (NodesAllowed) Kind() Kind { return v1("cluster", "nodes-allowed") }
