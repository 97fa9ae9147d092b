package telemetry_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"go.opentelemetry.io/otel/metric"

	"github.com/rookery-project/rookery/cmd/rookery/telemetry"
	"github.com/rookery-project/rookery/cmd/rookerytest"
	"github.com/rookery-project/rookery/coordinator/runner/api"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
	"github.com/rookery-project/rookery/node/simulated"
)

// silent is a process that discards its log.
var silent = telemetry.Process{Service: "rookery-test", Instance: "one", Log: slog.New(slog.DiscardHandler)}

// forget clears all OpenTelemetry variables for the test.
func forget(t *testing.T) {
	t.Helper()
	for _, name := range []string{
		"OTEL_METRICS_EXPORTER", "OTEL_TRACES_EXPORTER", "OTEL_LOGS_EXPORTER", "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "OTEL_SDK_DISABLED",
		"OTEL_SERVICE_NAME", "OTEL_RESOURCE_ATTRIBUTES",
	} {
		t.Setenv(name, "")
	}
}

func start(t *testing.T, listen string) *telemetry.Telemetry {
	t.Helper()
	told, err := telemetry.Start(t.Context(), silent, listen)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(told.Stop)
	return told
}

// TestNothingIsToldWhereNobodyAsked checks that a process without an address and without variables has no instruments.
func TestNothingIsToldWhereNobodyAsked(t *testing.T) {
	forget(t)
	told := start(t, "")
	if told.Meter("node/runner") != nil || told.Tracer("node/runner") != nil || told.Address() != "" {
		t.Errorf("it measures, traces, or listens at %q, without any setting for it", told.Address())
	}
}

// TestDisabledIsDisabled checks that OTEL_SDK_DISABLED works.
func TestDisabledIsDisabled(t *testing.T) {
	forget(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
	t.Setenv("OTEL_SDK_DISABLED", "true")
	if start(t, "").Meter("node/runner") != nil {
		t.Error("OTEL_SDK_DISABLED=true did not switch it off")
	}
}

func TestAnAddressThatIsTakenIsRefused(t *testing.T) {
	forget(t)
	first := start(t, "127.0.0.1:0")
	if _, err := telemetry.Start(t.Context(), silent, first.Address()); err == nil || !strings.Contains(err.Error(), "--metrics") {
		t.Errorf("two parts listen at %s: %v", first.Address(), err)
	}
}

// families is the metrics that Prometheus finds, by name.
type families map[string]*dto.MetricFamily

// scrape asks as Prometheus does, and reads the answer with its own parser.
func scrape(t *testing.T, address string) families {
	t.Helper()
	ask, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(ask)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("asked for metrics, got %s", answer.Status)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	found, err := parser.TextToMetricFamilies(answer.Body)
	if err != nil {
		t.Fatalf("Prometheus does not understand the answer: %v", err)
	}
	return found
}

// value is that of the one series of the family that has these labels, written as name="value".
func (f families) value(family string, labels ...string) (float64, bool) {
	for _, m := range f[family].GetMetric() {
		has := map[string]bool{}
		for _, l := range m.GetLabel() {
			has[fmt.Sprintf("%s=%q", l.GetName(), l.GetValue())] = true
		}
		if slices.ContainsFunc(labels, func(l string) bool { return !has[l] }) {
			continue
		}
		switch {
		case m.GetCounter() != nil:
			return m.GetCounter().GetValue(), true
		case m.GetHistogram() != nil:
			return float64(m.GetHistogram().GetSampleCount()), true
		}
		return m.GetGauge().GetValue(), true
	}
	return 0, false
}

// expectation is a series that must exist, with at least this value.
type expectation struct {
	family string
	labels []string
	least  float64
}

// afterARun are series of a coordinator and nodes after a service was created, scaled, updated and moved.
var afterARun = []expectation{
	{"rookery_coordinator_rounds_total", nil, 5},
	{"rookery_coordinator_round_inputs", nil, 5},
	{"rookery_coordinator_round_events", nil, 5},
	{"rookery_coordinator_decide_duration_seconds", nil, 5},
	{"rookery_coordinator_append_duration_seconds", nil, 5},
	{"rookery_coordinator_input_age_seconds", []string{`rookery_stream="ROOKERY_COMMANDS"`}, 3},
	{"rookery_coordinator_input_age_seconds", []string{`rookery_stream="ROOKERY_STATUS"`}, 3},
	{"rookery_coordinator_role", []string{`rookery_role="leader"`}, 1},
	{"rookery_coordinator_terms_total", nil, 1},
	{"rookery_fold_sequence", nil, 10},
	{"rookery_placements_total", nil, 5},
	{"rookery_commands_total", []string{`rookery_verb="scale"`, `rookery_outcome="succeeded"`}, 1},
	{"rookery_commands_total", []string{`rookery_verb="scale"`, `rookery_outcome="rejected"`}, 1},
	{"rookery_operations_total", []string{`rookery_operation="update"`, `rookery_outcome="done"`}, 1},
	{"rookery_barrier_duration_seconds", []string{`rookery_phase="start"`}, 1},
	{"rookery_barrier_spread_seconds", []string{`rookery_phase="start"`}, 1},
	{"rookery_scheduling_duration_seconds", []string{`rookery_reached="placed"`}, 5},
	{"rookery_scheduling_duration_seconds", []string{`rookery_reached="online"`}, 5},
	{"rookery_evictions_total", []string{`rookery_reason="drained"`}, 1},
	{"rookery_nodes", []string{`rookery_state="ready"`}, 2},
	{"rookery_nodes", []string{`rookery_state="draining"`}, 1},
	{"rookery_node_state", []string{`rookery_node="node-0"`, `rookery_state="draining"`}, 1},
	{"rookery_nodes_answering", nil, 3},
	{"rookery_pending", []string{`rookery_reason="node-selector"`}, 2},
	{"rookery_service_desired", []string{`rookery_service="web"`, `rookery_namespace="demo"`}, 3},
	{"rookery_service_online", []string{`rookery_service="web"`, `rookery_namespace="demo"`}, 3},
	{"rookery_service_pending", []string{`rookery_service="nowhere"`}, 2},
	{"rookery_coordinator_lag", []string{`rookery_stream="ROOKERY_COMMANDS"`}, 0},
	{"rookery_coordinator_lag_duration_seconds", []string{`rookery_stream="ROOKERY_STATUS"`}, 0},
	{"rookery_node_allocatable_cpu", []string{`rookery_node="node-1"`}, 8},
	{"rookery_node_reserved_memory_bytes", []string{`rookery_node="node-1"`}, 1},
	{"rookery_node_capacity_memory_bytes", []string{`rookery_node="node-1"`}, 1 << 30},
	{"rookery_node_containers", []string{`rookery_node="node-1"`, `rookery_phase="online"`}, 1},
	{"rookery_node_heartbeat_duration_seconds", []string{`rookery_node="node-1"`}, 1},
	{"rookery_node_heartbeat_age_seconds", []string{`rookery_node="node-1"`}, 0},
	{"rookery_node_restarts_total", []string{`rookery_reason="exited"`}, 1},
	{"rookery_engine_call_duration_seconds", []string{`rookery_engine_call="prepare"`}, 5},
	{"rookery_engine_call_duration_seconds", []string{`rookery_engine_call="prepare"`, `error_type="image-pull"`}, 1},
	{"rookery_process_memory_usage_bytes", []string{`rookery_service="web"`}, 64 << 20},
	{"rookery_process_cpu_usage", []string{`rookery_service="web"`}, 0.0001},
	{"rookery_process_network_io_bytes_total", []string{`rookery_service="web"`, `network_io_direction="receive"`}, 10},
	{"rookery_node_used_memory_bytes", nil, 64 << 20},
	{"rookery_stream_messages", []string{`rookery_stream="ROOKERY_LOG"`}, 10},
	{"rookery_stream_size_bytes", []string{`rookery_stream="ROOKERY_LOG"`}, 1000},
	{"rookery_storage_used_bytes", nil, 1000},
	{"rookery_stream_limit_bytes", []string{`rookery_stream="ROOKERY_COMMANDS"`}, 64 << 20},
	{"go_memory_used_bytes", []string{`go_memory_type="stack"`}, 1},
	{"go_memory_used_bytes", []string{`go_memory_type="other"`}, 1},
	{"go_goroutine_count", nil, 1},
	{"target_info", []string{`service_name="rookery-test"`, `service_instance_id="one"`}, 1},
}

// TestPrometheusFindsWhatHappened runs operations in a cluster, and scrapes it as Prometheus does until it finds all series.
func TestPrometheusFindsWhatHappened(t *testing.T) {
	forget(t)
	told := start(t, "127.0.0.1:0")
	cluster := rookerytest.Start(t, rookerytest.WithMetrics(func(part string) metric.Meter { return told.Meter(part) }))
	stop, err := cluster.Bus().Observe(t.Context(), told.Meter("events/bus"))
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	operate(t, cluster)
	spent := time.Duration(0)
	busy := spendAll(cluster, &spent)
	var missing []string
	cluster.Until("Prometheus finds all of it", func() bool {
		busy()
		found := scrape(t, told.Address())
		missing = nil
		for _, e := range afterARun {
			if value, ok := found.value(e.family, e.labels...); !ok || value < e.least {
				missing = append(missing, fmt.Sprintf("%s%v is %v, %v", e.family, e.labels, value, ok))
			}
		}
		if len(missing) > 0 && testing.Verbose() {
			t.Log(missing)
		}
		return len(missing) == 0
	})
	asksForProcesses(t, cluster)
}

// operate creates, scales and updates a service and moves it off a node. Other services fail and wait.
func operate(t *testing.T, cluster *rookerytest.Cluster) {
	t.Helper()
	const spec = `{"image":"localhost/web:%d","scale":%d,"requests":{"cpu":"500m","memory":"64MiB"},"update":{"min_healthy":"10ms","monitor":"0s"}}`
	cluster.Ensure("demo/web", fmt.Sprintf(spec, 1, 2))
	cluster.Command("demo/web", "scale", `{"scale":3}`)
	cluster.Ensure("demo/web", fmt.Sprintf(spec, 2, 3))
	if outcome := cluster.Outcome(cluster.Publish("demo/none", "scale", `{"scale":3}`)); outcome.Outcome != "rejected" {
		t.Fatalf("a service that is not there was scaled: %+v", outcome)
	}
	cluster.Publish("demo/nowhere", "ensure", `{"image":"localhost/web:1","scale":2,"node_selector":{"disk":"tape"}}`)
	for _, engine := range cluster.Nodes {
		engine.Refuse("localhost/missing:1", &node.Failure{Reason: events.OfflineImagePull, Message: "there is none"})
	}
	cluster.Publish("demo/missing", "ensure", `{"image":"localhost/missing:1"}`)
	cluster.Ensure("demo/other", `{"image":"localhost/web:1","scale":6,"restart":{"delay":"100ms"}}`)
	killOne(t, cluster)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, err := cluster.Bus().Publish(ctx, events.Message{Subject: "rookery.cmd.node.node-0.drain", Body: []byte(`{}`)}); err != nil {
		t.Fatal(err)
	}
}

// killOne ends a container of demo/other.
func killOne(t *testing.T, cluster *rookerytest.Cluster) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(cluster.Nodes)) {
		for _, c := range cluster.Nodes[name].Containers() {
			if name != "node-0" && c.Instance.Service.Name == "other" && c.State == node.Running {
				cluster.Nodes[name].Kill(c.Instance, 1)
				return
			}
		}
	}
	t.Fatal("nothing of demo/other runs")
}

// spendAll returns a function that increases the resource usage of all running containers.
func spendAll(cluster *rookerytest.Cluster, spent *time.Duration) func() {
	return func() {
		*spent += 10 * time.Millisecond
		memory, bytes := uint64(64<<20), uint64(*spent/time.Millisecond)
		each(cluster, func(e *simulated.Engine, c node.Container) {
			if c.Instance.Service.Name != "other" {
				total := *spent
				e.Use(c.Instance, node.Stats{CPU: &total, Memory: &memory, Received: &bytes, Sent: &bytes})
			}
		})
	}
}

func each(cluster *rookerytest.Cluster, do func(*simulated.Engine, node.Container)) {
	for _, engine := range cluster.Nodes {
		for _, c := range engine.Containers() {
			do(engine, c)
		}
	}
}

// asksForProcesses checks that the answer about a service lists every process, with null for unknown values.
func asksForProcesses(t *testing.T, cluster *rookerytest.Cluster) {
	t.Helper()
	var web, other, nowhere api.ServiceMetrics
	cluster.Until("all processes of demo/web are measured", func() bool {
		web = api.ServiceMetrics{}
		return cluster.Ask("service-metrics", `{"namespace":"demo","name":"web"}`, &web) && len(web.Processes) == 3 &&
			!slices.ContainsFunc(web.Processes, func(p api.ProcessMetrics) bool {
				return p.MemoryBytes == nil || *p.MemoryBytes != 64<<20 || p.CPUNanoCores == nil || p.DiskBytes != nil || p.Measured == nil
			})
	})
	if !cluster.Ask("service-metrics", `{"namespace":"demo","name":"other"}`, &other) || len(other.Processes) != 6 {
		t.Fatalf("demo/other has %+v", other)
	}
	for _, p := range other.Processes {
		if p.MemoryBytes != nil || p.CPUNanoCores != nil || p.NetworkSentBytes != nil {
			t.Errorf("nothing was measured of process %d of demo/other, and it has %+v", p.Ordinal, p)
		}
	}
	if !cluster.Ask("service-metrics", `{"namespace":"demo","name":"nowhere"}`, &nowhere) || len(nowhere.Processes) != 2 || nowhere.Processes[0].Measured != nil {
		t.Errorf("demo/nowhere, which has no instance, has %+v", nowhere)
	}
	m, err := cluster.Conn.Request(events.APIRoot+".service-metrics", []byte(`{"namespace":"demo","name":"nowhere"}`), 5*time.Second)
	if err != nil || !strings.Contains(string(m.Data), `"cpu_nano_cores":null,"memory_bytes":null,"disk_bytes":null`) {
		t.Errorf("what is missing is not null: %s, %v", m.Data, err)
	}
}
