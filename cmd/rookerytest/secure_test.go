package rookerytest_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/synadia-io/orbit.go/natscontext"

	"github.com/rookery-project/rookery/cmd/rookery/secure"
	coordinator "github.com/rookery-project/rookery/coordinator/runner"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

// secured is a cluster whose bus knows who connects.
type secured struct {
	testing.TB
	// folder has the keys, port is where the server listens, and url where clients connect.
	folder string
	port   int
	url    string
	server *process
}

// secureServer makes keys, and starts a server with them.
func secureServer(t testing.TB) *secured {
	t.Helper()
	s := &secured{TB: t, folder: filepath.Join(t.TempDir(), "keys"), port: freePorts(t)}
	s.url = fmt.Sprintf("tls://127.0.0.1:%d", s.port)
	s.does("secure", "init")
	for _, name := range []string{"keys/cluster.json", "servers/nats-1/nats.conf", "users/operator.json", "users/coordinator.json"} {
		s.moves(name)
	}
	s.start()
	return s
}

// secureCluster starts such a server, a coordinator and a simulated node.
func secureCluster(t *testing.T) *secured {
	t.Helper()
	s := secureServer(t)
	s.does("user", "add", "node-0", "--role", "node")
	s.as(0, "", secure.Operator, "bus", "init")
	s.coordinates()
	joined := joining(t, s.bus(secure.Operator), 1)
	startSimulated(t, s.bus("node-0"), 0, coordinator.DefaultHeartbeat)
	joined()
	return s
}

// coordinates starts a coordinator, which may let nodes join.
func (s *secured) coordinates(flags ...string) *process {
	s.Helper()
	return startProcess(s.TB, slices.Concat([]string{"coordinator"}, s.leads(), flags)...)
}

// leads are the flags of a coordinator.
func (s *secured) leads() []string {
	return []string{"--context", s.context(secure.Coordinator), "--admission", filepath.Join(s.folder, secure.Admission)}
}

// options are those of a connection as this user.
func (s *secured) options(user string) []nats.Option {
	return append(s.identity(user), nats.RootCAs(filepath.Join(s.folder, secure.CA)))
}

// identity are the options with which this user connects, whatever the server's certificate.
func (s *secured) identity(user string) []nats.Option {
	return []nats.Option{nats.UserCredentials(filepath.Join(s.folder, secure.CredsFile(user))), nats.CustomInboxPrefix(secure.InboxOf(user))}
}

// moves writes the test's own port into a file in place of the usual one.
func (s *secured) moves(name string) {
	s.Helper()
	path := filepath.Join(s.folder, name)
	text, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, []byte(strings.ReplaceAll(string(text), strconv.Itoa(secure.ClientPort), strconv.Itoa(s.port))), 0o600)
	}
	if err != nil {
		s.Fatal(err)
	}
}

// start starts the server in its folder, as the guide says.
func (s *secured) start() {
	s.Helper()
	path, err := natsServer()
	if err != nil {
		s.Fatal(err)
	}
	s.server = startProgramIn(s.TB, "/usr/bin/env", nil, "--chdir", filepath.Join(s.folder, "servers/nats-1"), path, "--config", "nats.conf")
	if !ready(s.server) {
		s.Fatalf("the NATS server did not start:\n%s", s.server.output)
	}
}

func (s *secured) context(user string) string {
	return filepath.Join(s.folder, secure.ContextFile(user))
}

// does runs a command on the keys, which must succeed.
func (s *secured) does(args ...string) string {
	s.Helper()
	out, code := rookery(s, append(args, "--dir", s.folder)...)
	if code != 0 {
		s.Fatalf("%q: exit %d: %s", args, code, out)
	}
	if args[0] == "user" && (args[1] == "add" || args[1] == "rotate") {
		s.moves(secure.ContextFile(args[2]))
	}
	return out
}

// as runs a command as a user, which must end with this code and say this.
func (s *secured) as(code int, says, user string, args ...string) {
	s.Helper()
	out, got := rookery(s, append(args, "--context", s.context(user))...)
	if got != code || !strings.Contains(out, says) {
		s.Errorf("%q as %s: exit %d, want %d: %s; want %q", args, user, got, code, out, says)
	}
}

// connect connects as a user until the test ends.
func (s *secured) connect(user string) *nats.Conn {
	s.Helper()
	conn, _, err := natscontext.Connect(s.context(user), nats.MaxReconnects(-1), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(conn.Close)
	return conn
}

func (s *secured) bus(user string) *bus.JetStream {
	s.Helper()
	b, err := bus.New(s.connect(user))
	if err != nil {
		s.Fatal(err)
	}
	return b
}

// TestThreeSecureServers starts three servers on machines of their own with one set of keys. A user that is removed while one of them is down cannot
// connect to that one either, once it is back.
func TestThreeSecureServers(t *testing.T) {
	t.Parallel()
	f := newField(t)
	path, err := natsServer()
	if err != nil {
		t.Fatal(err)
	}
	s := &secured{TB: t, folder: filepath.Join(t.TempDir(), "keys"), port: secure.ClientPort}
	machines, words := map[string]*host{}, []string{"secure", "init"}
	for i := range serverCount {
		name := fmt.Sprintf("nats-%d", i+1)
		machines[name] = f.network.newMachine(name, "")
		words = append(words, name+"="+machines[name].address)
	}
	s.does(words...)
	start := func(name string) *process {
		return f.launch(machines[name], "/usr/bin/env", "--chdir", filepath.Join(s.folder, "servers", name), path, "--config", "nats.conf")
	}
	servers := map[string]*process{}
	for name := range machines {
		servers[name] = start(name)
	}
	var out string
	if !f.within(settlesWithin, func() bool {
		var code int
		out, code = rookery(t, "bus", "init", "--replicas", "3", "--context", s.context(secure.Operator))
		return code == 0
	}) {
		t.Fatalf("bus init: %s", out)
	}
	s.coordinates()
	s.does("user", "add", "vera", "--role", "auditor")
	s.as(0, "", "vera", "ps")
	creds, err := os.ReadFile(filepath.Join(s.folder, secure.CredsFile("vera")))
	if err != nil {
		t.Fatal(err)
	}
	servers["nats-1"].kill()
	s.does("user", "rm", "vera")
	start("nats-1")
	var refused error
	if !f.within(settlesWithin, func() bool {
		conn, err := nats.Connect(fmt.Sprintf("nats://%s:%d", machines["nats-1"].address, secure.ClientPort), nats.UserCredentialBytes(creds),
			nats.RootCAs(filepath.Join(s.folder, secure.CA)))
		if err == nil {
			conn.Close()
		}
		refused = err
		return errors.Is(err, nats.ErrAuthorization)
	}) {
		t.Errorf("a user that was removed while nats-1 was down connects to it: %v", refused)
	}
	s.as(0, "", secure.Operator, "bus", "check")
}

const notAllowed = "the permissions of this NATS user do not allow it"

// TestASecureCluster connects without credentials, and as users who may do some things, and removes and renews them.
func TestASecureCluster(t *testing.T) {
	t.Parallel()
	s := secureCluster(t)
	plain := fmt.Sprintf("nats://127.0.0.1:%d", s.port)
	ca := nats.RootCAs(filepath.Join(s.folder, secure.CA))
	for what, options := range map[string][]nats.Option{"without TLS": {}, "without credentials": {ca}} {
		if conn, err := nats.Connect(plain, options...); err == nil {
			conn.Close()
			t.Errorf("a client connects %s", what)
		}
	}
	s.nodeWorks()
	s.does("user", "add", "ann", "--role", "deployer", "--namespace", "demo")
	s.does("user", "add", "vera", "--role", "viewer", "--namespace", "demo", "--namespace", "other")
	s.does("user", "add", "bob", "--role", "auditor")
	s.does("user", "add", "ed", "--role", "exec", "--namespace", "demo")
	s.as(0, "", "ann", "ensure", "demo/web", "--image", "localhost/web:1")
	s.as(0, "", secure.Operator, "ensure", "secret/web", "--image", "localhost/web:1")
	for _, user := range []string{"ann", "vera", "ed"} {
		s.as(0, "demo/web", user, "ps")
		s.as(1, notAllowed, user, "scale", "secret/web", "2")
		s.as(1, notAllowed, user, "node", "pause", "node-0")
	}
	s.as(1, notAllowed, "vera", "scale", "demo/web", "2")
	s.as(1, notAllowed, "ann", "logs", "demo/web")
	opened := subscribe(t, s.bus(secure.Operator), events.EventRoot+".service.demo.web.instance.session-opened")
	s.as(0, "", "ed", "logs", "demo/web")
	receive(t, opened)
	s.as(0, "instance.session-opened", secure.Operator, "events", "demo", "--actor", "ed")
	s.as(1, "there is no service secret/web", "ed", "logs", "secret/web")
	s.as(1, notAllowed, "vera", "events", "demo")
	s.seesItsOwn()
	s.usesNATS("ann")
	s.asksByItself("ann")
	s.as(0, "  ann  ", "vera", "history", "demo/web", "--actor", "ann", "--output", "wide")
	s.as(0, ", by ann", secure.Operator, "events", "demo", "--actor", "ann")
	s.as(0, "", secure.Operator, "scale", "demo/web", "1")
	s.as(0, `"actor":"operator"`, "vera", "history", "demo/web", "--output", "json")

	s.renews()

	old := [][]byte{
		s.removed("ann", func() { s.does("user", "rm", "ann") }),
		s.removed("vera", func() { s.does("user", "rotate", "vera") }),
	}
	s.as(0, "demo/web", "vera", "ps")
	s.server.kill()
	s.start()
	s.connect("vera")
	for _, creds := range old {
		conn, err := nats.Connect(plain, nats.UserCredentialBytes(creds), ca)
		if err == nil {
			conn.Close()
		}
		if !errors.Is(err, nats.ErrAuthorization) {
			t.Errorf("a client connects with revoked credentials: %v", err)
		}
	}
}

// seesItsOwn shows that users of a namespace see nothing of others, and an auditor sees all.
func (s *secured) seesItsOwn() {
	s.Helper()
	for _, user := range []string{"ann", "vera", "ed", "bob"} {
		for _, words := range [][]string{{"ps"}, {"services"}, {"ops"}, {"nodes"}, {"explain", "demo/web"}, {"inspect", "demo/web"}} {
			out, code := rookery(s, append(words, "--context", s.context(user))...)
			if code != 0 || strings.Contains(out, "secret") != (user == "bob" && slices.Contains([]string{"ps", "services"}, words[0])) {
				s.Errorf("%q as %s: exit %d: %s", words, user, code, out)
			}
		}
	}
	for _, user := range []string{"ann", "vera", "ed"} {
		s.as(1, notAllowed, user, "explain", "secret/web")
		s.as(1, notAllowed, user, "history", "secret/web")
		s.as(1, "there is no namespace secret", user, "ps", "--namespace", "secret")
	}
	s.as(0, "ensure", "bob", "history", "secret/web")
}

// renews renews the certificate of the server, which takes it while it runs: a connection stays, and another one sees it.
func (s *secured) renews() {
	s.Helper()
	serial := func(conn *nats.Conn) string {
		s.Helper()
		state, err := conn.TLSConnectionState()
		if err != nil {
			s.Fatal(err)
		}
		return state.PeerCertificates[0].SerialNumber.String()
	}
	stays := s.connect("bob")
	stays.SetDisconnectErrHandler(func(_ *nats.Conn, err error) {
		if err != nil {
			s.Errorf("a connection ends as the certificate is renewed: %v", err)
		}
	})
	before := serial(stays)
	out := s.does("secure", "renew")
	if !strings.Contains(out, "nats-server --signal reload") {
		s.Errorf("secure renew says %s", out)
	}
	s.server.signal(syscall.SIGHUP)
	if !s.server.prints("Reloaded: tls") {
		s.Errorf("the server does not take the certificate: %s", s.server.output)
	}
	if serial(s.connect("bob")) == before {
		s.Error("the server still has the certificate of before")
	}
	s.as(0, "demo/web", "bob", "ps")
	if err := stays.Flush(); err != nil {
		s.Error(err)
	}
	s.as(1, ": that of nats-1", secure.Operator, "doctor", "--podman", "unix:///none")
	s.as(1, "rookery: 1 of 10 checks found a problem: podman", secure.Operator, "doctor", "--podman", "unix:///none")
	stays.SetDisconnectErrHandler(nil)
}

// usesNATS drives a namespace with the nats CLI alone, as a deployer of demo.
func (s *secured) usesNATS(user string) {
	s.Helper()
	path, err := natsCLI()
	if err != nil {
		s.Fatal(err)
	}
	home := s.TempDir()
	folder := filepath.Join(home, "nats", "context")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		s.Fatal(err)
	}
	if err := os.Symlink(s.context(user), filepath.Join(folder, user+".json")); err != nil {
		s.Fatal(err)
	}
	env := []string{"HOME=" + home, "XDG_CONFIG_HOME=" + home, "PATH=/usr/bin:/bin"}
	seen := startProgramIn(s.TB, path, env, "--context", user, "sub", "rookery.event.service.demo.>", "rookery.view.*.demo.>", "rookery.fate."+user+".>")
	sees := func(what string) {
		s.Helper()
		if !seen.prints(what) {
			s.Fatalf("nats sub does not show %s: %s", what, seen.output)
		}
	}
	sees("Subscribing on")
	const denied = "Permissions Violation for "
	for _, row := range []struct {
		words []string
		says  string
	}{
		{[]string{"req", events.CommandBy(user, "rookery.cmd.service.demo.web.scale"), `{"scale":3}`}, `"stream":"ROOKERY_COMMANDS"`},
		{[]string{"pub", events.CommandBy(user, "rookery.cmd.service.secret.web.scale"), `{"scale":3}`}, denied + "Publish"},
		{[]string{"req", events.QuestionBy(user, "demo", "services"), `{"namespace":"demo"}`}, `"name":"web"`},
		{[]string{"req", events.QuestionBy(user, "demo", "services"), `{}`}, "about the namespace demo alone: name it"},
		{[]string{"pub", events.QuestionBy(user, "secret", "services"), `{"namespace":"secret"}`}, denied + "Publish"},
		{[]string{"sub", "rookery.event.service.secret.>"}, denied + "Subscription"},
	} {
		cmd := exec.CommandContext(s.Context(), path, append([]string{"--context", user}, row.words...)...)
		cmd.Env = env
		out, err := cmd.CombinedOutput()
		if (err != nil) != strings.HasPrefix(row.says, denied) || !strings.Contains(string(out), row.says) {
			s.Errorf("nats %q: %v: %s", row.words, err, out)
		}
	}
	sees("rookery.event.service.demo.web.command.succeeded")
	sees("rookery.view.services.demo.web")
	sees("rookery.fate." + user + ".")
	seen.signal(syscall.SIGINT)
	<-seen.ended
}

// nodeWorks makes the node read a config and keep a snapshot of a volume. It may not write a config.
func (s *secured) nodeWorks() {
	s.Helper()
	spec, words := filepath.Join(s.TempDir(), "kept.json"), filepath.Join(s.TempDir(), "words")
	for path, text := range map[string]string{
		words: "hello",
		spec:  `{"image":"localhost/db:1","configs":[{"name":"words","path":"/etc/words"}],"volumes":[{"name":"data","path":"/data","state":true}]}`,
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			s.Fatal(err)
		}
	}
	s.as(0, "", secure.Operator, "config", "put", "demo/words", words)
	s.as(0, "", secure.Operator, "ensure", "demo/kept", "--file", spec)
	s.as(0, "", secure.Operator, "snapshot", "demo/kept")
	s.as(0, "", secure.Operator, "suspend", "demo/kept")
	s.as(0, "", secure.Operator, "resume", "demo/kept")
	s.as(1, "Permissions Violation for Publish", "node-0", "config", "put", "demo/words", words)
}

// asksByItself sends commands as the nats CLI does. The answer to one goes where the user says, among its like alone: it cannot write a config with it.
func (s *secured) asksByItself(user string) {
	s.Helper()
	conn, operator := s.connect(user), s.bus(secure.Operator)
	configs, err := operator.Bucket(s.Context(), bus.BucketConfigs)
	if err != nil {
		s.Fatal(err)
	}
	command := events.CommandBy(user, "rookery.cmd.service.demo.web.scale")
	for _, reply := range []string{"$KV." + bus.BucketConfigs + ".demo.evil", ""} {
		seen, err := operator.Subscribe(events.EventRoot + ".service.demo.web.command.succeeded")
		if err != nil {
			s.Fatal(err)
		}
		m := &nats.Msg{Subject: command, Data: []byte(`{"scale":2}`), Reply: reply}
		if reply == "" {
			_, err = conn.RequestMsg(m, settlesWithin)
		} else {
			err = conn.PublishMsg(m)
		}
		if err != nil {
			s.Fatal(err)
		}
		select {
		case m := <-seen.Messages():
			if events.ActorOf(m) != user {
				s.Errorf("the command was sent by %q", events.ActorOf(m))
			}
		case <-time.After(settlesWithin):
			s.Errorf("the command to %q has no outcome", reply)
		}
		seen.Stop()
	}
	if all, err := configs.All(s.Context()); err != nil || len(all) != 1 {
		s.Errorf("there are %d configs, want 1: %v", len(all), err)
	}
	denied := make(chan error, 1)
	conn.SetErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { denied <- err })
	for _, subject := range []string{events.CommandBy("operator", "rookery.cmd.service.demo.web.scale"), "rookery.cmd.service.demo.web.scale", "$KV.rookery_configs.demo.evil"} {
		if err := conn.Publish(subject, []byte(`{"scale":3}`)); err != nil {
			s.Fatal(err)
		}
		select {
		case err := <-denied:
			if !strings.Contains(err.Error(), strconv.Quote(subject)) {
				s.Errorf("%s is denied with %v", subject, err)
			}
		case <-time.After(settlesWithin):
			s.Errorf("%s may publish to %s", user, subject)
		}
	}
}

// removed connects as a user whose credentials are revoked then, and returns these.
func (s *secured) removed(user string, revoke func()) []byte {
	s.Helper()
	creds, err := os.ReadFile(filepath.Join(s.folder, secure.CredsFile(user)))
	if err != nil {
		s.Fatal(err)
	}
	closed := make(chan struct{})
	gone := s.connect(user)
	gone.SetDisconnectErrHandler(func(*nats.Conn, error) { close(closed) })
	gone.SetReconnectHandler(func(*nats.Conn) { s.Errorf("%s connects again", user) })
	revoke()
	select {
	case <-closed:
	case <-time.After(settlesWithin):
		s.Errorf("the connection of %s stays open", user)
	}
	gone.Close()
	return creds
}
