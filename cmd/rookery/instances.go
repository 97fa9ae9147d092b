package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rookery-project/rookery/coordinator/runner/api"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections/views"
)

// target is the argument of logs, exec and explain: a service, or one slot of it.
type target struct {
	service events.ServiceID
	ordinal int // -1 for all
}

// parseTarget reads NAMESPACE/NAME[/ORDINAL].
func parseTarget(text string) (target, error) {
	t := target{ordinal: -1}
	parts := strings.SplitN(text, "/", 3)
	if len(parts) == 3 {
		n, err := strconv.ParseUint(parts[2], 10, 32)
		if err != nil {
			return t, fmt.Errorf("%q is not an ordinal: want a whole number, as in demo/web/2", parts[2])
		}
		t.ordinal, text = int(n), parts[0]+"/"+parts[1]
	}
	id, err := events.ParseServiceID(text)
	t.service = id
	return t, err
}

func (t target) String() string {
	if t.ordinal < 0 {
		return t.service.String()
	}
	return t.service.String() + "/" + strconv.Itoa(t.ordinal)
}

// instances returns the target's instances that have a node in the views, by ordinal and generation.
func (t target) instances(ctx context.Context, b *bus.JetStream) ([]views.Instance, error) {
	all, err := t.slots(ctx, b)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(withNext(all), func(i views.Instance) bool {
		return i.Node == "" || i.Generation == 0 || (t.ordinal >= 0 && i.Ordinal != uint32(t.ordinal))
	})
	slices.SortFunc(all, func(a, b views.Instance) int {
		return cmp.Or(cmp.Compare(a.Ordinal, b.Ordinal), cmp.Compare(a.Generation, b.Generation))
	})
	return all, nil
}

// slots returns what the views have of the service's slots.
func (t target) slots(ctx context.Context, b *bus.JetStream) ([]views.Instance, error) {
	ctx, cancel := context.WithTimeout(ctx, busTimeout)
	defer cancel()
	all, _, _, err := listed[views.Instance](ctx, b, bus.BucketInstances, api.ListQuestion{Namespace: t.service.Namespace, Name: t.service.Name})
	return all, err
}

// withNext returns the instances, each followed by its successor.
func withNext(all []views.Instance) []views.Instance {
	var each []views.Instance
	for _, v := range all {
		each = append(each, v)
		if v.Next != nil {
			each = append(each, *v.Next)
		}
	}
	return each
}

// check returns an error if the service or the slot does not exist.
func (t target) check(ctx context.Context, b *bus.JetStream) error {
	ctx, cancel := context.WithTimeout(ctx, busTimeout)
	defer cancel()
	services, err := readList[views.Service](ctx, b, bus.BucketServices, api.ListQuestion{})
	if err != nil {
		return err
	}
	known := make([]string, len(services))
	for i, s := range services {
		known[i] = s.Namespace + "/" + s.Name
		if known[i] == t.service.String() {
			return t.checkOrdinal(ctx, b)
		}
	}
	said := events.NoSuch("service", t.service.String(), known)
	switch {
	case len(known) == 0:
		said += ": create one with `rookery ensure`"
	case !strings.HasSuffix(said, "?"):
		said += "; `rookery ps` lists all"
	}
	return errors.New(said)
}

func (t target) checkOrdinal(ctx context.Context, b *bus.JetStream) error {
	if t.ordinal < 0 {
		return nil
	}
	all, err := t.slots(ctx, b)
	if err != nil {
		return err
	}
	var known events.Ordinals
	for _, i := range all {
		known = append(known, i.Ordinal)
	}
	slices.Sort(known)
	switch {
	case slices.Contains(known, uint32(t.ordinal)):
		return nil
	case len(known) == 0:
		return fmt.Errorf("service %s has no ordinal %d: it has no instances", t.service, t.ordinal)
	}
	return fmt.Errorf("service %s has no ordinal %d: it has %s", t.service, t.ordinal, known)
}

// idOf returns the id of the view's instance.
func idOf(i views.Instance) events.InstanceID {
	return events.InstanceID{
		Service: events.ServiceID{Namespace: i.Namespace, Name: i.Name}, Ordinal: i.Ordinal, Generation: i.Generation,
	}
}
