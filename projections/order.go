package projections

import "github.com/rookery-project/rookery/events"

// Order returns the present order for the instance. Its spec is that of the revision: Rendered returns the order that the
// coordinator sends.
func (c *Cluster) Order(i *Instance) events.Order {
	o := c.order(events.ActionStop, i.Decided, i.Counter)
	o.Window, o.Epoch = i.PlacedWith().Window, i.PlacedWith().Epoch
	if i.Retired() != "" {
		return o
	}
	s := c.Services[i.ID.Service]
	r := s.Revisions[i.Revision]
	o.Action, o.Revision, o.Hash, o.Spec, o.Ports = events.ActionRun, i.Revision, r.Hash, &r.Spec, i.Ports
	o.Images, o.Scratch, o.SecurityContext, o.Topology = r.resolved(i.Decided), i.PlacedWith().Scratch, i.SecurityContext, s.told(i)
	o.Ask, o.Restore = s.AskOf(i), i.PlacedWith().Restore
	return o
}

// OrderedBy returns the instances of the service whose order the event with this sequence decided.
func (c *Cluster) OrderedBy(id events.ServiceID, sequence uint64) []*Instance {
	s := c.Service(id)
	if s == nil {
		return nil
	}
	var ordered []*Instance
	for i := range s.Instances() {
		if i.Decided == sequence {
			ordered = append(ordered, i)
		}
	}
	return ordered
}

// Rendered returns the order with the templates of its spec rendered with the addresses that the state has now.
func (c *Cluster) Rendered(id events.InstanceID, o events.Order) events.Order {
	i, s := c.Instance(id), c.Services[id.Service]
	if i == nil || o.Spec == nil || !o.Spec.Templated() {
		return o
	}
	own := events.Addresses{Host: i.Address, Ports: i.Ports}
	rendered := o.Spec.Render(events.Assigned{Instance: id, Own: own, Scale: s.Scale, Slot: func(ordinal uint32) events.Addresses {
		if ordinal == id.Ordinal {
			return own // the slot may still have the predecessor as its current instance
		}
		return s.addresses(ordinal)
	}})
	o.Spec = &rendered
	return o
}

// addresses returns the addresses of the slot's current instance; none where the slot has no current instance.
func (s *Service) addresses(ordinal uint32) events.Addresses {
	if int(ordinal) >= len(s.Slots) || s.Slots[ordinal].Current == nil {
		return events.Addresses{}
	}
	i := s.Slots[ordinal].Current
	return events.Addresses{Host: i.Address, Ports: i.Ports}
}

// OrphanOrder returns the order to stop an orphan.
func (c *Cluster) OrphanOrder(s *Orphan) events.Order {
	return c.order(events.ActionStop, s.Decided, s.Counter)
}

// ForgetOrder returns the order that marks an instance as gone.
func (c *Cluster) ForgetOrder(decided uint64) events.Order {
	return c.order(events.ActionForget, decided, 0)
}

func (c *Cluster) order(action events.Action, decided, counter uint64) events.Order {
	return events.Order{Action: action, Log: c.LogID(), Decided: decided, Stream: c.Streams[ordersStream], Counter: counter}
}

// The names of the streams in Cluster.Streams.
const (
	logStream      = "ROOKERY_LOG"
	commandsStream = "ROOKERY_COMMANDS"
	statusStream   = "ROOKERY_STATUS"
	ordersStream   = "ROOKERY_ORDERS"
)

// LogID returns the identity of the log, which is also that of the cluster; "" before the cluster is founded.
func (c *Cluster) LogID() string { return c.Streams[logStream] }
