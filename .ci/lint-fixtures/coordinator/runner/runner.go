// Package runner is the impure side of the coordinator; it still does not know
// the node.
package runner

import (
	"os"
	"time"

	"github.com/rookery-project/rookery/node/plan" // want: depguard "meet only in events"
)

// Name gives importers something to use.
const Name = "runner" + plan.Name

// Uses is allowed to see the world.
func Uses() []any {
	return []any{os.Args, time.Now()}
}
