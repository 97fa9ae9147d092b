// Package jetstream stands in for the real one, which the fixtures only name.
package jetstream

// Name gives importers something to use.
const Name = "jetstream"
