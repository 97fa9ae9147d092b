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

// stopTimeout is how long the last figures may take on their way out.
const stopTimeout = 5 * time.Second

// house is what the names of parts are below.
const house = "github.com/rookery-project/rookery/"

// Process is what tells the process from others.
type Process struct {
	// Service is what it is, as in rookery-node, and Instance which one of these.
	Service, Instance string
	Log               *slog.Logger
}

// Telemetry is what a process tells of itself.
type Telemetry struct {
	meters *sdk.MeterProvider       // nil where nothing is measured
	traces *sdktrace.TracerProvider // nil where nothing is traced
	logs   *sdklog.LoggerProvider   // nil where no log line is told
	served *served                  // nil where nobody can ask
	log    *slog.Logger
}

// Start has the process tell of itself: to Prometheus at the address listen, unless it is "", and to whom the OTEL_* variables name.
func Start(ctx context.Context, p Process, listen string) (*Telemetry, error) {
	t := &Telemetry{log: p.Log}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		p.Log.Warn("telemetry was not told", "error", err, "advice", "see whether the collector runs that the OTEL_* variables name")
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

// measure has metrics be told.
func (t *Telemetry) measure(ctx context.Context, about *resource.Resource, listen string) error {
	var readers []sdk.Option
	if pushes(os.Getenv, "METRICS") {
		reader, err := autoexport.NewMetricReader(ctx)
		if err != nil {
			return fmt.Errorf("OTEL_METRICS_EXPORTER and its like: %w", err)
		}
		readers = append(readers, sdk.WithReader(reader))
	}
	var err error
	if listen != "" {
		if t.served, err = serve(listen, t.log); err != nil {
			err = fmt.Errorf("--metrics %s: %w: give an address of this machine that is free, as in 127.0.0.1:9464", listen, err)
		} else {
			readers = append(readers, sdk.WithReader(t.served.reader))
		}
	}
	if len(readers) > 0 { // also after an error: what was made is ended with the rest
		t.meters = sdk.NewMeterProvider(append(readers, sdk.WithResource(about))...)
		err = errors.Join(err, runtime.Start(runtime.WithMeterProvider(t.meters)))
	}
	return err
}

// trace has spans be told.
func (t *Telemetry) trace(ctx context.Context, about *resource.Resource) error {
	if !pushes(os.Getenv, "TRACES") {
		return nil
	}
	exporter, err := autoexport.NewSpanExporter(ctx)
	if err != nil {
		return fmt.Errorf("OTEL_TRACES_EXPORTER and its like: %w", err)
	}
	t.traces = sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about))
	return nil
}

// pushes reports whether the variables ask for an exporter of a signal, as in METRICS. By the standard all would be sent to a collector
// on this machine where they say nothing; a part that nobody told of one calls nobody.
func pushes(getenv func(string) string, signal string) bool {
	asks := func(name string) bool { return getenv(name) != "" }
	return !strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") && slices.ContainsFunc([]string{
		"OTEL_" + signal + "_EXPORTER", "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_" + signal + "_ENDPOINT",
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
	if t.meters == nil {
		return nil
	}
	return t.meters.Meter(house + part)
}

// Tracer begins the spans of one part; nil where nobody is told of them.
func (t *Telemetry) Tracer(part string) trace.Tracer {
	if t.traces == nil {
		return nil
	}
	return t.traces.Tracer(house + part)
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
	err := t.served.stop()
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	var ending errgroup.Group // none has to wait for another that nobody takes
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
		t.log.Warn("the last of the telemetry was not told", "error", err)
	}
}
