package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/contrib/exporters/autoexport"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
)

// stopTimeout is how long the last figures may take on their way out.
const stopTimeout = 5 * time.Second

// Process is what tells the process from others.
type Process struct {
	// Service is what it is, as in rookery-node, and Instance which one of these.
	Service, Instance string
	Log               *slog.Logger
}

// Telemetry is what a process tells of itself.
type Telemetry struct {
	provider *sdk.MeterProvider // nil where nothing is told
	served   *served            // nil where nobody can ask
	log      *slog.Logger
}

// Start has the process tell of itself: to Prometheus at the address listen, unless it is "", and to whom the OTEL_* variables name.
func Start(ctx context.Context, p Process, listen string) (*Telemetry, error) {
	t := &Telemetry{log: p.Log}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		p.Log.Warn("telemetry was not told", "error", err, "advice", "see whether the collector runs that the OTEL_* variables name")
	}))
	var readers []sdk.Option
	if pushes(os.Getenv) {
		reader, err := autoexport.NewMetricReader(ctx)
		if err != nil {
			return nil, fmt.Errorf("OTEL_METRICS_EXPORTER and its like: %w", err)
		}
		readers = append(readers, sdk.WithReader(reader))
	}
	if listen != "" {
		served, err := serve(listen, p.Log)
		if err != nil {
			return nil, fmt.Errorf("--metrics %s: %w", listen, err)
		}
		t.served = served
		readers = append(readers, sdk.WithReader(served.reader))
	}
	if len(readers) == 0 {
		return t, nil
	}
	about, err := p.resource(ctx)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err), t.served.stop())
	}
	t.provider = sdk.NewMeterProvider(append(readers, sdk.WithResource(about))...)
	return t, nil
}

// pushes reports whether the variables ask for an exporter of metrics. By the standard all would be sent to a collector on this
// machine where they say nothing; a part that nobody told of one calls nobody.
func pushes(getenv func(string) string) bool {
	asks := func(name string) bool { return getenv(name) != "" }
	return !strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") && slices.ContainsFunc([]string{
		"OTEL_METRICS_EXPORTER", "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
	}, asks)
}

// resource is what is said of the process with all that it tells. What the variables say goes before.
func (p Process) resource(ctx context.Context) (*resource.Resource, error) {
	return resource.New(ctx,
		resource.WithTelemetrySDK(),
		resource.WithAttributes(
			semconv.ServiceName(p.Service), semconv.ServiceInstanceID(p.Instance), semconv.ServiceVersion(version()),
		),
		resource.WithFromEnv(),
	)
}

// version is that of the program, as it was built.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return "unknown"
}

// Meter makes the instruments of one part; nil where nothing is told.
func (t *Telemetry) Meter(part string) metric.Meter {
	if t.provider == nil {
		return nil
	}
	return t.provider.Meter("github.com/rookery-project/rookery/" + part)
}

// Address is where Prometheus may ask; "" for nowhere.
func (t *Telemetry) Address() string {
	if t.served == nil {
		return ""
	}
	return t.served.address
}

// Stop tells what is not told yet, and ends.
func (t *Telemetry) Stop() {
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	err := t.served.stop()
	if t.provider != nil {
		err = errors.Join(err, t.provider.Shutdown(ctx))
	}
	if err != nil {
		t.log.Warn("the last of the telemetry was not told", "error", err)
	}
}
