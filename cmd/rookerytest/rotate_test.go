package rookerytest_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
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

// load sends 20 commands a second until stop is called.
type load struct {
	cancel  context.CancelFunc
	sending sync.WaitGroup

	mu           sync.Mutex
	acknowledged []uint64
}

// sendsBy sends commands as a user, whose credentials are read again with each connection, as by a coordinator.
func (s *secured) sendsBy(user, subject, body string) *load {
	s.Helper()
	conn, _, err := natscontext.Connect(s.context(user), nats.MaxReconnects(-1), nats.IgnoreAuthErrorAbort(), nats.ReconnectWait(lookEvery),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(conn.Close)
	return sendsOver(s, conn, subject, body)
}

// sendsOver sends commands over a connection.
func sendsOver(t testing.TB, conn *nats.Conn, subject, body string) *load {
	t.Helper()
	b, err := bus.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	const every = 50 * time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	l := &load{cancel: cancel}
	l.sending.Go(func() {
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
				l.mu.Lock()
				l.acknowledged = append(l.acknowledged, sequence)
				l.mu.Unlock()
			}
		}
	})
	return l
}

// stop returns the sequences of the commands that were acknowledged.
func (l *load) stop() []uint64 {
	l.cancel()
	l.sending.Wait()
	return l.acknowledged
}

// goesOn waits until some more commands are acknowledged.
func (l *load) goesOn(t testing.TB) {
	t.Helper()
	const more = 20
	count := func() int {
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(l.acknowledged)
	}
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	late := time.After(settlesWithin)
	for before := count(); count() < before+more; {
		select {
		case <-look.C:
		case <-late:
			t.Fatalf("%d commands were acknowledged, and then no others", before)
		}
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

// reloads tells the server that its certificates have changed.
func (s *secured) reloads() {
	s.Helper()
	before := strings.Count(s.server.output.String(), "Reloaded: tls")
	s.server.signal(syscall.SIGHUP)
	again := time.NewTicker(lookEvery)
	defer again.Stop()
	for late := time.After(settlesWithin); strings.Count(s.server.output.String(), "Reloaded: tls") == before; {
		select {
		case <-again.C:
		case <-late:
			s.Fatalf("the server does not read its certificates again: %s", s.server.output)
		}
	}
}

// rotatesServers gives the server another key for what it stores, and certificates of another authority, as the commands say.
func (s *secured) rotatesServers(edge *applicant) {
	s.Helper()
	s.does("secure", "rotate", "storage")
	s.server.kill()
	s.start()

	former, err := os.ReadFile(filepath.Join(s.folder, secure.CA))
	if err != nil {
		s.Fatal(err)
	}
	for _, does := range []string{"rotate ca", "renew", "rotate former-ca"} {
		s.does(append([]string{"secure"}, strings.Fields(does)...)...)
		ca, err := os.ReadFile(filepath.Join(s.folder, secure.CA))
		if err == nil {
			err = os.WriteFile(edge.file(secure.CAFile(edge.name)), ca, 0o600)
		}
		if err != nil {
			s.Fatal(err)
		}
		s.reloads()
	}
	trusts := x509.NewCertPool()
	trusts.AppendCertsFromPEM(former)
	conn, err := nats.Connect(fmt.Sprintf("nats://127.0.0.1:%d", s.port), nats.Secure(&tls.Config{RootCAs: trusts, MinVersion: tls.VersionTLS13}))
	if err == nil {
		conn.Close()
	}
	if unknown := (*tls.CertificateVerificationError)(nil); !errors.As(err, &unknown) {
		s.Errorf("the server still has a certificate of the authority before: %v", err)
	}
	if now, err := os.ReadFile(filepath.Join(s.folder, secure.CA)); err != nil || bytes.Contains(now, former) {
		s.Errorf("the authority before still counts: %v", err)
	}
}

// rotates gives the node another key while it runs. A thief of the former key gets no credentials any more.
func (a *applicant) rotates(runs *process) {
	a.Helper()
	stolen := a.stolen()
	asks := func(context string) (string, int) { return rookery(a, "node", "rotate", "--context", context) }
	out, code := asks(a.file(a.name + ".json"))
	if code != 0 || !strings.Contains(out, a.name+" has the key ") {
		a.Errorf("node rotate: exit %d: %s", code, out)
	}
	if !runs.prints("the node connects with another key") {
		a.Errorf("the node does not take its other key: %s", runs.output)
	}
	if out, code := asks(stolen); code != 1 || !strings.Contains(out, "or it is revoked or replaced") {
		a.Errorf("node rotate with the former key: exit %d: %s", code, out)
	}
}

// stolen copies what the node has, and returns the NATS context of the copy.
func (a *applicant) stolen() string {
	a.Helper()
	to := a.TempDir()
	for _, name := range []string{a.name + ".json", secure.NodeCreds(a.name), secure.AgainFile(secure.NodeCreds(a.name)), secure.CAFile(a.name)} {
		content, err := os.ReadFile(a.file(name))
		if err == nil {
			err = os.WriteFile(filepath.Join(to, name), bytes.ReplaceAll(content, []byte(a.folder), []byte(to)), 0o600)
		}
		if err != nil {
			a.Fatal(err)
		}
	}
	return filepath.Join(to, a.name+".json")
}

// TestKeysAreRotatedUnderLoadOnPodman gives other keys to the coordinator, to the operator who sends commands, and to the node, another key of what it
// stores and another certificate authority to the server, and another key of rounds to the coordinator, while all of them run. No acknowledged command
// is lost, no node is silent, and the container stays.
func TestKeysAreRotatedUnderLoadOnPodman(t *testing.T) {
	t.Parallel()
	r := newReal(t)
	s := secureServer(t)
	s.as(0, "", secure.Operator, "bus", "init")
	coordinator := s.coordinates()
	edge := s.applicant("edge-1")
	edge.joins(0, "", s.token())
	const lasts = 5 * time.Minute // it looks at them each 3 s
	edge.has(lasts)
	runs := edge.runs(r.uri, r.ports)
	s.does("user", "add", "olga", "--role", "operator")
	watches := s.bus("olga")
	edge.becomes(watches, "ready")
	s.as(0, "", "olga", "ensure", "demo/web", "--image", podmantest.WebReference)
	silent := subscribe(t, watches, events.EventRoot+".node.*.silent")
	before := r.containers()

	load := s.sendsBy(secure.Operator, "rookery.cmd.node.edge-1.resume", `{}`)
	for _, user := range []string{secure.Coordinator, secure.Operator} {
		s.does("user", "rotate", user)
		s.as(0, "", "olga", "scale", "demo/web", "1", "--busy", "queue")
		load.goesOn(t)
	}
	edge.rotates(runs)
	load.goesOn(t)
	s.rotatesServers(edge)
	load.goesOn(t)
	s.does("secure", "rotate", "rounds")
	coordinator.kill()
	coordinator = s.coordinates()
	s.as(0, "", "olga", "scale", "demo/web", "1", "--busy", "queue")
	load.goesOn(t)
	acknowledged := load.stop()

	lost := 0
	for _, sequence := range acknowledged {
		if got := s.outcome(watches, sequence); got != projections.Succeeded {
			lost++
			t.Errorf("command %d is %s", sequence, got)
		}
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
	fmt.Printf("rotated coordinator, operator, node, rounds, storage and authority: acknowledged %d, lost %d\n", len(acknowledged), lost)
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
