// Package screens says what an operator sees and is called for: five screens for Grafana and the alert rules for Prometheus.
//
// A screen is panels, a panel is a question in people's words and the queries that answer it. The files are made from them and checked
// in; a test fails when they are not what is said here:
//
//	fleet, service, operations, coordinator, node → Grafana's JSON
//	alerts                                        → Prometheus's rules
//
// The package asks for metrics by the names that Prometheus has for them. It neither measures nor runs anything.
package screens
