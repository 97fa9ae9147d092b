package whatif

import (
	"maps"
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// meter follows a state and adds up its figures over time.
type meter struct {
	cluster  *projections.Cluster
	began    time.Time
	now      time.Time
	services map[events.ServiceID]*serviceMeter
	nodes    map[string]*nodeMeter
	// slots are the nodes on which slots were last.
	slots map[slotID]string
}

type slotID struct {
	service events.ServiceID
	ordinal uint32
}

// serviceMeter adds up the figures of a service.
type serviceMeter struct {
	placed, replaced, moved, lost uint64
	// unplaced is in slot-seconds, and skewed in instances times seconds. spread is for how many seconds the skew counts.
	unplaced, skewed, spread float64
	worst                    int
	since                    time.Time
	lacks, skew              int
	spreads                  bool
}

// nodeMeter adds up which share of a node is used. heard is for how many seconds placement could use the node.
type nodeMeter struct {
	cpu, memory, heard float64
	peak               Share
	now                Share
	is                 bool
	since              time.Time
}

// Share is the part of a node's CPU and memory for instances that is set aside, 0 to 1.
type Share struct {
	CPU    float64 `json:"cpu"`
	Memory float64 `json:"memory"`
}

func newMeter(c *projections.Cluster, began time.Time) *meter {
	m := &meter{
		cluster: c, began: began, now: began, services: map[events.ServiceID]*serviceMeter{}, nodes: map[string]*nodeMeter{}, slots: map[slotID]string{},
	}
	for id, s := range c.Services {
		for ordinal, slot := range s.Slots {
			if i := slot.Current; i != nil {
				m.slots[slotID{id, uint32(ordinal)}] = i.Node
			}
		}
		m.look(id, began)
	}
	m.lookAtNodes(began)
	return m
}

// take follows a round that the state has by now.
func (m *meter) take(records []events.Record, now time.Time) {
	m.now = now
	touched, nodes := map[events.ServiceID]struct{}{}, false
	for _, r := range records {
		id, ok := r.Scope.Service()
		if !ok {
			nodes = true
			continue
		}
		touched[id] = struct{}{}
		m.count(id, r.Data)
	}
	if nodes { // zones may have changed
		for id := range m.cluster.Services {
			touched[id] = struct{}{}
		}
	}
	for id := range touched {
		m.look(id, now)
	}
	if len(records) > 0 {
		m.lookAtNodes(now)
	}
}

func (m *meter) of(id events.ServiceID) *serviceMeter {
	if m.services[id] == nil {
		m.services[id] = &serviceMeter{since: m.now}
	}
	return m.services[id]
}

// count counts what happens to instances.
func (m *meter) count(id events.ServiceID, data events.Data) {
	s := m.of(id)
	switch d := data.(type) {
	case events.InstancePlaced:
		slot := slotID{id, d.Ordinal}
		s.placed++
		switch before := m.slots[slot]; before {
		case "":
		case d.Node:
			s.replaced++
		default:
			s.replaced++
			s.moved++
		}
		m.slots[slot] = d.Node
	case events.InstanceLost:
		s.lost++
	case events.InstanceRetired:
		if d.Reason == events.RetireScaledDown || d.Reason == events.RetireDropped || d.Reason == events.RetireSuspended {
			delete(m.slots, slotID{id, d.Ordinal}) // a later instance here replaces none
		}
	}
}

// look adds up a service's figures until now, and notes its state from here on.
func (m *meter) look(id events.ServiceID, now time.Time) {
	s := m.of(id)
	s.add(now)
	s.lacks, s.skew, s.spreads = 0, 0, false
	service := m.cluster.Services[id]
	if service == nil || service.Current() == nil {
		return
	}
	s.lacks = max(service.Wanted()-service.Filled(), 0)
	if s.skew, s.spreads = m.skewOf(service); s.skew > s.worst {
		s.worst = s.skew
	}
}

func (s *serviceMeter) add(now time.Time) {
	lasted := max(now.Sub(s.since), 0).Seconds()
	s.unplaced += float64(s.lacks) * lasted
	if s.spreads {
		s.skewed += float64(s.skew) * lasted
		s.spread += lasted
	}
	s.since = now
}

// skewOf returns by how many instances the zone with the most is ahead of the one with the fewest. It counts for services with
// a scale above 1, if there are several zones.
func (m *meter) skewOf(s *projections.Service) (int, bool) {
	counts := map[string]int{}
	for _, n := range m.cluster.Nodes {
		if n.Epoch > 0 && !n.Forgotten {
			counts[n.Facts.Zone] += 0
		}
	}
	if s.Wanted() < 2 || len(counts) < 2 || s.Current().Spec.Global() {
		return 0, false
	}
	for _, slot := range s.Slots {
		if i := slot.Current; i != nil {
			counts[m.cluster.Nodes[i.Node].Facts.Zone]++
		}
	}
	all := slices.Sorted(maps.Values(counts))
	return all[len(all)-1] - all[0], true
}

// lookAtNodes adds up the nodes' figures until now, and notes their state from here on.
func (m *meter) lookAtNodes(now time.Time) {
	for name := range m.cluster.Nodes {
		if m.nodes[name] == nil {
			m.nodes[name] = &nodeMeter{since: now}
		}
	}
	for name, n := range m.nodes {
		n.add(now)
		node := m.cluster.Nodes[name]
		if n.is = node != nil && node.Live() && !node.Forgotten; !n.is {
			continue
		}
		taken, has := node.Reserved(), node.Allocatable()
		n.now = Share{CPU: share(float64(taken.CPU), float64(has.CPU)), Memory: share(float64(taken.Memory), float64(has.Memory))}
		n.peak.CPU, n.peak.Memory = max(n.peak.CPU, n.now.CPU), max(n.peak.Memory, n.now.Memory)
	}
}

func (n *nodeMeter) add(now time.Time) {
	if lasted := max(now.Sub(n.since), 0).Seconds(); n.is {
		n.cpu += n.now.CPU * lasted
		n.memory += n.now.Memory * lasted
		n.heard += lasted
	}
	n.since = now
}

// share returns a part of a whole; 0 if the whole is not known.
func share(part, whole float64) float64 {
	if whole <= 0 {
		return 0
	}
	return part / whole
}

// end adds up until the end.
func (m *meter) end(now time.Time) {
	for _, s := range m.services {
		s.add(now)
	}
	for _, n := range m.nodes {
		n.add(now)
	}
	m.now = now
}
