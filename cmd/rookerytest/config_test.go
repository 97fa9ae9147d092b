package rookerytest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rookery-project/rookery/cmd/rookerytest"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

// TestConfigsAreInTheirBucketAlone runs a service whose config is missing at first, puts the config, and later changes its value. Instances
// that start later get the new value. No other stream or bucket holds any of the values, and no process logs one.
func TestConfigsAreInTheirBucketAlone(t *testing.T) {
	t.Parallel()
	const first, second, other = "1st-value-of-the-config", "2nd-value-of-the-config", "the-value-of-another-namespace"
	output := &safeBuffer{}
	c := startCluster(t, rookerytest.WithNodes(2), rookerytest.WithLog(output))
	put := func(key, value string) { putConfig(t, c.Bus(), key, value) }
	given := func(ordinal, generation uint32) string {
		id := events.InstanceID{Service: events.ServiceID{Namespace: "demo", Name: "web"}, Ordinal: ordinal, Generation: generation}
		for _, engine := range c.Nodes {
			if values := engine.Configs(id); values != nil {
				return string(values["web-conf"])
			}
		}
		return ""
	}
	put("team.web-conf", other)
	sequence := c.Publish("demo/web", "ensure",
		`{"image":"i","scale":2,"restart":{"delay":"10ms","max_delay":"100ms"},"ports":[{"name":"http","port":80}],"configs":[{"name":"web-conf"}]}`)
	c.Until("a node says what is missing", func() bool { return strings.Contains(output.String(), "no config demo.web-conf") })
	put("demo.web-conf", first)
	if outcome := c.Outcome(sequence); outcome.Outcome != "succeeded" {
		t.Fatalf("the command ended as %+v", outcome)
	}
	put("demo.web-conf", second)
	c.Command("demo/web", "scale", `{"scale":3}`)
	for ordinal, want := range []string{first, first, second} {
		if got := given(uint32(ordinal), 1); got != want {
			t.Errorf("slot %d was made with %q, want %q", ordinal, got, want)
		}
	}
	c.Ensure("demo/web", `{"image":"j","scale":3,"ports":[{"name":"http","port":80}],"configs":[{"name":"web-conf"}]}`)
	for ordinal := range uint32(3) {
		if got := given(ordinal, 2); got != second {
			t.Errorf("slot %d of the next revision was made with %q, want %q", ordinal, got, second)
		}
	}
	everything := allStored(t, c.Bus()) + output.String()
	for _, value := range []string{first, second, other} {
		if strings.Contains(everything, value) {
			t.Errorf("a stream, a view or what is logged has the value %q", value)
		}
	}
}

// allStored returns all messages of all streams and views, one after the other.
func allStored(t *testing.T, b bus.Bus) string {
	t.Helper()
	var all strings.Builder
	for _, stream := range bus.Streams {
		state, err := b.State(t.Context(), stream)
		if err != nil {
			t.Fatal(err)
		}
		reader, err := b.Read(t.Context(), stream, state.First)
		if err != nil {
			t.Fatal(err)
		}
		for last := state.First - 1; last < state.Last; {
			m := <-reader.Messages()
			last = m.Sequence
			fmt.Fprintf(&all, "%s %v %s\n", m.Subject, m.Header, m.Body)
		}
		reader.Stop()
	}
	for _, name := range bus.Views {
		k, err := b.Bucket(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		entries, err := k.All(t.Context())
		if err != nil || (len(entries) == 0 && name != bus.BucketOperations) {
			t.Fatalf("%s has %d entries: %v", name, len(entries), err)
		}
		for _, e := range entries {
			fmt.Fprintf(&all, "%s %s\n", e.Key, e.Value)
		}
	}
	return all.String()
}
