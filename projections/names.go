package projections

import "github.com/rookery-project/rookery/events"

// NoService returns the message that no service has this name, with services of similar names: of all namespaces, or of the one within.
func (c *Cluster) NoService(name, within string) string {
	var known []string
	for id := range c.Services {
		if within != "" && id.Namespace != within {
			continue
		}
		if known = append(known, id.String()); len(known) > events.MostNear {
			break
		}
	}
	return events.NoSuch("service", name, known)
}

// NoNode returns the message that no node has this name, with nodes of similar names.
func (c *Cluster) NoNode(name string) string {
	var known []string
	for name := range c.Nodes {
		if known = append(known, name); len(known) > events.MostNear {
			break
		}
	}
	return events.NoSuch("node", name, known)
}
