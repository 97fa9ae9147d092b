package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/rookery-project/rookery/cmd/rookery/compose"
	"github.com/rookery-project/rookery/events"
)

// wish is what the files want a namespace, and the cluster, to hold.
type wish struct {
	namespace string
	services  map[string]events.ServiceEnsure
	policy    *events.ClusterPolicy // nil where no file gives one
	// project is the content of the Compose files; nil without any.
	project *compose.Project
	// grouped says that all changes go out as one group, and after lists each service's dependencies in it.
	grouped bool
	group   string // its name; that of the namespace where no file gives one
	after   map[string][]string
}

// readWish reads the files. Its error lists every mistake, with file, service and field.
func readWish(ctx context.Context, in io.Reader, namespace string, files []string) (wish, error) {
	w := wish{namespace: namespace, services: map[string]events.ServiceEnsure{}}
	var lists, composed []compose.File
	for _, file := range files {
		body, err := readFile(in, file)
		if err != nil {
			return w, err
		}
		all, err := documentsOf(file, body)
		if err != nil {
			return w, err
		}
		if len(all) > 1 || slices.ContainsFunc(all, func(d document) bool { return d.kind != "" }) {
			list, err := w.take(file, all)
			if err != nil {
				return w, err
			}
			lists = append(lists, list...)
			continue
		}
		var bare document
		if len(all) > 0 {
			bare = all[0]
		}
		if bare.isSpec() {
			return w, fmt.Errorf("read %s: it is the spec of one service: write kind: service and name: NAMESPACE/NAME into it, or use rookery ensure", file)
		}
		if bare.isCompose() {
			composed = append(composed, compose.File{Name: file, Body: body})
		} else {
			lists = append(lists, compose.File{Name: file, Body: bare.body})
		}
	}
	if len(composed) > 0 {
		source, err := compose.Read(ctx, composed, namespace)
		if err != nil {
			return w, fmt.Errorf("read %s: %w", composed[0].Name, err)
		}
		project := source.Project()
		w.project, w.namespace, w.grouped, w.after = &project, project.Name, true, project.After
		body, err := json.Marshal(project.Services, json.Deterministic(true))
		if err != nil {
			return w, err
		}
		lists = slices.Insert(lists, 0, compose.File{Name: composed[0].Name, Body: body})
	}
	if w.namespace == "" && w.policy != nil {
		return w, nil
	}
	if w.namespace == "" {
		return w, &codedError{exitUsage, errors.New("the files do not name a namespace: give NAMESPACE before them, or write kind: " +
			"service and name: demo/web into them")}
	}
	return w, w.read(lists)
}

// take returns the services of documents that have a kind, each as a list, and keeps the policy.
func (w *wish) take(file string, all []document) (lists []compose.File, err error) {
	for i, d := range all {
		if d.kind == "policy" {
			if err := w.takePolicy(d); err != nil {
				return nil, inDocument(file, i, err)
			}
			continue
		}
		services, err := w.servicesOf(d)
		if err != nil {
			return nil, inDocument(file, i, err)
		}
		body, err := json.Marshal(services, json.Deterministic(true))
		if err != nil {
			return nil, inDocument(file, i, err)
		}
		lists = append(lists, compose.File{Name: file, Body: body})
	}
	return lists, nil
}

// servicesOf returns the specs of a document, by the names of their services.
func (w *wish) servicesOf(d document) (map[string]jsontext.Value, error) {
	if d.kind == "" {
		return nil, errors.New("it has no kind: write kind: service and name: demo/web into it")
	}
	id, err := events.ParseServiceID(d.name)
	if err != nil {
		return nil, err
	}
	if w.namespace == "" {
		w.namespace = id.Namespace
	}
	if id.Namespace != w.namespace {
		return nil, fmt.Errorf("%s is in the namespace %s, but an earlier document is in %s: apply one namespace at a "+
			"time", d.name, id.Namespace, w.namespace)
	}
	switch d.kind {
	case "job":
		body, err := asJob(d.body)
		return map[string]jsontext.Value{id.Name: body}, err
	case "group":
		if w.group != "" && w.group != id.Name {
			return nil, fmt.Errorf("it is the group %s, and another document is the group %s: apply them one after the other", id.Name, w.group)
		}
		w.group = id.Name
		return w.members(d.body)
	default:
		return map[string]jsontext.Value{id.Name: d.body}, nil
	}
}

// members returns the specs of a group, and records the order in which they change.
func (w *wish) members(body []byte) (map[string]jsontext.Value, error) {
	group, err := events.ParseGroupEnsure(body)
	if err != nil {
		return nil, err
	}
	if w.after == nil {
		w.after = map[string][]string{}
	}
	w.grouped = true
	services := map[string]jsontext.Value{}
	for name, m := range group.Services {
		w.after[name] = m.After
		if services[name], err = json.Marshal(m.Ensure(), json.Deterministic(true)); err != nil {
			return nil, err
		}
	}
	return services, nil
}

// read adds the services of lists, each one JSON object.
func (w *wish) read(lists []compose.File) error {
	from := map[string]string{}
	var wrong []error
	for _, file := range lists {
		services, err := events.ParseServices(w.namespace, file.Body)
		if err != nil {
			wrong = append(wrong, inFile(file.Name, err)...)
		}
		for _, name := range slices.Sorted(maps.Keys(services)) {
			if other, twice := from[name]; twice {
				wrong = append(wrong, fmt.Errorf("read %s: %s is in %s too: keep one of them", file.Name, name, other))
			}
			if _, err := commandMessage(scopeOf(events.ServiceID{Namespace: w.namespace, Name: name}), services[name]); err != nil {
				wrong = append(wrong, fmt.Errorf("read %s: %s: %w", file.Name, name, err))
			}
			w.services[name], from[name] = services[name], file.Name
		}
	}
	return errors.Join(wrong...)
}

// refused returns an error that lists the Compose keys that Rookery does not support, unless --lenient skips them.
func (w wish) refused(lenient bool) error {
	if w.project == nil || lenient || len(w.project.Refused) == 0 {
		return nil
	}
	wrong := make([]error, 0, len(w.project.Refused)+1)
	for _, i := range w.project.Refused {
		wrong = append(wrong, errors.New(i.String()))
	}
	return errors.Join(append(wrong, fmt.Errorf("nothing was done: Rookery does not support %d keys of the files; --lenient skips "+
		"them", len(wrong)))...)
}
