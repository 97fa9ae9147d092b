package main

import (
	"errors"
	"fmt"
	"math"

	"github.com/moby/swarmkit/v2/api"
	"github.com/moby/swarmkit/v2/manager/state/store"
)

// use is what one node carries after a round.
type use struct {
	node *api.Node
	// instances is their number, cpu in billionths of a core, memory in bytes.
	instances   int
	cpu, memory int64
	// ofService counts the instances of each service that has a limit.
	ofService map[string]uint64
}

// countPlaced reads from the store where everything was put, checks that no
// rule of the mix was broken, and puts the counts into result. The store and
// not the scheduler is asked, since the store is what a swarm acts on.
func countPlaced(memory *store.MemoryStore, s *shape, result *report) error {
	var nodes []*api.Node
	var tasks []*api.Task
	var nodesErr, tasksErr error
	memory.View(func(tx store.ReadTx) {
		nodes, nodesErr = store.FindNodes(tx, store.All)
		tasks, tasksErr = store.FindTasks(tx, store.All)
	})
	if err := errors.Join(nodesErr, tasksErr); err != nil {
		return fmt.Errorf("cannot read the result from the store: %w", err)
	}
	uses := make(map[string]*use, len(nodes))
	for _, node := range nodes {
		uses[node.ID] = &use{node: node, ofService: map[string]uint64{}}
	}
	for _, task := range tasks {
		if task.NodeID == "" || task.Status.State != api.TaskStateAssigned {
			continue
		}
		on := uses[task.NodeID]
		if on == nil {
			return fmt.Errorf("task %s is on node %q, which there is not", task.ID, task.NodeID)
		}
		if err := on.add(task); err != nil {
			return err
		}
		result.Placed++
	}
	return summarize(uses, s, result)
}

// add counts a task on its node and checks the rules that the task has.
func (u *use) add(task *api.Task) error {
	u.instances++
	if reserved := task.Spec.Resources; reserved != nil {
		u.cpu += reserved.Reservations.NanoCPUs
		u.memory += reserved.Reservations.MemoryBytes
	}
	placement := task.Spec.Placement
	if placement == nil {
		return nil
	}
	labels := u.node.Spec.Annotations.Labels
	for _, constraint := range placement.Constraints {
		if constraint == ssdConstraint && labels[diskLabel] != ssd || constraint == lastConstraint && labels[lastLabel] != yes {
			return fmt.Errorf("task %s is on node %s, which does not meet %q", task.ID, u.node.Description.Hostname, constraint)
		}
	}
	if placement.MaxReplicas > 0 {
		u.ofService[task.ServiceID]++
		if u.ofService[task.ServiceID] > placement.MaxReplicas {
			return fmt.Errorf("node %s has more than %d replicas of service %s", u.node.Description.Hostname, placement.MaxReplicas, task.ServiceID)
		}
	}
	return nil
}

// summarize puts balance and headroom into result, and checks that no node
// carries more than it has.
func summarize(uses map[string]*use, s *shape, result *report) error {
	result.NodeMin = math.MaxInt
	racks := map[string]int{}
	var cpu, memory int64
	for _, each := range uses {
		result.NodeMin = min(result.NodeMin, each.instances)
		result.NodeMax = max(result.NodeMax, each.instances)
		racks[each.node.Spec.Annotations.Labels[rackLabel]] += each.instances
		cpu += each.cpu
		memory += each.memory
		if s.resources && (each.cpu > nodeCores*nanoCPUs || each.memory > nodeMemory) {
			return fmt.Errorf("node %s carries more than it has", each.node.Description.Hostname)
		}
	}
	if !s.resources {
		return nil
	}
	least, most := math.MaxInt, 0
	for _, instances := range racks {
		least, most = min(least, instances), max(most, instances)
	}
	result.RackMin, result.RackMax = &least, &most
	freeCPU, freeMemory := headroom(len(uses), cpu, memory)
	freeCPU, freeMemory = rounded(freeCPU), rounded(freeMemory)
	result.HeadroomCPU, result.HeadroomMemory = &freeCPU, &freeMemory
	if math.Min(freeCPU, freeMemory) < leastHeadroom {
		return fmt.Errorf("only %.2f of CPU and %.2f of memory stayed free, and at least %.2f has to", freeCPU, freeMemory, leastHeadroom)
	}
	return nil
}

// rounded is a share to four places, enough to compare rounds by.
func rounded(share float64) float64 { return math.Round(share*10_000) / 10_000 }
