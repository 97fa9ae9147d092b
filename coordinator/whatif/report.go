package whatif

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
)

// Report says what would have been different.
type Report struct {
	// From and To are the first and the last sequence of the part of the log, Began and Ended the times of its rounds.
	From  uint64    `json:"from"`
	To    uint64    `json:"to"`
	Began time.Time `json:"began"`
	Ended time.Time `json:"ended"`
	// Rounds and Events count the rounds and events of that part.
	Rounds uint64 `json:"rounds"`
	Events uint64 `json:"events"`
	// Policy and Capacity are what was different; nil if that was not different.
	Policy   *events.Policy              `json:"policy,omitempty"`
	Capacity map[string]events.Resources `json:"capacity,omitempty"`
	// StartSeconds and StopSeconds are how long instances take in the simulation, over all services.
	StartSeconds float64 `json:"start_seconds"`
	StopSeconds  float64 `json:"stop_seconds"`
	// Real is from the log itself, Same from the simulation with the log's policy, and Other from the simulation with the
	// differences.
	Real     Figures   `json:"real"`
	Same     Figures   `json:"same"`
	Other    Figures   `json:"other"`
	Services []Service `json:"services"`
	Nodes    []Node    `json:"nodes"`
}

// Figures are the figures of the whole cluster over the whole time.
type Figures struct {
	// Placed counts the instances that got a node. Replaced counts those of them that replaced another, and Moved those that
	// did so on another node. Lost counts the instances that were lost with their nodes.
	Placed   uint64 `json:"placed"`
	Replaced uint64 `json:"replaced"`
	Moved    uint64 `json:"moved"`
	Lost     uint64 `json:"lost"`
	// Unplaced is the sum, over all slots, of the seconds without an instance that they should have had.
	Unplaced float64 `json:"unplaced_slot_seconds"`
	// Skew is by how many instances of a service zones differ, averaged over the time and the services with a scale above 1.
	// WorstSkew is the greatest such difference.
	Skew      float64 `json:"skew"`
	WorstSkew int     `json:"worst_skew"`
	// Mean is the share of the nodes that is set aside, averaged over the time and the nodes that sent heartbeats. Peak is the
	// greatest share of any node at any time.
	Mean Share `json:"mean"`
	Peak Share `json:"peak"`
}

// ServiceFigures are the figures of one service.
type ServiceFigures struct {
	Placed    uint64  `json:"placed"`
	Replaced  uint64  `json:"replaced"`
	Moved     uint64  `json:"moved"`
	Lost      uint64  `json:"lost"`
	Unplaced  float64 `json:"unplaced_slot_seconds"`
	Skew      float64 `json:"skew"`
	WorstSkew int     `json:"worst_skew"`
}

// NodeFigures are the figures of one node.
type NodeFigures struct {
	Mean Share `json:"mean"`
	Peak Share `json:"peak"`
}

// Service compares the figures of one service.
type Service struct {
	Service string         `json:"service"`
	Real    ServiceFigures `json:"real"`
	Same    ServiceFigures `json:"same"`
	Other   ServiceFigures `json:"other"`
}

// Node compares the figures of one node.
type Node struct {
	Node  string      `json:"node"`
	Real  NodeFigures `json:"real"`
	Same  NodeFigures `json:"same"`
	Other NodeFigures `json:"other"`
}

// rounded rounds to thousandths: sums of many parts are exact only up to there.
func rounded(f float64) float64 {
	const thousand = 1000
	return math.Round(f*thousand) / thousand
}

func (s *serviceMeter) figures() ServiceFigures {
	if s == nil {
		return ServiceFigures{}
	}
	return ServiceFigures{
		Placed: s.placed, Replaced: s.replaced, Moved: s.moved, Lost: s.lost,
		Unplaced: rounded(s.unplaced), Skew: rounded(share(s.skewed, s.spread)), WorstSkew: s.worst,
	}
}

func (n *nodeMeter) figures() NodeFigures {
	if n == nil {
		return NodeFigures{}
	}
	return NodeFigures{
		Mean: Share{CPU: rounded(share(n.cpu, n.heard)), Memory: rounded(share(n.memory, n.heard))},
		Peak: Share{CPU: rounded(n.peak.CPU), Memory: rounded(n.peak.Memory)},
	}
}

// figures adds up all services and nodes in the order of their names, so that sums of fractions are the same each time.
func (m *meter) figures() Figures {
	var f Figures
	var skewed, spread float64
	for _, id := range slices.SortedFunc(maps.Keys(m.services), events.ServiceID.Compare) {
		s := m.services[id]
		f.Placed, f.Replaced, f.Moved, f.Lost = f.Placed+s.placed, f.Replaced+s.replaced, f.Moved+s.moved, f.Lost+s.lost
		f.Unplaced += s.unplaced
		f.WorstSkew = max(f.WorstSkew, s.worst)
		skewed, spread = skewed+s.skewed, spread+s.spread
	}
	var mean Share
	heard := 0.0
	for _, name := range sortedKeys(m.nodes) {
		n := m.nodes[name]
		mean.CPU, mean.Memory, heard = mean.CPU+n.cpu, mean.Memory+n.memory, heard+n.heard
		f.Peak.CPU, f.Peak.Memory = max(f.Peak.CPU, n.peak.CPU), max(f.Peak.Memory, n.peak.Memory)
	}
	f.Unplaced, f.Skew = rounded(f.Unplaced), rounded(share(skewed, spread))
	f.Mean = Share{CPU: rounded(share(mean.CPU, heard)), Memory: rounded(share(mean.Memory, heard))}
	f.Peak = Share{CPU: rounded(f.Peak.CPU), Memory: rounded(f.Peak.Memory)}
	return f
}

// compare fills in the figures of three meters.
func (r *Report) compare(logged, same, other *meter) {
	r.Real, r.Same, r.Other = logged.figures(), same.figures(), other.figures()
	ids, names := map[events.ServiceID]struct{}{}, map[string]struct{}{}
	for _, m := range []*meter{logged, same, other} {
		for id := range m.services {
			ids[id] = struct{}{}
		}
		for name := range m.nodes {
			names[name] = struct{}{}
		}
	}
	r.Services, r.Nodes = []Service{}, []Node{}
	for _, id := range slices.SortedFunc(maps.Keys(ids), events.ServiceID.Compare) {
		r.Services = append(r.Services, Service{
			id.String(), logged.services[id].figures(), same.services[id].figures(), other.services[id].figures(),
		})
	}
	for _, name := range slices.SortedFunc(maps.Keys(names), cmp.Compare[string]) {
		r.Nodes = append(r.Nodes, Node{name, logged.nodes[name].figures(), same.nodes[name].figures(), other.nodes[name].figures()})
	}
}
