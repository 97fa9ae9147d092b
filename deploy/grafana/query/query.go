// Package query turns a query of a screen into one that Prometheus understands, as Grafana does before it sends the query.
//
// Grafana has macros and variables inside of queries: $__rate_interval, $__range, $service. The programs that check or run the queries of
// the generated files put values in their place:
//
//	file → expr → Expand(expr, vars) → Prometheus
//
// The package does not interpret the query itself.
package query

import "regexp"

// variable is how Grafana writes one: $name or ${name}, the latter also with a format, as in ${name:regex}.
var variable = regexp.MustCompile(`\$(?:\{(\w+)(?::\w+)?\}|(\w+))`)

// Expand replaces variables and macros by their values, which vars holds by name without the $. A variable without a value stays as it is,
// and Prometheus refuses the query.
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
