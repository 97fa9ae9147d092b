// Package podman is the one place that speaks to Podman.
package podman

import (
	"os"
	"time"

	"github.com/containers/podman/v5/pkg/bindings"
)

// Name gives importers something to use.
const Name = bindings.Name

// Uses is allowed to see the world.
func Uses() []any {
	return []any{os.Args, time.Now()}
}
