package main

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections/views"
)

// seen is the content of the views, by key, and what instances use, by the key of their slot.
type seen struct {
	services   map[string]views.Service
	instances  map[string]views.Instance
	nodes      map[string]views.Node
	operations map[string]views.ServiceOperation
	usage      map[string]used
}

func newSeen() *seen {
	return &seen{
		map[string]views.Service{},
		map[string]views.Instance{},
		map[string]views.Node{},
		map[string]views.ServiceOperation{},
		map[string]used{},
	}
}

// take applies the changes from a watch.
func (s *seen) take(told bus.Sight) error {
	if told.Whole {
		measured := s.usage
		*s = *newSeen()
		s.usage = measured
	}
	for _, c := range told.Changes {
		if err := s.change(c); err != nil {
			return fmt.Errorf("read the value of %s in %s: %w", c.Key, c.Bucket, err)
		}
	}
	return nil
}

func (s *seen) change(c bus.Change) error {
	switch c.Bucket {
	case bus.BucketServices:
		return follow(s.services, c)
	case bus.BucketInstances:
		return follow(s.instances, c)
	case bus.BucketNodes:
		return follow(s.nodes, c)
	case bus.BucketOperations:
		return follow(s.operations, c)
	}
	return nil
}

func follow[T any](all map[string]T, c bus.Change) error {
	if c.Value == nil {
		delete(all, c.Key)
		return nil
	}
	var value T
	err := json.Unmarshal(c.Value, &value)
	all[c.Key] = value
	return err
}

// within limits a list to a namespace, or to one service of it. Empty fields do not limit it.
type within struct{ namespace, name string }

func (w within) has(namespace, name string) bool {
	return (w.namespace == "" || w.namespace == namespace) && (w.name == "" || w.name == name)
}

func (s *seen) servicesOf(w within) []views.Service {
	return sorted(s.services, func(v views.Service) bool { return w.has(v.Namespace, v.Name) },
		func(a, b views.Service) int { return compareServices(a.Namespace, a.Name, b.Namespace, b.Name) })
}

func (s *seen) instancesOf(w within) []views.Instance {
	return sorted(s.instances, func(v views.Instance) bool { return w.has(v.Namespace, v.Name) }, func(a, b views.Instance) int {
		return cmp.Or(compareServices(a.Namespace, a.Name, b.Namespace, b.Name), cmp.Compare(a.Ordinal, b.Ordinal))
	})
}

func (s *seen) operationsOf(w within) []views.ServiceOperation {
	return sorted(s.operations, func(v views.ServiceOperation) bool { return w.has(v.Namespace, v.Name) },
		func(a, b views.ServiceOperation) int {
			return compareServices(a.Namespace, a.Name, b.Namespace, b.Name)
		})
}

// nodesOf returns the node of this name, or all for none.
func (s *seen) nodesOf(name string) []views.Node {
	return sorted(s.nodes, func(v views.Node) bool { return name == "" || v.Name == name },
		func(a, b views.Node) int { return cmp.Compare(a.Name, b.Name) })
}

func compareServices(namespaceA, nameA, namespaceB, nameB string) int {
	return events.ServiceID{Namespace: namespaceA, Name: nameA}.Compare(events.ServiceID{Namespace: namespaceB, Name: nameB})
}

func sorted[T any](all map[string]T, wanted func(T) bool, compare func(a, b T) int) []T {
	some := make([]T, 0, len(all))
	for _, v := range all {
		if wanted(v) {
			some = append(some, v)
		}
	}
	slices.SortFunc(some, compare)
	return some
}
