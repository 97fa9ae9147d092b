// Package runner is impure and may see the world.
package runner

import (
	"os"
	"time"
)

// Name gives importers something to use.
const Name = "runner"

// Uses is allowed to see the world.
func Uses() []any {
	return []any{os.Args, time.Now()}
}
