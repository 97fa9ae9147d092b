// Package runner is the impure side of the coordinator; it still does not know
// the node.
package runner

import (
	"os"
	"time"

	"go.opentelemetry.io/otel/metric"
	sdk "go.opentelemetry.io/otel/sdk/metric" // want: depguard "wired in cmd alone"

	"github.com/rookery-project/rookery/node/plan" // want: depguard "meet only in events"
)

// Name gives importers something to use.
const Name = "runner" + plan.Name

// Uses is allowed to see the world.
func Uses() []any {
	return []any{os.Args, metric.Name, sdk.Name, time.Now()}
}
