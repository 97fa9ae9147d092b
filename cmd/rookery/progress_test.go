package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/rookery-project/rookery/events"
)

// TestProgressCountsWhatCommandsChange follows a scale, a failure, and an update of one slot.
func TestProgressCountsWhatCommandsChange(t *testing.T) {
	seen := func(ordinal, generation uint32) events.InstanceSeen {
		s := events.InstanceSeen{}
		s.Ordinal, s.Generation = ordinal, generation
		return s
	}
	failed := events.InstanceOffline{InstanceSeen: seen(1, 1)}
	failed.Reason = "exited"
	p := newProgress(&bytes.Buffer{}, true)
	p.tally.before["demo/web"] = 1
	for _, step := range []struct {
		data events.Data
		want string
	}{
		{events.CommandAccepted{}, ""},
		{events.ServiceScaled{Scale: 3}, "placed 0 · online 0 · failed 0 of 2"},
		{events.InstancePlaced{Ordinal: 1, Generation: 1}, "placed 1 · online 0 · failed 0 of 2"},
		{events.InstancePlaced{Ordinal: 2, Generation: 1}, "placed 2 · online 0 · failed 0 of 2"},
		{events.InstanceOnline{InstanceSeen: seen(2, 1)}, "placed 2 · online 1 · failed 0 of 2"},
		{failed, "placed 2 · online 1 · failed 1 of 2"},
		{events.InstanceOnline{InstanceSeen: seen(1, 1)}, "placed 2 · online 2 · failed 0 of 2"},
		{events.OperationEntered{Phase: "start", Wave: 1}, "demo/web: start of wave 1 · placed 2 · online 2 · failed 0 of 2"},
		{events.OperationEntered{Phase: "promote", Wave: 1}, "demo/web: waits for rookery promote demo/web · placed 2 · online 2 · failed 0 of 2"},
		{events.OperationEntered{Phase: "start", Wave: 1}, "demo/web: start of wave 1 · placed 2 · online 2 · failed 0 of 2"},
		{events.InstancePlaced{Ordinal: 2, Generation: 2}, "demo/web: start of wave 1 · placed 2 · online 2 · failed 0 of 2"},
		{events.InstanceRetired{Ordinal: 2, Generation: 1}, "demo/web: start of wave 1 · placed 2 · online 1 · failed 0 of 2"},
		{events.OperationEnded{}, "placed 2 · online 1 · failed 0 of 2"},
	} {
		p.event(events.Message{Subject: "rookery.event.service.demo.web.x"}, step.data, "")
		if got := p.tally.String(); got != step.want {
			t.Fatalf("after %T it is %q, want %q", step.data, got, step.want)
		}
	}
}

// TestProgressDrawsBelowWhatIsWritten writes a line while another is drawn, and ends.
func TestProgressDrawsBelowWhatIsWritten(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(&out, true)
	placed := events.InstancePlaced{Generation: 1}
	p.event(events.Message{Subject: "rookery.event.service.demo.web.x"}, placed, "not shown")
	fmt.Fprintln(p, "a line")
	p.end()
	const drawn, erased = "placed 1 · online 0 · failed 0 of 1", "\r\x1b[K"
	if got, want := out.String(), drawn+erased+"a line\n"+drawn+erased; got != want {
		t.Errorf("it writes %q, want %q", got, want)
	}
	p = newProgress(&out, false)
	out.Reset()
	p.event(events.Message{}, placed, "12:00:00.000  demo/web  instance.placed 0.1")
	if got := strings.TrimSpace(out.String()); got != "12:00:00.000  demo/web  instance.placed 0.1" {
		t.Errorf("in a pipe it writes %q", got)
	}
}
