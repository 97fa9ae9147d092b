package rookerytest_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rookery-project/rookery/cmd/rookerytest"
	"github.com/rookery-project/rookery/cmd/rookerytest/collector"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node/podman/podmantest"
)

// The ids of the trace and of the span in which the client sends its commands.
const (
	senderTrace = "edc4899da303d7ed88cc3865a62e008b"
	senderSpan  = "f23a815d6925e715"
)

// TestOneTraceHoldsThePathToPodman lets a coordinator and a node, each in its own process, send all their telemetry to a collector. It
// publishes a command within a trace, as an operator does. That trace must hold the whole path: the round that accepted the command, the
// steps of the node with their calls of Podman, and the round that found the instance online.
func TestOneTraceHoldsThePathToPodman(t *testing.T) {
	t.Parallel()
	told := collector.Start(t)
	r := newReal(t)
	r.env = tellsTo(told)
	r.Cluster = startCluster(t, rookerytest.WithNodes(0), rookerytest.WithoutCoordinator())
	startProcessIn(t, r.env, "coordinator", "--server", r.URL, "--heartbeat", "500ms")
	r.join()
	r.Ensure("demo/untraced", `{"image":"`+podmantest.WebReference+`","stop_grace":"1s"}`)
	seen, err := r.Bus().Subscribe(events.EventRoot + ".service.demo.web.>")
	if err != nil {
		t.Fatal(err)
	}
	defer seen.Stop()
	traced := func(service, spec string) {
		runNATS(t, r.Cluster, "req", "-H", "traceparent:00-"+senderTrace+"-"+senderSpan+"-01", "rookery.cmd.service.demo."+service+".ensure", spec)
	}
	traced("web", `{"image":"`+podmantest.WebReference+`","stop_grace":"1s"}`)
	r.untilSucceeded(t, seen.Messages())
	all := told.Until(lacksInPath)
	for _, s := range all.Spans {
		if s.Trace != senderTrace {
			t.Errorf("%s of %s is in trace %s, which is not the trace of the client", s.Name, s.Service, s.Trace)
		}
	}

	// A step that fails is what a node says in its log.
	traced("missing", `{"image":"localhost/missing:1"}`)
	told.Until(func(told collector.Told) (missing []string) {
		missing = lacksInLogs(told)
		for _, m := range []collector.Metric{
			{Service: "rookery-coordinator", Name: "rookery.coordinator.rounds"},
			{Service: "rookery-coordinator", Name: "rookery.service.online"},
			{Service: "rookery-node", Name: "rookery.engine.call.duration"},
			{Service: "rookery-node", Name: "rookery.node.containers"},
		} {
			if !told.Metrics[m] {
				missing = append(missing, "the metric "+m.Name+" of "+m.Service)
			}
		}
		return missing
	})
	r.CheckReplay()
}

// tellsTo are the variables of a process that sends its telemetry to the collector at once, and to no other receiver.
func tellsTo(c *collector.Collector) []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "OTEL_") })
	return append(env, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL,
		"OTEL_METRIC_EXPORT_INTERVAL=200", "OTEL_BSP_SCHEDULE_DELAY=100", "OTEL_BLRP_SCHEDULE_DELAY=100")
}

// stretch is a part of the path: a span with its service, and what else it has to have: something that happened in it, or the end of
// the request's path that it is about.
type stretch struct{ service, name, event, path string }

// pathToPodman is what the trace of a command has to hold, with what each is a part of; "" for the sender's own span.
var pathToPodman = []struct {
	stretch
	within string
}{
	{stretch{"rookery-coordinator", "rookery round", "command.accepted", ""}, ""},
	{stretch{"rookery-coordinator", "rookery round", "instance.placed", ""}, ""},
	{stretch{"rookery-node", "rookery prepare", "", ""}, ""},
	{stretch{"rookery-node", "podman POST", "", "/containers/create"}, "rookery prepare"},
	{stretch{"rookery-node", "rookery start", "", ""}, ""},
	{stretch{"rookery-node", "podman POST", "", "/start"}, "rookery start"},
	{stretch{"rookery-node", "rookery status", "", ""}, ""},
	{stretch{"rookery-coordinator", "rookery round", "instance.online", ""}, ""},
	{stretch{"rookery-coordinator", "rookery round", "command.succeeded", ""}, ""},
}

// lacksInPath says what of the path is missing in the sender's trace, and which spans hang on none that was told.
func lacksInPath(told collector.Told) (missing []string) {
	names := map[string]string{senderSpan: ""} // of the spans in the trace, by id
	for _, s := range told.Spans {
		if s.Trace == senderTrace {
			names[s.ID] = s.Name
		}
	}
	for _, p := range pathToPodman {
		if !slices.ContainsFunc(told.Spans, func(s collector.Span) bool {
			within, known := names[s.Parent]
			return s.Trace == senderTrace && s.Service == p.service && s.Name == p.name && known && within == p.within &&
				(p.event == "" || slices.Contains(s.Events, p.event)) && strings.HasSuffix(s.Path, p.path)
		}) {
			missing = append(missing, fmt.Sprintf("a span %q of %s within %q, with the event %q and the path %q", p.name, p.service, p.within, p.event, p.path))
		}
	}
	for _, s := range told.Spans {
		if _, known := names[s.Parent]; s.Trace == senderTrace && !known {
			missing = append(missing, fmt.Sprintf("the span that %s %s is a part of", s.Name, s.Path))
		}
	}
	return missing
}

// lacksInLogs says which log lines of the sender's trace are missing.
func lacksInLogs(told collector.Told) (missing []string) {
	for _, want := range []collector.Line{
		{Service: "rookery-coordinator", Trace: senderTrace, Text: "command.succeeded"},
		{Service: "rookery-node", Trace: senderTrace, Text: "a step failed"},
	} {
		if !slices.Contains(told.Lines, want) {
			missing = append(missing, fmt.Sprintf("the log line %q of %s in the trace", want.Text, want.Service))
		}
	}
	return missing
}
