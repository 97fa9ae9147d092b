// Package views is impure, yet only the bus speaks JetStream.
package views

import (
	"os"
	"time"

	"github.com/containers/podman/v5/pkg/bindings" // want: depguard "only node/podman"
	"github.com/nats-io/nats.go/jetstream"         // want: depguard "only events/bus"
)

// Name gives importers something to use.
const Name = jetstream.Name + bindings.Name

// Uses is allowed to see the world.
func Uses() []any {
	return []any{os.Args, time.Now()}
}
