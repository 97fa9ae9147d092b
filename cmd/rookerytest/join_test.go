package rookerytest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/rookery-project/rookery/cmd/rookery/secure"
	coordinator "github.com/rookery-project/rookery/coordinator/runner"
	"github.com/rookery-project/rookery/coordinator/runner/api"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/node/podman/podmantest"
	"github.com/rookery-project/rookery/projections/views"
)

// token makes a token.
func (s *secured) token(flags ...string) string {
	s.Helper()
	out, code := rookery(s, append([]string{"token", "create", "--output", "json", "--dir", s.folder, "--context", s.context(secure.Operator)}, flags...)...)
	var made struct {
		Token string `json:"token"`
	}
	if start := strings.Index(out, "{"); code != 0 || start < 0 || json.Unmarshal([]byte(out[start:]), &made) != nil {
		s.Fatalf("token create: exit %d: %s", code, out)
	}
	return made.Token
}

// applicant is a host that asks to join.
type applicant struct {
	*secured
	name string
	// folder has the credentials that it gets.
	folder string
}

func (s *secured) applicant(name string) *applicant {
	return &applicant{s, name, filepath.Join(s.TempDir(), "nodes")}
}

func (a *applicant) file(name string) string { return filepath.Join(a.folder, name) }

// joins asks with a token, which must end with this code and say this.
func (a *applicant) joins(code int, says, token string) {
	a.Helper()
	if out, got := rookery(a, "node", "join", token, "--name", a.name, "--dir", a.folder); got != code || !strings.Contains(out, says) {
		a.Errorf("%s joins: exit %d, want %d: %s; want %q", a.name, got, code, out, says)
	}
}

// runs starts the node on a Podman.
func (a *applicant) runs(podman, ports string) *process {
	a.Helper()
	return startProcess(a.TB, "node", "--name", a.name, "--context", a.file(a.name+".json"), "--podman", podman, "--ports", ports)
}

// has writes credentials of the node that end after this time, as the coordinator would.
func (a *applicant) has(lasts time.Duration) {
	a.Helper()
	files, err := secure.ReadAdmission(os.DirFS(filepath.Join(a.secured.folder, secure.Admission)))
	if err != nil {
		a.Fatal(err)
	}
	issuer, err := files.Issuer()
	if err != nil {
		a.Fatal(err)
	}
	issuer.Lasts = lasts
	u, seed := a.credentials()
	answer, err := issuer.Issue(a.name, events.NodeKey(u.Key), time.Now())
	if err != nil {
		a.Fatal(err)
	}
	made, err := secure.NodeFiles(secure.NodeCreds(a.name), seed, answer)
	if err == nil {
		err = os.WriteFile(a.file(secure.NodeCreds(a.name)), made[secure.NodeCreds(a.name)], 0o600)
	}
	if err != nil {
		a.Fatal(err)
	}
}

// credentials returns who the node's credentials are of, and the seed of their key.
func (a *applicant) credentials() (u secure.User, seed []byte) {
	a.Helper()
	text, err := os.ReadFile(a.file(secure.NodeCreds(a.name)))
	if err == nil {
		u, seed, err = secure.ReadCredentials(text)
	}
	if err != nil {
		a.Fatal(err)
	}
	return u, seed
}

// loses gives the node another key, and takes from it what it wrote once the coordinator had answered, as a kill before that does. It returns the key.
func (a *applicant) loses() (key string) {
	a.Helper()
	before := map[string][]byte{}
	for _, name := range []string{secure.NodeCreds(a.name), secure.AgainFile(secure.NodeCreds(a.name)), a.name + ".key"} {
		content, err := os.ReadFile(a.file(name))
		if err != nil {
			a.Fatal(err)
		}
		before[name] = content
	}
	if out, code := rookery(a, "node", "rotate", "--context", a.file(a.name+".json")); code != 0 {
		a.Fatalf("node rotate: exit %d: %s", code, out)
	}
	u, seed := a.credentials()
	before[a.name+".next.key"] = seed
	for name, content := range before {
		if err := os.WriteFile(a.file(name), content, 0o600); err != nil {
			a.Fatal(err)
		}
	}
	return u.Key
}

// state returns the state of the node as an operator sees it; "" while it has none.
func (a *applicant) state(b *bus.JetStream) string {
	a.Helper()
	ctx, cancel := context.WithTimeout(a.Context(), settlesWithin)
	defer cancel()
	m, err := b.Request(ctx, events.Message{Subject: b.QuestionSubject("nodes", ""), Header: events.Header{}, Body: fmt.Appendf(nil, `{"node":%q}`, a.name)})
	if err != nil {
		a.Fatal(err)
	}
	var list api.List[views.Node]
	if err := json.Unmarshal(m.Body, &list); err != nil || len(list.Items) == 0 {
		return ""
	}
	return string(list.Items[0].State)
}

func (a *applicant) becomes(b *bus.JetStream, state string) {
	a.Helper()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	late := time.After(settlesWithin)
	for a.state(b) != state {
		select {
		case <-look.C:
		case <-late:
			a.Fatalf("%s is %s, and not %s", a.name, a.state(b), state)
		}
	}
}

// TestNodesJoinWithTokensOnPodman lets a node join, renews its credentials before and after they have ended, and revokes it.
func TestNodesJoinWithTokensOnPodman(t *testing.T) {
	t.Parallel()
	s := secureServer(t)
	s.as(0, "", secure.Operator, "bus", "init")
	s.coordinates()
	operator := s.bus(secure.Operator)

	edge, other := s.applicant("edge-1"), s.applicant("edge-2")
	once := s.token()
	edge.joins(0, "edge-1 has joined", once)
	edge.joins(0, "edge-1 has joined", once) // as one whose answer was lost
	other.joins(1, "has been used as often as it may be", once)
	s.applicant("edge-1").joins(1, "node edge-1 has joined with another key", s.token())
	other.joins(2, "this is not a token", "hello")

	asks := startProcess(t, "node", "join", s.token("--approve"), "--name", other.name, "--dir", other.folder)
	if !asks.prints("rookery node admit edge-2 --key ") {
		t.Fatalf("the node does not wait for an operator: %s", asks.output)
	}
	_, key, _ := strings.Cut(asks.output.String(), "--key ")
	key, _, _ = strings.Cut(key, "\n")
	s.as(0, "", secure.Operator, "node", "admit", other.name, "--key", key)
	if <-asks.ended; !strings.Contains(asks.output.String(), "edge-2 has joined") {
		t.Errorf("the node that was admitted has not joined: %s", asks.output)
	}

	podman, ports := podmantest.Start(t), freePortRange(t)
	image := podmantest.LoadWeb(t, podman)
	runs := edge.runs(podman, ports)
	edge.becomes(operator, "ready")
	s.as(0, "", secure.Operator, "ensure", "demo/web", "--image", image)
	rotated := edge.loses()
	for what, lasts := range map[string]time.Duration{"that have ended": -time.Minute, "that end soon": 9 * time.Second} {
		runs.kill()
		edge.has(lasts)
		if runs = edge.runs(podman, ports); !runs.prints("the credentials of the node are renewed") {
			t.Fatalf("credentials %s are not renewed: %s", what, runs.output)
		}
		edge.becomes(operator, "ready")
	}
	if now, _ := edge.credentials(); now.Key != rotated {
		t.Errorf("the node has the key %s, and not %s, which the log has", now.Key, rotated)
	}

	lost := subscribe(t, operator, events.EventRoot+".service.demo.web.instance.lost")
	watched := s.watches(edge)
	s.as(0, "", secure.Operator, "node", "revoke", edge.name, "--dir", s.folder)
	watched()
	if state := edge.state(operator); state != "revoked" {
		t.Errorf("the node is %s", state)
	}
	receive(t, lost)
	edge.joins(1, "is revoked", s.token())
	s.applicant("edge-1").joins(0, "edge-1 has joined", s.token())
}

// watches connects with all credentials of a node. The function that it returns waits until the server has closed these connections, and fails the test if
// they connect again.
func (s *secured) watches(a *applicant) (closed func()) {
	s.Helper()
	var waits []func()
	for _, file := range []string{secure.NodeCreds(a.name), secure.AgainFile(secure.NodeCreds(a.name))} {
		options := []nats.Option{
			nats.UserCredentials(a.file(file)), nats.RootCAs(a.file(secure.CAFile(a.name))), nats.NoReconnect(),
		}
		ended := make(chan struct{})
		conn, err := nats.Connect(s.url, append(options, nats.ClosedHandler(func(*nats.Conn) { close(ended) }))...)
		if err != nil {
			s.Fatal(err)
		}
		s.Cleanup(conn.Close)
		waits = append(waits, func() {
			select {
			case <-ended:
			case <-time.After(settlesWithin):
				s.Errorf("the server does not close the connection of a revoked node with %s", file)
			}
			again, err := nats.Connect(s.url, options...)
			if err == nil {
				again.Close()
			}
			if !errors.Is(err, nats.ErrAuthorization) {
				s.Errorf("a revoked node connects with %s: %v", file, err)
			}
		})
	}
	return func() {
		for _, wait := range waits {
			wait()
		}
	}
}

// asksToJoin asks as rookery node join does, with a new key, and returns what a node of this name connects with.
func (s *secured) asksToJoin(name string, token secure.Token) (options []nats.Option, err error) {
	pair, err := nkeys.CreateUser()
	if err != nil {
		return nil, err
	}
	key, err := pair.PublicKey()
	if err != nil {
		return nil, err
	}
	seed, err := pair.Seed()
	if err != nil {
		return nil, err
	}
	creds, err := secure.Credentials(token.JWT, []byte(token.Seed))
	if err != nil {
		return nil, err
	}
	by, err := token.User()
	if err != nil {
		return nil, err
	}
	ca := nats.RootCAs(filepath.Join(s.folder, secure.CA))
	// A hundred hosts that connect at once wait for this machine's processors.
	patient := nats.Timeout(settlesWithin)
	conn, err := nats.Connect(s.url, nats.UserCredentialBytes(creds), ca, patient, nats.CustomInboxPrefix(secure.JoinInboxOf(by.Name)))
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	body, err := json.Marshal(events.JoinQuestion{Node: name, Key: events.NodeKey(key)})
	if err != nil {
		return nil, err
	}
	b, err := bus.New(conn)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(s.Context(), settlesWithin)
	defer cancel()
	m, err := b.Request(ctx, events.Message{Subject: events.JoinSubject(by.Name), Header: events.Header{}, Body: body})
	if err == nil {
		err = bus.Refused(m)
	}
	if err != nil {
		return nil, err
	}
	var answer events.JoinAnswer
	if err := json.Unmarshal(m.Body, &answer); err != nil {
		return nil, err
	}
	files, err := secure.NodeFiles(secure.NodeCreds(name), seed, answer)
	return []nats.Option{nats.UserCredentialBytes(files[secure.NodeCreds(name)]), ca, nats.CustomInboxPrefix(secure.InboxOf(name))}, err
}

// joinable is a secure server whose coordinator lets nodes join, and a token.
func joinable(t testing.TB, flags ...string) (*secured, secure.Token) {
	t.Helper()
	s := secureServer(t)
	s.as(0, "", secure.Operator, "bus", "init")
	s.coordinates()
	token, err := secure.ParseToken(s.token(flags...))
	if err != nil {
		t.Fatal(err)
	}
	return s, token
}

// TestOneOfManyJoinsWithATokenForOne lets a hundred hosts race for a token of one use.
func TestOneOfManyJoinsWithATokenForOne(t *testing.T) {
	t.Parallel()
	const hosts = 100
	s, token := joinable(t)
	var all sync.WaitGroup
	errs := make([]error, hosts)
	for i := range hosts {
		all.Go(func() { _, errs[i] = s.asksToJoin(fmt.Sprintf("node-%d", i), token) })
	}
	all.Wait()
	joined := 0
	for i, err := range errs {
		var refused *bus.QuestionError
		switch {
		case err == nil:
			joined++
		case !errors.As(err, &refused) || !strings.Contains(refused.Reason, "used as often"):
			t.Errorf("node-%d: %v", i, err)
		}
	}
	if joined != 1 {
		t.Errorf("%d hosts have joined with a token for one", joined)
	}
}

// BenchmarkJoin lets 200 nodes join with one token, a few at a time, and waits until each has its place in the cluster.
func BenchmarkJoin(b *testing.B) {
	const nodes, atOnce = 200, 8
	for b.Loop() {
		b.StopTimer()
		s, token := joinable(b, "--uses", fmt.Sprint(nodes))
		joined := joining(b, s.bus(secure.Operator), nodes)
		b.StartTimer()
		began := time.Now()
		var all sync.WaitGroup
		places := make(chan struct{}, atOnce)
		buses := make([]*bus.JetStream, nodes)
		for i := range nodes {
			all.Go(func() {
				places <- struct{}{}
				defer func() { <-places }()
				buses[i] = s.joinsAs(fmt.Sprintf("node-%d", i), token)
			})
		}
		all.Wait()
		for i := range nodes {
			if buses[i] != nil {
				startSimulated(b, buses[i], i, coordinator.DefaultHeartbeat)
			}
		}
		joined()
		b.ReportMetric(time.Since(began).Seconds(), "s/200-nodes")
	}
}

// joinsAs joins, and connects as the node.
func (s *secured) joinsAs(name string, token secure.Token) *bus.JetStream {
	options, err := s.asksToJoin(name, token)
	if err != nil {
		s.Errorf("%s: %v", name, err)
		return nil
	}
	conn, err := nats.Connect(s.url, options...)
	if err != nil {
		s.Errorf("%s: %v", name, err)
		return nil
	}
	s.Cleanup(conn.Close)
	joined, err := bus.New(conn)
	if err != nil {
		s.Errorf("%s: %v", name, err)
	}
	return joined
}
