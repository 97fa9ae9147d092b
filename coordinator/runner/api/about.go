package api

import (
	"context"
	"strings"

	"github.com/rookery-project/rookery/events/bus"
)

type askedKey struct{}

// within returns the namespace that the answer in progress may be about alone; "" for all.
func within(ctx context.Context) string {
	asked, _ := ctx.Value(askedKey{}).(bus.Asked)
	return asked.Namespace
}

// asker returns who asked for the answer in progress; "" where accounts are off.
func asker(ctx context.Context) string {
	asked, _ := ctx.Value(askedKey{}).(bus.Asked)
	return asked.User
}

// namespaceOf returns the namespace of a service or group, as of demo/web.
func namespaceOf(name string) string {
	namespace, _, _ := strings.Cut(name, "/")
	return namespace
}

// About implements Question.
func (q ListQuestion) About() string { return q.Namespace }

// About implements Question.
func (q AddressesQuestion) About() string { return q.Namespace }

// About implements Question.
func (q MetricsQuestion) About() string { return q.Namespace }

// About implements Question.
func (q CommandQuestion) About() string { return q.Namespace }

// About implements Question.
func (q ExplainQuestion) About() string { return namespaceOf(q.Service) }

// About implements Question.
func (q HistoryQuestion) About() string { return namespaceOf(q.Service) }

// About implements Question.
func (q InstancesQuestion) About() string { return namespaceOf(q.Service) }

// About implements Question.
func (ActualQuestion) About() string { return "" }

// About implements Question.
func (WhatIfQuestion) About() string { return "" }

// About implements Question.
func (q StateQuestion) About() string { return ofServiceAlone(q.Service, q.Node) }

// About implements Question.
func (q DiffQuestion) About() string { return ofServiceAlone(q.Service, q.Node) }

// ofServiceAlone returns the namespace of a service that is shown without a node.
func ofServiceAlone(service, node string) string {
	if node != "" {
		return ""
	}
	return namespaceOf(service)
}

// About implements Question.
func (q PlanQuestion) About() string {
	switch {
	case q.Node != "":
		return ""
	case q.Group != "":
		return namespaceOf(q.Group)
	}
	return q.Namespace
}
