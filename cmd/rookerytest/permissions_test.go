package rookerytest_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/rookery-project/rookery/cmd/rookerytest"
	"github.com/rookery-project/rookery/events"
)

// readViews are what `rookery logs` and `rookery exec` publish to look where instances are, as README.md has it.
const readViews = `"rookery.api.services", "rookery.api.instances"`

// permissions are of ann, who reads the logs of the namespace demo; of ben, who runs commands there; and of another account that asks
// questions.
const permissions = `
listen: "127.0.0.1:-1"
jetstream { store_dir: %q }
accounts {
	CLUSTER {
		jetstream: enabled
		exports: [{service: "rookery.api.>"}]
		users: [
			{user: admin, password: x}
			{user: ann, password: x, permissions: {
				publish: [%[2]s, "rookery.node.*.logs.demo.>"], subscribe: ["_INBOX.ann.>", "rookery.session.ann.>", "rookery.event.service.demo.>"]
			}}
			{user: ben, password: x, permissions: {publish: [%[2]s, "rookery.node.*.exec.demo.>"], subscribe: ["_INBOX.ben.>", "rookery.session.ben.>"]}}
			{user: carl, password: x, permissions: {publish: ["rookery.api.services"], subscribe: ["_INBOX.carl.>"]}}
		]
	}
	OTHER {
		imports: [{service: {account: CLUSTER, subject: "rookery.api.>"}}]
		users: [{user: other, password: x}]
	}
}
`

// guarded runs a NATS server with users, and returns the URL of one.
func guarded(t *testing.T) func(user string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "nats.conf")
	if err := os.WriteFile(path, fmt.Appendf(nil, permissions, t.TempDir(), readViews), 0o600); err != nil {
		t.Fatal(err)
	}
	options, err := server.ProcessConfigFile(path)
	if err != nil {
		t.Fatal(err)
	}
	options.NoSigs, options.NoLog = true, true
	s, err := server.NewServer(options)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	if !s.ReadyForConnections(time.Minute) {
		t.Fatal("the server is not ready")
	}
	return func(user string) string {
		return strings.Replace(s.ClientURL(), "nats://", "nats://"+user+":x@", 1)
	}
}

// contexts writes a NATS context for each user, with an inbox prefix of its own, and returns the environment of a process that finds them.
func contexts(t *testing.T, url func(string) string, users ...string) []string {
	t.Helper()
	home := t.TempDir()
	folder := filepath.Join(home, "nats", "context")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, user := range users {
		body, err := json.Marshal(map[string]string{"url": url(user), "inbox_prefix": "_INBOX." + user})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, user+".json"), body, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return append(os.Environ(), "XDG_CONFIG_HOME="+home)
}

func TestPermissionsOfLogsAndExec(t *testing.T) {
	t.Parallel()
	url := guarded(t)
	env := contexts(t, url, "ann", "ben", "carl")
	cluster := rookerytest.Start(t, rookerytest.WithServer(url("admin")))
	cluster.Ensure("demo/web", `{"image":"localhost/web:1"}`)
	cluster.Ensure("secret/web", `{"image":"localhost/web:1"}`)
	printTo(t, cluster, 0, 1, "hello")
	const forbidden = "the permissions of this NATS user do not allow it"
	for _, row := range []struct {
		user string
		args []string
		code int
		says string
	}{
		{"ann", []string{"logs", "demo/web"}, 0, "0.1   | hello\n"},
		{"ann", []string{"logs", "secret/web"}, 1, forbidden},
		{"ann", []string{"exec", "demo/web", "echo", "x"}, events.ExitExecFailed, forbidden},
		{"ben", []string{"exec", "demo/web/0", "echo", "x"}, 0, "x\n"},
		{"ben", []string{"exec", "secret/web/0", "echo", "x"}, events.ExitExecFailed, forbidden},
		{"ben", []string{"logs", "demo/web"}, 1, forbidden},
	} {
		out, code := rookeryIn(t, env, append([]string{row.args[0], "--context", row.user}, row.args[1:]...)...)
		if code != row.code || !strings.Contains(out, row.says) {
			t.Errorf("%s: %q ended with %d: %s", row.user, row.args, code, out)
		}
	}

	p := startProcessIn(t, env, "logs", "demo/web", "--follow", "--context", "ann")
	p.says(cluster, "0.1   | hello")
	printTo(t, cluster, 0, 1, "again")
	p.says(cluster, "0.1   | again")
	p.signal(syscall.SIGINT)
	<-p.ended
}

// TestInboxesArePrivate lets a user ask for answers in the inbox of another user, and on subjects that it may not publish to. Another
// account asks as well.
func TestInboxesArePrivate(t *testing.T) {
	t.Parallel()
	url := guarded(t)
	cluster := rookerytest.Start(t, rookerytest.WithServer(url("admin")), rookerytest.WithNodes(0))
	connect := func(user string, options ...nats.Option) *nats.Conn {
		conn, err := nats.Connect(url(user), append(options, nats.PermissionErrOnSubscribe(true), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(conn.Close)
		return conn
	}
	carl := connect("carl", nats.CustomInboxPrefix("_INBOX.carl"))
	if _, err := carl.Request("rookery.api.services", nil, time.Minute); err != nil {
		t.Errorf("carl's question: %v", err)
	}
	if _, err := connect("other").Request("rookery.api.services", nil, time.Minute); err != nil {
		t.Errorf("the question of another account: %v", err)
	}
	heard, err := carl.SubscribeSync("_INBOX.ann.>")
	if err == nil {
		_, err = heard.NextMsg(time.Minute)
	}
	if err == nil || !strings.Contains(err.Error(), strconv.Quote("_INBOX.ann.>")) {
		t.Errorf("carl hears the inboxes of ann: %v", err)
	}
	commands, err := cluster.Conn.SubscribeSync("rookery.cmd.>")
	if err != nil {
		t.Fatal(err)
	}
	if err := cluster.Conn.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := carl.PublishRequest("rookery.api.services", "rookery.cmd.service.demo.web.drop", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := carl.Request("rookery.api.services", nil, time.Minute); err != nil {
		t.Fatal(err)
	}
	if m, err := commands.NextMsg(time.Second); err == nil {
		t.Errorf("a command was published for carl: %s %s", m.Subject, m.Data)
	}
}
