package main

import (
	"fmt"
	"strings"

	"github.com/rookery-project/rookery/events"
)

// mix is what is placed, and on what.
type mix struct {
	name            string
	nodes           int
	services, scale int
	racks           int
	node            events.Capacity
	spec            func(service int) events.Spec
	labels          func(node int) map[string]string
	policy          events.Policy
}

const (
	racks  = 50
	cores  = 32
	memory = 128 << 30
)

// sizes are those of the three kinds of services.
var sizes = [...]events.Resources{
	{CPU: 500, Memory: 1 << 30},
	{CPU: 1000, Memory: 2 << 30},
	{CPU: 250, Memory: 4 << 30},
}

// mixes are all of them, by the names that the peer knows them by.
func mixes() []mix {
	all := []mix{
		large("w1", sized, anywhere()),
		large("w2", onDisks, anywhere()),
		large("w3", apart, spreading()),
	}
	for _, n := range []int{1_000, 10_000, 100_000} {
		all = append(all, small(fmt.Sprintf("swarm-1k-%dk", n/1000), n, nil))
	}
	for _, n := range []int{1_000, 10_000} {
		all = append(all, small(fmt.Sprintf("swarm-1k-%dk-last", n/1000), n, map[string]string{"last": "yes"}))
	}
	return all
}

// large is 5,000 nodes in 50 racks, half of them with an SSD, and 100 services of 1,000 instances.
func large(name string, spec func(int) events.Spec, policy events.Policy) mix {
	return mix{
		name: name, nodes: 5_000, services: 100, scale: 1_000, racks: racks, policy: policy, spec: spec,
		node: events.Capacity{CPU: cores, Memory: memory},
		labels: func(node int) map[string]string {
			labels := map[string]string{}
			if node/racks%2 == 0 {
				labels["disk"] = "ssd"
			}
			return labels
		},
	}
}

// small is the shape of swarmkit's own benchmarks: 1,000 nodes that say nothing of themselves, and instances that ask for
// nothing, or for a label that the last node alone has.
func small(name string, instances int, selector map[string]string) mix {
	const nodes = 1_000
	return mix{
		name: name, nodes: nodes, services: max(instances/events.MaxScale, 1), scale: min(instances, events.MaxScale), racks: 1,
		policy: anywhere(),
		spec: func(int) events.Spec {
			return events.Spec{Image: "localhost/a:1", Placement: events.Placement{NodeSelector: selector}}
		},
		labels: func(node int) map[string]string {
			if node == nodes-1 {
				return map[string]string{"last": "yes"}
			}
			return nil
		},
	}
}

func sized(service int) events.Spec {
	return events.Spec{Image: "localhost/a:1", Requests: sizes[service%len(sizes)]}
}

// onDisks makes every second service ask for an SSD.
func onDisks(service int) events.Spec {
	s := sized(service)
	if service%2 == 0 {
		s.NodeSelector = map[string]string{"disk": "ssd"}
	}
	return s
}

// apart makes every tenth service forbid two of its instances on one node.
func apart(service int) events.Spec {
	s := sized(service)
	s.Labels = map[string]string{"service": fmt.Sprint(service)}
	if service%10 == 0 {
		s.AntiAffinity = []events.Selector{{Label: "service", Operator: events.OpEqual, Values: []string{fmt.Sprint(service)}}}
	}
	return s
}

// anywhere is the policy that keeps no service in one rack, as swarmkit does not.
func anywhere() events.Policy {
	p := events.MaterializePolicy()
	p.SameZone = 0
	return p
}

// spreading is the policy that spreads every service over the racks.
func spreading() events.Policy {
	p := events.MaterializePolicy()
	p.Spread.IgnoreScaled = false
	return p
}

func mixNamed(name string) (mix, error) {
	var names []string
	for _, m := range mixes() {
		if m.name == name {
			return m, nil
		}
		names = append(names, m.name)
	}
	return mix{}, fmt.Errorf("there is no mix %q: known are %s", name, strings.Join(names, ", "))
}

func chosenMixes(names string) ([]mix, error) {
	if names == "" {
		return mixes(), nil
	}
	var chosen []mix
	for name := range strings.SplitSeq(names, ",") {
		m, err := mixNamed(name)
		if err != nil {
			return nil, err
		}
		chosen = append(chosen, m)
	}
	return chosen, nil
}
