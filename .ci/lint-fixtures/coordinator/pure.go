// Package coordinator is pure and does not know the node.
package coordinator

import (
	"os" // want: depguard "operating system"
	"time"

	"go.opentelemetry.io/otel/metric" // want: depguard "shells and doors alone"

	"github.com/rookery-project/rookery/coordinator/runner" // want: depguard "do not import impure"
	"github.com/rookery-project/rookery/node/plan"          // want: depguard "meet only in events"
)

// Uses breaks purity.
func Uses() []any {
	return []any{os.Args, runner.Name, plan.Name, metric.Name, time.Now()} // want: forbidigo "own no clock"
}
