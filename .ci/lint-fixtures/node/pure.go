// Package node is pure and does not know the coordinator.
package node

import (
	"os" // want: depguard "operating system"
	"time"

	"github.com/containers/podman/v5/pkg/bindings" // want: depguard "only node/podman"

	"github.com/rookery-project/rookery/coordinator/schedule" // want: depguard "meet only in events"
	"github.com/rookery-project/rookery/node/podman"          // want: depguard "do not import impure"
	"github.com/rookery-project/rookery/node/runner"          // want: depguard "do not import impure"
	"github.com/rookery-project/rookery/node/simulated"       // want: depguard "do not import impure"
)

// Uses breaks purity.
func Uses() []any {
	return []any{
		os.Args, bindings.Name, schedule.Name, podman.Name, runner.Name, simulated.Name,
		time.Now(), // want: forbidigo "own no clock"
	}
}
