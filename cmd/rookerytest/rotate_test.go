package rookerytest_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"github.com/synadia-io/orbit.go/natscontext"

	"github.com/rookery-project/rookery/cmd/rookery/secure"
	"github.com/rookery-project/rookery/coordinator/runner/api"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/node/podman/podmantest"
	"github.com/rookery-project/rookery/projections"
)

// sendsBy sends commands as a user until stop is called, which returns the sequences of those that were acknowledged. The user's credentials are read
// again with each connection, as by a coordinator.
func (s *secured) sendsBy(user, subject, body string) (stop func() []uint64) {
	s.Helper()
	conn, _, err := natscontext.Connect(s.context(user), nats.MaxReconnects(-1), nats.IgnoreAuthErrorAbort(), nats.ReconnectWait(lookEvery),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(conn.Close)
	return sendsOver(s, conn, subject, body)
}

// sendsOver is sendsBy over a connection.
func sendsOver(t testing.TB, conn *nats.Conn, subject, body string) (stop func() []uint64) {
	t.Helper()
	b, err := bus.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	const every = 50 * time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	var sending sync.WaitGroup
	var acknowledged []uint64
	sending.Go(func() {
		next := time.NewTicker(every)
		defer next.Stop()
		for {
			select {
			case <-next.C:
			case <-ctx.Done():
				return
			}
			call, done := context.WithTimeout(ctx, bus.CallTimeout)
			sequence, err := b.Publish(call, events.Message{Subject: b.CommandSubject(subject), Header: events.Header{}, Body: []byte(body)})
			if done(); err == nil { // else the command may be stored, and its sender does not know
				acknowledged = append(acknowledged, sequence)
			}
		}
	})
	return func() []uint64 {
		cancel()
		sending.Wait()
		return acknowledged
	}
}

// outcome returns what became of a command.
func (s *secured) outcome(b *bus.JetStream, sequence uint64) projections.Outcome {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), settlesWithin)
	defer cancel()
	m, err := b.Request(ctx, events.Message{
		Subject: b.QuestionSubject("command", ""), Header: events.Header{}, Body: fmt.Appendf(nil, `{"sequence":%d,"wait":"10s"}`, sequence),
	})
	var answer api.Command
	if err == nil {
		err = json.Unmarshal(m.Body, &answer)
	}
	if err != nil {
		s.Fatal(err)
	}
	return answer.Outcome
}

// TestKeysAreRotatedUnderLoadOnPodman gives new credentials to the coordinator, to the operator who sends commands, and to the node, while all of them
// run. No acknowledged command is lost, no node is silent, and the container stays.
func TestKeysAreRotatedUnderLoadOnPodman(t *testing.T) {
	t.Parallel()
	r := newReal(t)
	s := secureServer(t)
	s.as(0, "", secure.Operator, "bus", "init")
	coordinator := s.coordinates()
	edge := s.applicant("edge-1")
	edge.joins(0, "", s.token())
	edge.has(20 * time.Second) // it renews them after two thirds
	runs := edge.runs(r.uri, r.ports)
	s.does("user", "add", "olga", "--role", "operator")
	watches := s.bus("olga")
	edge.becomes(watches, "ready")
	s.as(0, "", "olga", "ensure", "demo/web", "--image", podmantest.WebReference)
	silent := subscribe(t, watches, events.EventRoot+".node.*.silent")
	before := r.containers()

	stop := s.sendsBy(secure.Operator, "rookery.cmd.node.edge-1.resume", `{}`)
	for _, user := range []string{secure.Coordinator, secure.Operator} {
		s.does("user", "rotate", user)
		s.as(0, "", "olga", "scale", "demo/web", "1", "--busy", "queue")
	}
	if !runs.prints("the credentials of the node are renewed") {
		t.Errorf("the node does not renew its credentials: %s", runs.output)
	}
	acknowledged := stop()

	lost := 0
	for _, sequence := range acknowledged {
		if got := s.outcome(watches, sequence); got != projections.Succeeded {
			lost++
			t.Errorf("command %d is %s", sequence, got)
		}
	}
	const least = 20
	if len(acknowledged) < least {
		t.Errorf("%d commands were acknowledged, want %d at least", len(acknowledged), least)
	}
	select {
	case m := <-silent:
		t.Errorf("a node was silent: %s", m.Subject)
	case <-coordinator.ended:
		t.Error("the coordinator has ended")
	case <-runs.ended:
		t.Error("the node has ended")
	default:
	}
	if after := r.containers(); after != before {
		t.Errorf("the containers were %s and are %s", before, after)
	}
	fmt.Printf("rotated coordinator, operator and node: acknowledged %d, lost %d\n", len(acknowledged), lost)
}

// containers are those that run in the Podman, which must be some.
func (r *realNode) containers() string {
	r.t.Helper()
	all, err := r.podman("ps", "--quiet", "--no-trunc")
	if err != nil || all == "" {
		r.t.Fatalf("no container runs: %s %v", all, err)
	}
	return all
}
