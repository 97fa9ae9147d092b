package projections

import "github.com/rookery-project/rookery/events"

// NoService says that there is no such service, and which one may have been meant.
func (c *Cluster) NoService(name string) string {
	known := make([]string, 0, len(c.Services))
	for id := range c.Services {
		known = append(known, id.String())
	}
	return events.NoSuch("service", name, known)
}

// NoNode says that there is no such node, and which one may have been meant.
func (c *Cluster) NoNode(name string) string {
	known := make([]string, 0, len(c.Nodes))
	for name := range c.Nodes {
		known = append(known, name)
	}
	return events.NoSuch("node", name, known)
}
