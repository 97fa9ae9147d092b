// Package screens defines what an operator sees, and when an operator is alerted: five screens for Grafana and the alert rules for
// Prometheus.
//
// A screen consists of panels. A panel is a question in the words of operators and the queries that answer it. The files are generated from
// this package and checked in; a test fails when they differ from it:
//
//	fleet, service, operations, coordinator, node → Grafana's JSON
//	alerts                                        → Prometheus's rules
//
// The package uses the names that the metrics have in Prometheus. It neither measures nor runs anything.
package screens
