// Package collector is an OpenTelemetry collector for tests. Processes send it metrics, traces and logs by OTLP over HTTP, and a test waits
// until the collector has what the test looks for.
package collector

import (
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	logs "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	metrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	traces "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"
	"google.golang.org/protobuf/proto"
)

// patience bounds every wait of a test.
const patience = 60 * time.Second

// Metric is a metric of a service, as in rookery-node.
type Metric struct{ Service, Name string }

// Span is one span that has ended. Its ids are in hexadecimal digits, and Parent is "" for a root.
type Span struct {
	Service, Name     string
	Trace, ID, Parent string
	// Path is the path of the request that the span is about, and Events are the names of its events.
	Path   string
	Events []string
}

// Line is a line of a log, with the id of its trace, or "".
type Line struct{ Service, Trace, Text string }

// Told is all telemetry so far.
type Told struct {
	Metrics map[Metric]bool
	Spans   []Span
	Lines   []Line
}

// Collector receives telemetry at URL until the test ends.
type Collector struct {
	URL string

	t    testing.TB
	mu   sync.Mutex
	told Told
	bad  error
	more chan struct{} // closed when more is told
}

// Start starts a collector that listens until the test ends.
func Start(t testing.TB) *Collector {
	t.Helper()
	c := &Collector{t: t, told: Told{Metrics: map[Metric]bool{}}, more: make(chan struct{})}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	c.URL = server.URL
	return c
}

// ServeHTTP implements http.Handler.
func (c *Collector) ServeHTTP(w http.ResponseWriter, ask *http.Request) {
	body, err := io.ReadAll(ask.Body)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		err = c.take(ask.URL.Path, body)
	}
	close(c.more)
	c.more = make(chan struct{})
	if err != nil {
		c.bad = err
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

func (c *Collector) take(path string, body []byte) error {
	switch path {
	case "/v1/metrics":
		return c.takeMetrics(body)
	case "/v1/traces":
		return c.takeSpans(body)
	case "/v1/logs":
		return c.takeLines(body)
	}
	return fmt.Errorf("%s is not a path of the collector: want /v1/metrics, /v1/traces or /v1/logs", path)
}

func (c *Collector) takeMetrics(body []byte) error {
	var told metrics.ExportMetricsServiceRequest
	if err := proto.Unmarshal(body, &told); err != nil {
		return err
	}
	for _, of := range told.GetResourceMetrics() {
		for _, scope := range of.GetScopeMetrics() {
			for _, m := range scope.GetMetrics() {
				c.told.Metrics[Metric{serviceOf(of.GetResource()), m.GetName()}] = true
			}
		}
	}
	return nil
}

func (c *Collector) takeSpans(body []byte) error {
	var told traces.ExportTraceServiceRequest
	if err := proto.Unmarshal(body, &told); err != nil {
		return err
	}
	for _, of := range told.GetResourceSpans() {
		for _, scope := range of.GetScopeSpans() {
			for _, span := range scope.GetSpans() {
				s := Span{
					Service: serviceOf(of.GetResource()), Name: span.GetName(), Path: text(span.GetAttributes(), "url.path"),
					Trace: hex.EncodeToString(span.GetTraceId()), ID: hex.EncodeToString(span.GetSpanId()), Parent: hex.EncodeToString(span.GetParentSpanId()),
				}
				for _, e := range span.GetEvents() {
					s.Events = append(s.Events, e.GetName())
				}
				c.told.Spans = append(c.told.Spans, s)
			}
		}
	}
	return nil
}

func (c *Collector) takeLines(body []byte) error {
	var told logs.ExportLogsServiceRequest
	if err := proto.Unmarshal(body, &told); err != nil {
		return err
	}
	for _, of := range told.GetResourceLogs() {
		for _, scope := range of.GetScopeLogs() {
			for _, line := range scope.GetLogRecords() {
				c.told.Lines = append(c.told.Lines, Line{
					Service: serviceOf(of.GetResource()), Trace: hex.EncodeToString(line.GetTraceId()), Text: line.GetBody().GetStringValue(),
				})
			}
		}
	}
	return nil
}

func serviceOf(r *resource.Resource) string { return text(r.GetAttributes(), "service.name") }

// text is the value of a text attribute, or "".
func text(attributes []*common.KeyValue, key string) string {
	for _, a := range attributes {
		if a.GetKey() == key {
			return a.GetValue().GetStringValue()
		}
	}
	return ""
}

// Told returns all telemetry so far. It fails the test if the collector could not read some of it.
func (c *Collector) Told() Told {
	c.t.Helper()
	told, _ := c.look()
	return told
}

// look returns all telemetry so far, and a channel that is closed when more comes.
func (c *Collector) look() (Told, <-chan struct{}) {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bad != nil {
		c.t.Fatalf("the collector was told what it cannot read: %v", c.bad)
	}
	return Told{Metrics: maps.Clone(c.told.Metrics), Spans: slices.Clone(c.told.Spans), Lines: slices.Clone(c.told.Lines)}, c.more
}

// Until waits until nothing is missing, and returns all telemetry so far. It fails the test if that takes too long.
func (c *Collector) Until(missing func(Told) []string) Told {
	c.t.Helper()
	deadline := time.After(patience)
	for {
		told, more := c.look()
		without := missing(told)
		if len(without) == 0 {
			return told
		}
		select {
		case <-more:
		case <-deadline:
			c.t.Fatalf("within %s the collector was not told of %s", patience, strings.Join(without, "; "))
		}
	}
}
