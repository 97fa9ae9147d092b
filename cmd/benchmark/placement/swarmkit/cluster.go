package main

import (
	"fmt"

	"github.com/moby/swarmkit/v2/api"
	"github.com/moby/swarmkit/v2/identity"
	"github.com/moby/swarmkit/v2/manager/state/store"
)

// Labels of nodes, and the ways to name them in a constraint or preference.
const (
	rackLabel = "rack"
	diskLabel = "disk"
	lastLabel = "last"

	ssd = "ssd"
	yes = "yes"

	rackDescriptor = "node.labels." + rackLabel
	ssdConstraint  = "node.labels." + diskLabel + "==" + ssd
	lastConstraint = "node.labels." + lastLabel + "==" + yes
)

// specVersion is the version of every service's spec. Tasks that carry it
// together with one service ID are scheduled as one group.
const specVersion = 1

// makeNodes puts the nodes of a shape into the store, all ready for tasks.
// IDs are random, as in a swarm.
func makeNodes(into *store.MemoryStore, s *shape) error {
	return into.Update(func(tx store.Tx) error {
		for i := range s.nodes {
			if err := store.CreateNode(tx, newNode(s, i)); err != nil {
				return fmt.Errorf("cannot make node %d: %w", i, err)
			}
		}
		return nil
	})
}

// newNode is node number i of a shape. Without resources it is what
// swarmkit's own benchmarks have: ready, and nothing else.
func newNode(s *shape, i int) *api.Node {
	name := fmt.Sprintf("node-%05d", i)
	node := &api.Node{
		ID:          identity.NewID(),
		Spec:        api.NodeSpec{Annotations: api.Annotations{Name: name, Labels: map[string]string{}}},
		Status:      api.NodeStatus{State: api.NodeStatus_READY},
		Description: &api.NodeDescription{Hostname: name, Engine: &api.EngineDescription{}},
	}
	labels := node.Spec.Annotations.Labels
	if s.resources {
		node.Description.Resources = &api.Resources{NanoCPUs: nodeCores * nanoCPUs, MemoryBytes: nodeMemory}
		labels[rackLabel] = s.rack(i)
		if s.hasSSD(i) {
			labels[diskLabel] = ssd
		}
	}
	if s.lastOnly && i == s.nodes-1 {
		labels[lastLabel] = yes
	}
	return node
}

// makeServices puts the services into the store and returns their IDs by
// number. The scheduler itself only reads them for tasks that find no node:
// without a service it would forget such a task instead of trying it again.
func makeServices(into *store.MemoryStore, s *shape) ([]string, error) {
	ids := make([]string, s.services)
	err := into.Update(func(tx store.Tx) error {
		for number := range ids {
			ids[number] = identity.NewID()
			service := &api.Service{
				ID:          ids[number],
				SpecVersion: &api.Version{Index: specVersion},
				Spec: api.ServiceSpec{
					Annotations: api.Annotations{Name: serviceName(number)},
					Task:        taskSpec(s, number),
					Mode: &api.ServiceSpec_Replicated{
						Replicated: &api.ReplicatedService{Replicas: uint64(s.instances)},
					},
				},
			}
			if err := store.CreateService(tx, service); err != nil {
				return fmt.Errorf("cannot make service %d: %w", number, err)
			}
		}
		return nil
	})
	return ids, err
}

// makeTasks puts all instances of all services into the store as pending
// tasks. The store keeps a copy of its own of each, spec included.
func makeTasks(into *store.MemoryStore, s *shape, services []string) error {
	return into.Update(func(tx store.Tx) error {
		for number, id := range services {
			for slot := 1; slot <= s.instances; slot++ {
				if err := store.CreateTask(tx, newTask(s, number, id, slot)); err != nil {
					return fmt.Errorf("cannot make instance %d of service %d: %w", slot, number, err)
				}
			}
		}
		return nil
	})
}

// newTask is one pending instance of a service. It holds only what the
// scheduler reads: no image, networks or mounts. Tasks therefore take less
// heap here than in a real swarm.
func newTask(s *shape, number int, service string, slot int) *api.Task {
	task := &api.Task{
		ID:                 identity.NewID(),
		ServiceID:          service,
		Slot:               uint64(slot),
		ServiceAnnotations: api.Annotations{Name: serviceName(number)},
		Spec:               taskSpec(s, number),
		DesiredState:       api.TaskStateRunning,
		Status:             api.TaskStatus{State: api.TaskStatePending},
	}
	if !s.oneByOne {
		task.SpecVersion = &api.Version{Index: specVersion}
		return task
	}
	// Without a spec version no group is made. The w mixes keep the service,
	// which spreading and the replica limit count by; the swarm mixes drop
	// it, because the tasks of swarmkit's own benchmarks have none.
	if !s.resources {
		task.ServiceID = ""
	}
	return task
}

// taskSpec is the spec of every instance of a service.
func taskSpec(s *shape, number int) api.TaskSpec {
	spec := api.TaskSpec{}
	if cpu, memory := s.reservation(number); cpu > 0 || memory > 0 {
		spec.Resources = &api.ResourceRequirements{
			Reservations: &api.Resources{NanoCPUs: cpu, MemoryBytes: memory},
		}
	}
	placement := &api.Placement{MaxReplicas: s.maxReplicas(number)}
	if s.needsSSD(number) {
		placement.Constraints = append(placement.Constraints, ssdConstraint)
	}
	if s.lastOnly {
		placement.Constraints = append(placement.Constraints, lastConstraint)
	}
	if s.spreadRacks {
		placement.Preferences = []*api.PlacementPreference{{
			Preference: &api.PlacementPreference_Spread{
				Spread: &api.SpreadOver{SpreadDescriptor: rackDescriptor},
			},
		}}
	}
	if placement.MaxReplicas > 0 || len(placement.Constraints) > 0 || len(placement.Preferences) > 0 {
		spec.Placement = placement
	}
	return spec
}

// serviceName is the name of a service by its number.
func serviceName(number int) string { return fmt.Sprintf("service-%05d", number) }
