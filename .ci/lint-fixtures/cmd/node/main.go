// Command node only has the name of a pure package in its path; it may see the
// world, and both sides.
package main

import (
	"log/slog"
	"os"
	"time"

	"go.opentelemetry.io/otel/sdk/metric"

	"github.com/rookery-project/rookery/coordinator/schedule"
	"github.com/rookery-project/rookery/node/plan"
)

func main() {
	slog.Info("started", "at", time.Now(), "args", os.Args, "names", schedule.Name+plan.Name+metric.Name)
}
