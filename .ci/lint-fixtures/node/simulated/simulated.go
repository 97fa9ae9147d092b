// Package simulated is impure and may see the world.
package simulated

import (
	"os"
	"time"
)

// Name gives importers something to use.
const Name = "simulated"

// Uses is allowed to see the world.
func Uses() []any {
	return []any{os.Args, time.Now()}
}
