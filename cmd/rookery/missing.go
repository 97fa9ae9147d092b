package main

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

// errMissing matches every error about an object that does not exist.
var errMissing = errors.New("does not exist")

type missingError string

func (e missingError) Error() string      { return string(e) }
func (missingError) Is(target error) bool { return target == errMissing }

// missing returns an error if the object that the operator named does not exist, with the nearest existing name. It returns nil if
// the operator named none.
func missing(kind, name string, known []string) error {
	if name == "" || slices.Contains(known, name) {
		return nil
	}
	return missingError(events.NoSuch(kind, name, known))
}

// missingOf is missing for a namespace, or for one service of it.
func (s *seen) missingOf(w within) error {
	services, namespaces := map[string]bool{}, map[string]bool{}
	for _, v := range s.services {
		services[v.Namespace+"/"+v.Name], namespaces[v.Namespace] = true, true
	}
	if w.name != "" {
		return missing("service", w.namespace+"/"+w.name, slices.Sorted(maps.Keys(services)))
	}
	return missing("namespace", w.namespace, slices.Sorted(maps.Keys(namespaces)))
}

// missingNow is missingOf for a command that has not read the views yet.
func missingNow(ctx context.Context, b *bus.JetStream, of within) error {
	ctx, cancel := context.WithTimeout(ctx, busTimeout)
	defer cancel()
	s, err := readSeen(ctx, b, []string{bus.BucketServices})
	if err != nil {
		return err
	}
	return s.missingOf(of)
}
