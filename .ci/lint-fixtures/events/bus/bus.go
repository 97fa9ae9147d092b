// Package bus does what only an impure package may, and is not reported.
package bus

import (
	"log/slog"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Name gives importers something to use.
const Name = jetstream.Name

// Wait sleeps outside of a test.
func Wait() {
	slog.Info("waiting", "since", time.Now())
	time.Sleep(time.Millisecond)
}
