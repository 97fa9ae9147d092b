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
	"go.opentelemetry.io/contrib/instrumentation/runtime"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/errgroup"
)

// stopTimeout bounds the export of the last data when the process ends.
const stopTimeout = 5 * time.Second

// house is the prefix of the names of instrumented packages.
const module = "github.com/rookery-project/rookery/"

// Process identifies the process.
type Process struct {
	// Service is the kind of process, as in rookery-node, and Instance is its unique name.
	Service, Instance string
	Log               *slog.Logger
}

// Telemetry exports the data of one process.
type Telemetry struct {
	meters *sdk.MeterProvider       // nil without metrics
	traces *sdktrace.TracerProvider // nil without traces
	logs   *sdklog.LoggerProvider   // nil without an export of logs
	served *served                  // nil without an address for Prometheus
	log    *slog.Logger
}

// Start begins to export: to Prometheus at the address listen, unless it is "", and to the collector that the OTEL_* variables name.
func Start(ctx context.Context, p Process, listen string) (*Telemetry, error) {
	t := &Telemetry{log: p.Log}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		p.Log.Warn("telemetry was not exported", "error", err, "advice", "check that the collector in the OTEL_* variables runs")
	}))
	about, err := p.resource(ctx)
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	if err := errors.Join(t.measure(ctx, about, listen), t.trace(ctx, about), t.copyLog(ctx, about)); err != nil {
		t.Stop()
		return nil, err
	}
	return t, nil
}

// measure starts the export of metrics.
func (t *Telemetry) measure(ctx context.Context, about *resource.Resource, listen string) error {
	var readers []sdk.Option
	if pushes(os.Getenv, "METRICS") {
		reader, err := autoexport.NewMetricReader(ctx)
		if err != nil {
			return fmt.Errorf("read the OTEL_* variables for metrics: %w", err)
		}
		readers = append(readers, sdk.WithReader(reader))
	}
	var err error
	if listen != "" {
		if t.served, err = serve(listen, t.log); err != nil {
			err = fmt.Errorf("--metrics %s: %w: give a free address of this machine, as in 127.0.0.1:9464", listen, err)
		} else {
			readers = append(readers, sdk.WithReader(t.served.reader))
		}
	}
	if len(readers) > 0 { // after an error too, so that Stop ends all readers
		t.meters = sdk.NewMeterProvider(append(readers, sdk.WithResource(about))...)
		err = errors.Join(err, runtime.Start(runtime.WithMeterProvider(t.meters)))
	}
	return err
}

// trace starts the export of spans.
func (t *Telemetry) trace(ctx context.Context, about *resource.Resource) error {
	if !pushes(os.Getenv, "TRACES") {
		return nil
	}
	exporter, err := autoexport.NewSpanExporter(ctx)
	if err != nil {
		return fmt.Errorf("read the OTEL_* variables for traces: %w", err)
	}
	t.traces = sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about))
	return nil
}

// pushes reports whether the variables ask for an exporter of a signal, as in METRICS. Without variables the standard would send all
// signals to a collector on this machine. Rookery deviates from it: without variables it opens no connection.
func pushes(getenv func(string) string, signal string) bool {
	asks := func(name string) bool { return getenv(name) != "" }
	return !strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") && slices.ContainsFunc([]string{
		"OTEL_" + signal + "_EXPORTER", "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_" + signal + "_ENDPOINT",
	}, asks)
}

// resource returns the attributes of the process that accompany all its data. Attributes from the variables take precedence.
func (p Process) resource(ctx context.Context) (*resource.Resource, error) {
	return resource.New(ctx,
		resource.WithTelemetrySDK(),
		resource.WithAttributes(
			semconv.ServiceName(p.Service), semconv.ServiceInstanceID(p.Instance), semconv.ServiceVersion(Version()),
		),
		resource.WithFromEnv(),
	)
}

// Version returns the version of the program from its build.
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return "unknown"
}

// Commit returns the commit that the program was built of, and its time as in RFC 3339; both are empty if the build did not know them.
func Commit() (commit, at string) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "", ""
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			commit = s.Value
		case "vcs.time":
			at = s.Value
		}
	}
	return commit, at
}

// Meter makes the instruments of one package; nil without metrics.
func (t *Telemetry) Meter(part string) metric.Meter {
	if t.meters == nil {
		return nil
	}
	return t.meters.Meter(module + part)
}

// Tracer starts the spans of one package; nil without traces.
func (t *Telemetry) Tracer(part string) trace.Tracer {
	if t.traces == nil {
		return nil
	}
	return t.traces.Tracer(module + part)
}

// Address returns the address that serves Prometheus; "" for none.
func (t *Telemetry) Address() string {
	if t.served == nil {
		return ""
	}
	return t.served.address
}

// Stop exports the remaining data and ends all exports.
func (t *Telemetry) Stop() {
	err := t.served.stop()
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	var ending errgroup.Group // concurrent, so that one unreachable collector delays no other
	if t.meters != nil {
		ending.Go(func() error { return t.meters.Shutdown(ctx) })
	}
	if t.traces != nil {
		ending.Go(func() error { return t.traces.Shutdown(ctx) })
	}
	if t.logs != nil {
		ending.Go(func() error { return t.logs.Shutdown(ctx) })
	}
	if err := errors.Join(err, ending.Wait()); err != nil {
		t.log.Warn("the last telemetry was not exported", "error", err)
	}
}
