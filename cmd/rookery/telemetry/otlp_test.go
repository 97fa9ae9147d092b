package telemetry_test

import (
	"context"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
	otlp "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	"google.golang.org/grpc"

	"github.com/rookery-project/rookery/cmd/rookery/telemetry"
	"github.com/rookery-project/rookery/cmd/rookerytest"
	"github.com/rookery-project/rookery/cmd/rookerytest/collector"
	"github.com/rookery-project/rookery/events"
)

// collected starts a collector, and a process that exports to it by the variables.
func collected(t *testing.T, log *slog.Logger) (*collector.Collector, *telemetry.Telemetry) {
	t.Helper()
	forget(t)
	r := collector.Start(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", r.URL)
	t.Setenv("OTEL_METRIC_EXPORT_INTERVAL", "200")
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "100")
	t.Setenv("OTEL_BLRP_SCHEDULE_DELAY", "100")
	t.Setenv("OTEL_SERVICE_NAME", "by-the-variables")
	told, err := telemetry.Start(t.Context(), telemetry.Process{Service: "rookery-test", Instance: "one", Log: log}, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(told.Stop)
	return r, told
}

// TestACollectorIsToldByOTLP runs a cluster that exports to the collector in the standard variables.
func TestACollectorIsToldByOTLP(t *testing.T) {
	r, told := collected(t, silent.Log)
	cluster := rookerytest.Start(t, rookerytest.WithNodes(1), rookerytest.WithMetrics(func(part string) metric.Meter { return told.Meter(part) }))
	cluster.Ensure("demo/web", `{"image":"localhost/web:1","scale":2}`)
	all := r.Until(func(told collector.Told) (missing []string) {
		for _, name := range []string{
			"rookery.coordinator.rounds", "rookery.placements", "rookery.service.online", "rookery.engine.call.duration", "rookery.node.containers",
		} {
			if !told.Metrics[collector.Metric{Service: "by-the-variables", Name: name}] {
				missing = append(missing, name)
			}
		}
		return missing
	})
	readme, err := os.ReadFile("../../../deploy/grafana/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for m := range all.Metrics {
		if !strings.Contains(string(readme), "`"+m.Name+"`") {
			t.Errorf("the tables of the README do not have %s", m.Name)
		}
	}
}

// byGRPC is a collector that takes metrics by gRPC.
type byGRPC struct {
	otlp.UnimplementedMetricsServiceServer
	heard chan struct{}
}

// Export receives metrics.
func (r *byGRPC) Export(context.Context, *otlp.ExportMetricsServiceRequest) (*otlp.ExportMetricsServiceResponse, error) {
	select {
	case r.heard <- struct{}{}:
	default: // not the first export
	}
	return &otlp.ExportMetricsServiceResponse{}, nil
}

// TestACollectorIsToldByGRPC sets the variables to gRPC instead of HTTP.
func TestACollectorIsToldByGRPC(t *testing.T) {
	forget(t)
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server, r := grpc.NewServer(), &byGRPC{heard: make(chan struct{}, 1)}
	otlp.RegisterMetricsServiceServer(server, r)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Setenv("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://"+listener.Addr().String())
	t.Setenv("OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", "grpc")
	told := start(t, "")
	if told.Tracer("node/runner") != nil {
		t.Error("it traces, but the variables name a collector for metrics only")
	}
	count, err := told.Meter("node/runner").Int64Counter("rookery.test")
	if err != nil {
		t.Fatal(err)
	}
	count.Add(t.Context(), 1)
	told.Stop() // exports the remaining data
	select {
	case <-r.heard:
	case <-time.After(10 * time.Second):
		t.Error("the collector has received nothing")
	}
}

// TestOneTraceHoldsTheWholePath publishes a command within a trace. The trace must contain the rounds, the node's steps and its
// statuses.
func TestOneTraceHoldsTheWholePath(t *testing.T) {
	const id = "4bf92f3577b34da6a3ce929d0e0e4736"
	r, told := collected(t, silent.Log)
	cluster := rookerytest.Start(t, rookerytest.WithNodes(1), rookerytest.WithTraces(func(part string) trace.Tracer { return told.Tracer(part) }))
	cluster.Ensure("demo/untraced", `{"image":"localhost/web:1"}`)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, err := cluster.Bus().Publish(ctx, events.Message{
		Subject: "rookery.cmd.service.demo.web.ensure", Body: []byte(`{"image":"localhost/web:1"}`),
		Header: events.Header{"traceparent": {"00-" + id + "-00f067aa0ba902b7-01"}},
	}); err != nil {
		t.Fatal(err)
	}
	all := r.Until(func(told collector.Told) (missing []string) {
		for _, name := range []string{"rookery round", "rookery prepare", "rookery start", "rookery status"} {
			if !slices.ContainsFunc(told.Spans, func(s collector.Span) bool { return s.Trace == id && s.Name == name }) {
				missing = append(missing, name)
			}
		}
		return missing
	})
	for _, s := range all.Spans {
		if s.Trace != id {
			t.Errorf("an untraced command is in a trace: %+v", s)
		}
	}
}

// TestLogLinesHaveTheirTrace logs within a trace. Both the process's own log and the collector must have the line with the trace's id.
func TestLogLinesHaveTheirTrace(t *testing.T) {
	var own strings.Builder
	r, told := collected(t, slog.New(slog.NewTextHandler(&own, nil)))
	ctx, span := told.Tracer("node/runner").Start(t.Context(), "a step")
	log := told.Log().With("part", "node")
	log.DebugContext(ctx, "for debugging")
	log.WarnContext(ctx, "a step failed")
	span.End()
	told.Stop()
	want := span.SpanContext().TraceID().String()
	if !strings.Contains(own.String(), "trace_id="+want) || strings.Contains(own.String(), "debugging") {
		t.Errorf("the log is %q, without the trace %s", own.String(), want)
	}
	if lines := r.Told().Lines; len(lines) != 1 || lines[0].Text != "a step failed" || lines[0].Trace != want {
		t.Errorf("the collector was told %v, want one line of trace %s", lines, want)
	}
}
