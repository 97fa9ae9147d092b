package screens

import (
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

// room is how much nodes have of a resource, all together, and how far it is taken.
func room(nodes, title, unit, resource string) *timeseries.PanelBuilder {
	asks := []ask{
		{total("rookery_node_capacity_"+resource+nodes, eachNode), "capacity"},
		{total("rookery_node_allocatable_"+resource+nodes, eachNode), "allocatable"},
		{total("rookery_node_reserved_"+resource+nodes, eachNode), "reserved"},
	}
	if resource != "disk_bytes" { // of which nobody measures what is used
		asks = append(asks, ask{total("rookery_node_used_"+resource+nodes, eachNode), "used"})
	}
	about := "What nodes have, what of it instances may have, what is set aside for them, and what they use."
	return lines(what{title, about, unit}, 8, asks...)
}

// reserved is how much of what nodes may give is set aside, by labels.
func reserved(nodes, resource string, labels ...string) string {
	return total("rookery_node_reserved_"+resource+nodes, eachNode, labels...) + " / (" +
		total("rookery_node_allocatable_"+resource+nodes, eachNode, labels...) + " > 0)"
}

// used is how much of what nodes have their instances use, by node.
func used(nodes, resource string) string {
	return maxBy("rookery_node_used_"+resource+nodes, "rookery_node") + " / (" + maxBy("rookery_node_capacity_"+resource+nodes, "rookery_node") + " > 0)"
}

// full is how a share of what there is looks.
func full() *dashboard.ThresholdsConfigBuilder {
	return colours(good, level{0.8, warns}, level{0.95, bad})
}
