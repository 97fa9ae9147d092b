package podman_test

import (
	"context"
	"strings"
	"testing"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/rookery-project/rookery/events"
)

// TestStatsTellNothingOfWhatPodmanCannot uses the answers of two versions of Podman, in which some figures of 0 stand for unknown ones.
func TestStatsTellNothingOfWhatPodmanCannot(t *testing.T) {
	for version, answer := range map[string]string{
		"4": `{"Error":null,"Stats":[{"ContainerID":"a","CPUNano":1500000000,"MemUsage":4096,"NetInput":7,"NetOutput":0},{"ContainerID":"b"}]}`,
		"5": `{"Error":null,"Stats":[{"ContainerID":"a","CPUNano":1500000000,"MemUsage":4096,"Network":{"eth0":{"RxBytes":4,"TxBytes":0},"eth1":{"RxBytes":3,"TxBytes":0}}},` +
			`{"ContainerID":"b","Network":null}]}`,
	} {
		stats, err := connect(t, fakeService(t, map[string]string{"/containers/stats": answer})).Stats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		a, b := stats["a"], stats["b"]
		if a.CPU == nil || *a.CPU != 1500*time.Millisecond || a.Memory == nil || *a.Memory != 4096 ||
			a.Received == nil || *a.Received != 7 || a.Sent == nil || *a.Sent != 0 {
			t.Errorf("of Podman %s, a has used %+v", version, a)
		}
		if b.CPU != nil || b.Memory != nil || b.Received != nil || b.Sent != nil {
			t.Errorf("of Podman %s, nothing is known of b, and it has used %+v", version, b)
		}
	}
}

func TestStatsThatFailSaySo(t *testing.T) {
	engine := connect(t, fakeService(t, map[string]string{"/containers/stats": `{"Error":{"message":"no cgroups"},"Stats":null}`}))
	if _, err := engine.Stats(t.Context()); err == nil || !strings.Contains(err.Error(), "no cgroups") {
		t.Errorf("Stats gave %v, want Podman's words", err)
	}
}

// TestCallsOfASpanAreInItsTrace holds a call to be traced where what it is a part of is, and nowhere else.
func TestCallsOfASpanAreInItsTrace(t *testing.T) {
	engine := connect(t, fakeService(t, map[string]string{"/containers/stats": `{"Stats":[]}`}))
	recorder := tracetest.NewSpanRecorder()
	ctx, span := sdk.NewTracerProvider(sdk.WithSpanProcessor(recorder)).Tracer("test").Start(t.Context(), "a step")
	for _, in := range []context.Context{t.Context(), ctx} {
		if _, err := engine.Stats(in); err != nil {
			t.Fatal(err)
		}
	}
	ended := recorder.Ended()
	if len(ended) != 1 || ended[0].Name() != "podman GET" || ended[0].Parent().SpanID() != span.SpanContext().SpanID() {
		t.Errorf("two calls, one of them in a span, are %d spans: %v", len(ended), ended)
	}
}

// testStats waits until Podman tells of a container what it uses: the memory that it has taken, and some time of the processor.
func testStats(t *testing.T, b *bench) {
	plan := b.plan(t, "-eat", "64")
	plan.Order.Spec.Sidecars = []events.Sidecar{{Name: "beside", Image: b.image, Args: []string{"-listen", ":8081"}}}
	c := b.prepare(t, plan)
	defer b.remove(t, c)
	b.start(t, c)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for {
		stats, err := b.engine.Stats(ctx)
		if err != nil {
			t.Fatal(err)
		}
		s, beside := stats[c.Handle], stats[c.Sidecars[0]]
		if s.CPU != nil && s.Memory != nil && *s.Memory > 64<<20 && beside.CPU != nil && beside.Memory != nil {
			break
		}
		t.Logf("Podman says %+v of it still, and %+v of its sidecar", s, beside)
		select {
		case <-ctx.Done():
			t.Fatalf("the usage is still unknown: %+v", s)
		case <-time.After(100 * time.Millisecond):
		}
	}
}
