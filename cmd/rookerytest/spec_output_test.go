package rookerytest_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/node/podman/podmantest"
)

// outputRows make containers print lines and fail, in every way that a container can fail.
func outputRows() []specRow {
	const (
		prints = `"args":["-print","200","-exit-code","3"]`
		often  = `"interval":"100ms","retries":1`
	)
	return []specRow{
		{"output", prints + `,"restart":{"delay":"2s","attempts":1}`, func(s *seen) {
			heard := s.overhear("rookery.>")
			var e events.InstanceOffline
			for attempt := range 2 {
				e = s.offline(events.OfflineExited, "")
				s.want("the reference", e.Output, fmt.Sprintf("demo.output.0.%d.%d", e.Generation, attempt))
				s.want("what it printed", s.printed(e.Output), lastLines(200))
			}
			s.Until("the view refers to it", func() bool {
				return strings.Contains(runNATS(s.T, s.Cluster, "kv", "get", "--raw", bus.BucketInstances, "demo.output.0"), `"output":"`+e.Output+`"`)
			})
			s.silent("line 200 of 200", heard.String())
			s.storedNowhere("line 200 of 200")
		}},
		{"output of an init container", `"init":{` + prints + `}`, func(s *seen) {
			s.want("what it printed", s.printed(s.offline(events.OfflineInitFailed, "").Output), lastLines(200))
		}},
		{"output of what is unhealthy", `"args":["-print","3"],"health":{"exec":["/web","-check","-none"],` + often + `}`, func(s *seen) {
			s.want("what it printed", s.printed(s.offline(events.OfflineUnhealthy, "").Output), lastLines(3))
		}},
		{"output of a sidecar", `"args":["-print","3"],"sidecars":[{"name":"proxy","image":"` + podmantest.WebReference + `",` + prints + `}]`, func(s *seen) {
			e := s.offline(events.OfflineExited, "its sidecar proxy has ended")
			s.want("what it printed", s.printed(e.Output), lastLines(200))
		}},
		{"output of nothing", `"args":["-exit-code","3"],"restart":{"policy":"never"}`, func(s *seen) {
			s.want("the reference", s.offline(events.OfflineExited, "").Output, "")
		}},
	}
}

// lastLines are the last of what the example prints that is to print this many lines, as many as are kept.
func lastLines(count int) string {
	var text strings.Builder
	for i := max(0, count-events.MaxOutputLines); i < count; i++ {
		fmt.Fprintf(&text, "line %d of %d\n", i+1, count)
	}
	return text.String()
}

// printed reads the last output of an instance under the key that an event refers to.
func (s *seen) printed(key string) string {
	s.Helper()
	return runNATS(s.T, s.Cluster, "kv", "get", "--raw", bus.BucketOutput, key)
}

// storedNowhere wants no stream and no view to have the text.
func (s *seen) storedNowhere(text string) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), 20*time.Second)
	defer cancel()
	for _, stream := range bus.Streams {
		state, err := s.Bus().State(ctx, stream)
		if err != nil {
			s.Fatal(err)
		}
		reader, err := s.Bus().Read(ctx, stream, state.First)
		if err != nil {
			s.Fatal(err)
		}
		for at := state.First; at <= state.Last; {
			m := <-reader.Messages()
			at = m.Sequence + 1
			if strings.Contains(string(m.Body), text) {
				s.Errorf("%s has what a container printed: %s", stream, m.Body)
			}
		}
		reader.Stop()
	}
	for _, name := range bus.Views {
		k, err := s.Bus().Bucket(ctx, name)
		if err != nil {
			s.Fatal(err)
		}
		all, err := k.All(ctx)
		if err != nil {
			s.Fatal(err)
		}
		for _, e := range all {
			if strings.Contains(string(e.Value), text) {
				s.Errorf("%s of %s has what a container printed", e.Key, name)
			}
		}
	}
}
