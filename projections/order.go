package projections

import "github.com/rookery-project/rookery/events"

// Order returns what the instance's node must have of it now.
func (c *Cluster) Order(i *Instance) events.Order {
	o := events.Order{Action: events.ActionStop, Log: c.LogID(), Decided: i.Decided, Counter: i.Counter}
	if i.Retired != "" {
		return o
	}
	r := c.Services[i.ID.Service].Revisions[i.Revision]
	o.Action, o.Revision, o.Hash, o.Spec, o.Ports = events.ActionRun, i.Revision, r.Hash, &r.Spec, i.Ports
	return o
}

// StrayOrder returns the order to stop a stray.
func (c *Cluster) StrayOrder(s *Stray) events.Order {
	return events.Order{Action: events.ActionStop, Log: c.LogID(), Decided: s.Decided, Counter: s.Counter}
}

// The names under which the streams stand in Cluster.Streams.
const (
	logStream      = "ROOKERY_LOG"
	commandsStream = "ROOKERY_COMMANDS"
	statusStream   = "ROOKERY_STATUS"
)

// LogID returns the identity of the log, which is the cluster's, or "" before the founding.
func (c *Cluster) LogID() string { return c.Streams[logStream] }
