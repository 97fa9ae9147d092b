package main

import (
	"fmt"
	"math"
)

const (
	// nanoCPUs is one core in the unit of swarmkit's resources.
	nanoCPUs int64 = 1_000_000_000
	// gibibyte is one GiB in bytes.
	gibibyte int64 = 1 << 30

	// nodeCores and nodeMemory are what one node of the w mixes has, in
	// cores and bytes.
	nodeCores        = 32
	nodeMemory int64 = 128 * gibibyte

	// rackCount is how many racks the nodes of the w mixes stand in.
	rackCount = 50

	// maxReplicasEvery is the step between the w3 services that may have one
	// replica per node only.
	maxReplicasEvery = 10

	// leastHeadroom is the share of CPU and of memory that has to stay free
	// after all instances are placed. Below it a round would measure how a
	// scheduler copes with a full cluster, which is another question.
	leastHeadroom = 0.35

	// largestCount bounds what the overrides may ask for, so that a slip on
	// the command line is a sentence and not a machine out of memory.
	largestCount = 2_000_000
)

// shape is the size of a mix and the rules that its services have.
type shape struct {
	// name is the mix's name on the command line and in the JSON line.
	name string
	// about says in a few words what the mix measures.
	about string
	// nodes, services and instances are numbers; instances is per service.
	nodes, services, instances int
	// resources gives nodes capacity and labels, and tasks reservations.
	resources bool
	// ssdForEven binds services with an even number to nodes with an SSD.
	ssdForEven bool
	// spreadRacks makes every service prefer an even spread over racks, and
	// holds every tenth of them to one replica per node.
	spreadRacks bool
	// lastOnly binds all services to the node made last. The scheduler walks
	// nodes in the random order of a Go map, so for it that is any one node.
	lastOnly bool
	// oneByOne leaves out what the scheduler groups tasks by.
	oneByOne bool
}

// shapes are the mixes in the order of the -help text.
var shapes = []shape{
	{name: "w1", about: "5,000 nodes, 100 services of 1,000: resources only", nodes: 5000, services: 100, instances: 1000, resources: true},
	{name: "w2", about: "as w1, and every second service needs an SSD", nodes: 5000, services: 100, instances: 1000, resources: true, ssdForEven: true},
	{name: "w3", about: "as w1, spread over racks, every tenth service one replica per node", nodes: 5000, services: 100, instances: 1000, resources: true, spreadRacks: true},
	{name: "swarm-1k-1k", about: "1,000 nodes, 1,000 tasks, no resources", nodes: 1000, services: 1, instances: 1000},
	{name: "swarm-1k-10k", about: "1,000 nodes, 10,000 tasks, no resources", nodes: 1000, services: 1, instances: 10_000},
	{name: "swarm-1k-100k", about: "1,000 nodes, 100,000 tasks, no resources", nodes: 1000, services: 1, instances: 100_000},
	{name: "swarm-1k-1k-last", about: "as swarm-1k-1k, only the last node will do", nodes: 1000, services: 1, instances: 1000, lastOnly: true},
	{name: "swarm-1k-10k-last", about: "as swarm-1k-10k, only the last node will do", nodes: 1000, services: 1, instances: 10_000, lastOnly: true},
}

// mixNames are the names that -mix takes.
func mixNames() []string {
	names := make([]string, 0, len(shapes))
	for _, each := range shapes {
		names = append(names, each.name)
	}
	return names
}

// findShape is the shape of a mix by its name.
func findShape(name string) (shape, error) {
	for _, each := range shapes {
		if each.name == name {
			return each, nil
		}
	}
	return shape{}, fmt.Errorf("there is no mix %q; -help lists them", name)
}

// override replaces the mix's own numbers by those that are not 0.
func (s *shape) override(nodes, services, instances int) error {
	for _, each := range []struct {
		flag  string
		value int
		into  *int
	}{{"nodes", nodes, &s.nodes}, {"services", services, &s.services}, {"instances", instances, &s.instances}} {
		if each.value < 0 || each.value > largestCount {
			return fmt.Errorf("-%s %d is out of range; give 1 to %d, or 0 for the mix's own", each.flag, each.value, largestCount)
		}
		if each.value > 0 {
			*each.into = each.value
		}
	}
	if s.services > largestCount/s.instances {
		return fmt.Errorf("%d services of %d instances are more than the %d instances that a round may have", s.services, s.instances, largestCount)
	}
	return nil
}

// total is how many instances there are in all.
func (s *shape) total() int { return s.services * s.instances }

// rack is the name of the rack that a node stands in.
func (s *shape) rack(node int) string { return fmt.Sprintf("rack-%02d", node%rackCount) }

// hasSSD says whether a node has an SSD: every second row of racks does, so
// that every rack has nodes of both kinds.
func (s *shape) hasSSD(node int) bool { return node/rackCount%2 == 0 }

// needsSSD says whether a service is bound to nodes with an SSD.
func (s *shape) needsSSD(service int) bool { return s.ssdForEven && service%2 == 0 }

// maxReplicas is how many replicas of a service one node may have, 0 for any
// number.
func (s *shape) maxReplicas(service int) uint64 {
	if s.spreadRacks && service%maxReplicasEvery == 0 {
		return 1
	}
	return 0
}

// reservation is what each instance of a service reserves: CPU in billionths
// of a core, memory in bytes.
func (s *shape) reservation(service int) (cpu, memory int64) {
	if !s.resources {
		return 0, 0
	}
	switch service % 3 {
	case 0:
		return nanoCPUs / 2, gibibyte
	case 1:
		return nanoCPUs, 2 * gibibyte
	default:
		return nanoCPUs / 4, 4 * gibibyte
	}
}

// checkPlan refuses a shape that would leave too little headroom, or whose
// replicas cannot fit, before any work is done on it. A mix that binds
// services to SSDs needs the headroom on those nodes alone as well.
func (s *shape) checkPlan() error {
	if !s.resources {
		return nil
	}
	all := func(int) bool { return true }
	if err := s.checkHeadroom("all nodes", all, all); err != nil {
		return err
	}
	if s.ssdForEven {
		if err := s.checkHeadroom("the nodes with an SSD", s.hasSSD, s.needsSSD); err != nil {
			return err
		}
	}
	if s.spreadRacks && s.instances > s.nodes {
		return fmt.Errorf("%d instances with one per node do not fit on %d nodes", s.instances, s.nodes)
	}
	return nil
}

// checkHeadroom checks the services that pass which against the nodes that
// pass where.
func (s *shape) checkHeadroom(what string, where, which func(int) bool) error {
	count := 0
	for node := range s.nodes {
		if where(node) {
			count++
		}
	}
	var cpu, memory int64
	for service := range s.services {
		if which(service) {
			eachCPU, eachMemory := s.reservation(service)
			cpu += eachCPU * int64(s.instances)
			memory += eachMemory * int64(s.instances)
		}
	}
	freeCPU, freeMemory := headroom(count, cpu, memory)
	if math.Min(freeCPU, freeMemory) < leastHeadroom {
		return fmt.Errorf("on %s the mix would leave only %.2f of CPU and %.2f of memory free; at least %.2f of each has to stay, so ask for more nodes or fewer instances", what, freeCPU, freeMemory, leastHeadroom)
	}
	return nil
}

// headroom is the share of CPU and of memory that stays free when cpu
// (billionths of a core) and memory (bytes) are reserved on so many nodes.
func headroom(nodes int, cpu, memory int64) (freeCPU, freeMemory float64) {
	if nodes == 0 {
		return 0, 0
	}
	freeCPU = 1 - float64(cpu)/(float64(nodes)*float64(nodeCores*nanoCPUs))
	freeMemory = 1 - float64(memory)/(float64(nodes)*float64(nodeMemory))
	return freeCPU, freeMemory
}
