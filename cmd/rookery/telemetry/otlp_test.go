package telemetry_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
	logcollector "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	collector "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	tracecollector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/rookery-project/rookery/cmd/rookery/telemetry"
	"github.com/rookery-project/rookery/cmd/rookerytest"
	"github.com/rookery-project/rookery/events"
)

// receiver is a collector that takes metrics, traces and logs by OTLP over HTTP.
type receiver struct {
	*httptest.Server
	mu sync.Mutex
	// metrics are names, with the service that told them; spans are names by trace; lines are log lines with theirs.
	metrics map[string]string
	spans   map[string]map[string]bool
	lines   map[string]string
	bad     error
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{metrics: map[string]string{}, spans: map[string]map[string]bool{}, lines: map[string]string{}}
	r.Server = httptest.NewServer(http.HandlerFunc(r.take))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) take(w http.ResponseWriter, ask *http.Request) {
	body, err := io.ReadAll(ask.Body)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		switch ask.URL.Path {
		case "/v1/metrics":
			err = r.takeMetrics(body)
		case "/v1/traces":
			err = r.takeSpans(body)
		case "/v1/logs":
			err = r.takeLines(body)
		default:
			err = fmt.Errorf("nobody sends to %s", ask.URL.Path)
		}
	}
	if err != nil {
		r.bad = err
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

func (r *receiver) takeMetrics(body []byte) error {
	var told collector.ExportMetricsServiceRequest
	err := proto.Unmarshal(body, &told)
	for _, resource := range told.GetResourceMetrics() {
		service := ""
		for _, a := range resource.GetResource().GetAttributes() {
			if a.GetKey() == "service.name" {
				service = a.GetValue().GetStringValue()
			}
		}
		for _, scope := range resource.GetScopeMetrics() {
			for _, m := range scope.GetMetrics() {
				r.metrics[m.GetName()] = service
			}
		}
	}
	return err
}

func (r *receiver) takeSpans(body []byte) error {
	var told tracecollector.ExportTraceServiceRequest
	err := proto.Unmarshal(body, &told)
	for _, resource := range told.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			for _, span := range scope.GetSpans() {
				id := fmt.Sprintf("%x", span.GetTraceId())
				if r.spans[id] == nil {
					r.spans[id] = map[string]bool{}
				}
				r.spans[id][span.GetName()] = true
			}
		}
	}
	return err
}

func (r *receiver) takeLines(body []byte) error {
	var told logcollector.ExportLogsServiceRequest
	err := proto.Unmarshal(body, &told)
	for _, resource := range told.GetResourceLogs() {
		for _, scope := range resource.GetScopeLogs() {
			for _, line := range scope.GetLogRecords() {
				r.lines[line.GetBody().GetStringValue()] = fmt.Sprintf("%x", line.GetTraceId())
			}
		}
	}
	return err
}

// has reports whether something was told, and fails the test where what was told could not be read.
func (r *receiver) has(t *testing.T, something func() bool) func() bool {
	return func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.bad != nil {
			t.Fatal(r.bad)
		}
		return something()
	}
}

// collected has a process that tells a collector all that it does, as the variables say.
func collected(t *testing.T, log *slog.Logger) (*receiver, *telemetry.Telemetry) {
	t.Helper()
	forget(t)
	r := newReceiver(t)
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

// TestACollectorIsToldByOTLP has the standard variables name a collector, and a cluster tell it what happens.
func TestACollectorIsToldByOTLP(t *testing.T) {
	r, told := collected(t, silent.Log)
	cluster := rookerytest.Start(t, rookerytest.WithNodes(1), rookerytest.WithMetrics(func(part string) metric.Meter { return told.Meter(part) }))
	cluster.Ensure("demo/web", `{"image":"localhost/web:1","scale":2}`)
	for _, name := range []string{
		"rookery.coordinator.rounds", "rookery.placements", "rookery.service.online", "rookery.engine.call.duration", "rookery.node.containers",
	} {
		cluster.Until("the collector has heard of "+name, r.has(t, func() bool { return r.metrics[name] == "by-the-variables" }))
	}
	readme, err := os.ReadFile("../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for name := range r.metrics {
		if !strings.Contains(string(readme), "`"+name+"`") {
			t.Errorf("the tables of the README do not have %s", name)
		}
	}
}

// byGRPC is a collector that takes metrics by gRPC.
type byGRPC struct {
	collector.UnimplementedMetricsServiceServer
	heard chan struct{}
}

// Export takes what is told.
func (r *byGRPC) Export(context.Context, *collector.ExportMetricsServiceRequest) (*collector.ExportMetricsServiceResponse, error) {
	select {
	case r.heard <- struct{}{}:
	default: // it was heard of before
	}
	return &collector.ExportMetricsServiceResponse{}, nil
}

// TestACollectorIsToldByGRPC has the variables ask for the other protocol.
func TestACollectorIsToldByGRPC(t *testing.T) {
	forget(t)
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server, r := grpc.NewServer(), &byGRPC{heard: make(chan struct{}, 1)}
	collector.RegisterMetricsServiceServer(server, r)
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
		t.Error("it traces, and the variables name who is told of metrics alone")
	}
	count, err := told.Meter("node/runner").Int64Counter("rookery.test")
	if err != nil {
		t.Fatal(err)
	}
	count.Add(t.Context(), 1)
	told.Stop() // it tells what is not told yet
	select {
	case <-r.heard:
	case <-time.After(10 * time.Second):
		t.Error("the collector has heard of nothing")
	}
}

// TestOneTraceHoldsTheWholePath publishes a command within a trace, and holds that trace to have the rounds, what a node did and
// what it said of that.
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
	for _, name := range []string{"rookery round", "rookery prepare", "rookery start", "rookery status"} {
		cluster.Until("the trace has "+name, r.has(t, func() bool { return r.spans[id][name] }))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.spans) != 1 {
		t.Errorf("a command that nobody traces is in %d traces: %v", len(r.spans)-1, r.spans)
	}
}

// TestLogLinesHaveTheirTrace logs within a trace, and holds both the process's own log and the collector to have the line with it.
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
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, told := r.lines["for debugging"]; told || r.lines["a step failed"] != want || r.bad != nil {
		t.Errorf("the collector was told %v, want one line of trace %s: %v", r.lines, want, r.bad)
	}
}
