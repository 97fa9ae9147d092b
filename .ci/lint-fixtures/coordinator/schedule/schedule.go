// Package schedule keeps all laws.
package schedule

// Name gives importers something to use.
const Name = "schedule"
