package rookerytest_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/rookery-project/rookery/cmd/rookerytest"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

// flood publishes as many commands of the size, all of which are rejected, of which at most 100 are not acknowledged at a time. It returns how
// many the stream has refused.
func flood(t testing.TB, conn *nats.Conn, count, size int) (refused int) {
	t.Helper()
	const unacknowledged = 100
	failed := make(chan struct{}, count)
	js, err := conn.JetStream(nats.PublishAsyncMaxPending(unacknowledged), nats.PublishAsyncErrHandler(
		func(nats.JetStream, *nats.Msg, error) { failed <- struct{}{} }))
	if err != nil {
		t.Fatal(err)
	}
	body := []byte(`{"image":"` + strings.Repeat("x", size) + `"}`)
	for range count {
		for { // all places may be taken for a while
			_, err := js.PublishAsync("rookery.cmd.service.demo.flood.ensure", body)
			if errors.Is(err, nats.ErrTooManyStalledMsgs) {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	select {
	case <-js.PublishAsyncComplete():
	case <-time.After(time.Minute):
		t.Fatal("not all is acknowledged within a minute")
	}
	return len(failed)
}

// TestAFloodOfCommandsLocksNobodyOut publishes more than the stream has room for, in bursts. Nothing is refused: what is decided goes. A command of
// before is known by its id all the same, and one that is open for long ends.
func TestAFloodOfCommandsLocksNobodyOut(t *testing.T) {
	t.Parallel()
	const bursts, each, size = 6, 200, 60 << 10
	cluster := startCluster(t, rookerytest.WithNodes(1))
	publish := func(service, id, body string) uint64 {
		t.Helper()
		header := events.Header{"ce-specversion": {"1.0"}, "ce-id": {id}, "ce-source": {"/test"}, "ce-type": {"io.rookery.service.v1.ensure"}}
		sequence, err := cluster.Bus().Publish(t.Context(), events.Message{
			Subject: "rookery.cmd.service." + service + ".ensure", Header: header, Body: []byte(body),
		})
		if err != nil {
			t.Fatal(err)
		}
		return sequence
	}
	cluster.Outcome(publish("demo.web", "first", `{"image":"localhost/web:1"}`))
	open := publish("demo.waits", "open", `{"image":"localhost/web:1","node_selector":{"disk":"tape"}}`)
	for range bursts { // each is less than the stream takes beside what is not decided yet
		if refused := flood(t, cluster.Conn, each, size); refused > 0 {
			t.Errorf("the stream has refused %d of %d commands", refused, each)
		}
		state, err := cluster.Bus().State(t.Context(), bus.Commands)
		if err != nil {
			t.Fatal(err)
		}
		cluster.Outcome(state.Last)
	}
	cluster.Ensure("demo/after", `{"image":"localhost/web:1"}`)
	state, err := cluster.Bus().State(t.Context(), bus.Commands)
	if err != nil {
		t.Fatal(err)
	}
	if state.First <= open || state.Bytes > bus.MaxCommandsBytes {
		t.Errorf("the stream has messages from %d on, of %d bytes", state.First, state.Bytes)
	}
	if again := cluster.Outcome(publish("demo.web", "first", `{"image":"localhost/web:1"}`)); again.Outcome != "repeated" {
		t.Errorf("a command of before that is sent again ends as %+v", again)
	}
	cluster.Command("demo/waits", "ensure", `{"image":"localhost/web:1","busy":"supersede"}`)
	if outcome := cluster.Outcome(open); outcome.Outcome != "superseded" {
		t.Errorf("the command that was open for long ends as %+v", outcome)
	}
	t.Logf("%d commands of %d bytes, the stream begins at %d and has %d bytes", bursts*each, size, state.First, state.Bytes)
}
