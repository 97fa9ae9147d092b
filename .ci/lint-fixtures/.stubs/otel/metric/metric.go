// Package metric is a hollow stand-in.
package metric

// Name gives importers something to use.
const Name = "metric"
