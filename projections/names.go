package projections

import "github.com/rookery-project/rookery/events"

// NoService says that there is no such service, and which one may have been meant.
func (c *Cluster) NoService(name string) string {
	var known []string
	for id := range c.Services {
		if known = append(known, id.String()); len(known) > events.MostNear {
			break
		}
	}
	return events.NoSuch("service", name, known)
}

// NoNode says that there is no such node, and which one may have been meant.
func (c *Cluster) NoNode(name string) string {
	var known []string
	for name := range c.Nodes {
		if known = append(known, name); len(known) > events.MostNear {
			break
		}
	}
	return events.NoSuch("node", name, known)
}
