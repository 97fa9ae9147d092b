package screens

import (
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

// room shows how much of a resource all nodes together have, and how much of it is taken.
func room(nodes, title, unit, resource string) *timeseries.PanelBuilder {
	asks := []ask{
		{total("rookery_node_capacity_"+resource+nodes, eachNode), "capacity"},
		{total("rookery_node_allocatable_"+resource+nodes, eachNode), "allocatable"},
		{total("rookery_node_reserved_"+resource+nodes, eachNode), "reserved"},
	}
	if resource != "disk_bytes" { // nodes do not measure the used disk
		asks = append(asks, ask{total("rookery_node_used_"+resource+nodes, eachNode), "used"})
	}
	about := "Capacity of the nodes, the part that instances may use, the reserved part, and the used part."
	return lines(what{title, about, unit}, 8, asks...)
}

// reserved is the share of the allocatable resource that is reserved, by labels.
func reserved(nodes, resource string, labels ...string) string {
	return total("rookery_node_reserved_"+resource+nodes, eachNode, labels...) + " / (" +
		total("rookery_node_allocatable_"+resource+nodes, eachNode, labels...) + " > 0)"
}

// used is the share of the capacity that instances use, by node.
func used(nodes, resource string) string {
	return maxBy("rookery_node_used_"+resource+nodes, "rookery_node") + " / (" + maxBy("rookery_node_capacity_"+resource+nodes, "rookery_node") + " > 0)"
}

// full is how a share of what there is looks.
func full() *dashboard.ThresholdsConfigBuilder {
	return colours(good, level{0.8, warns}, level{0.95, bad})
}
