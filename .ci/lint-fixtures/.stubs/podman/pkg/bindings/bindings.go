// Package bindings stands in for the real one, which the fixtures only name.
package bindings

// Name gives importers something to use.
const Name = "podman"
