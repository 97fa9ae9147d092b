// Package query makes of a query as it stands on a screen one that Prometheus understands, as Grafana does before it asks.
//
// Grafana has macros and variables inside of queries: $__rate_interval, $__range, $service. Who checks or runs the queries of the
// generated files puts values in their place:
//
//	file → expr → Expand(expr, vars) → Prometheus
//
// The package knows nothing of what a query asks.
package query

import "regexp"

// variable is how Grafana writes one: $name or ${name}, the latter also with a format, as in ${name:regex}.
var variable = regexp.MustCompile(`\$(?:\{(\w+)(?::\w+)?\}|(\w+))`)

// Expand puts the values in the place of variables and macros, by their names without the $. What has no value stays as it is, and
// Prometheus refuses it.
func Expand(expr string, vars map[string]string) string {
	return variable.ReplaceAllStringFunc(expr, func(found string) string {
		parts := variable.FindStringSubmatch(found)
		if value, known := vars[parts[1]+parts[2]]; known {
			return value
		}
		return found
	})
}

// Everything returns the values that show all there is: each variable of a screen as when "All" is chosen, and macros as for the last
// hour with a scrape every 15 seconds.
func Everything() map[string]string {
	return map[string]string{
		"__rate_interval": "1m", "__interval": "15s", "__range": "1h",
		"namespace": ".*", "service": ".*", "node": ".*",
	}
}
