package projections

import (
	"maps"
	"slices"
	"strings"
)

// WhyPending says for people why the service's empty slots have no instance, node by node.
func (c *Cluster) WhyPending(s *Service) string {
	if len(c.Nodes) == 0 {
		return "no node has joined"
	}
	var why []string
	for _, name := range slices.Sorted(maps.Keys(c.Nodes)) {
		switch n := c.Nodes[name]; {
		case n.Silent:
			why = append(why, name+": silent")
		case !n.HasPorts(len(s.Current().Spec.Ports)):
			why = append(why, name+": no free port in its range")
		default:
			return "not decided yet"
		}
	}
	const most = 5
	if len(why) > most {
		why = append(why[:most], "and more")
	}
	return strings.Join(why, ", ")
}
