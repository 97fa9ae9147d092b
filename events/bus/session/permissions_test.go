package session_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/events/bus/session"
)

// permissions are those that README.md names: of a node, of ann who reads the logs of the namespace demo, and of ben who runs commands
// there. Both look up where instances are: the second argument is the list of subjects that they publish to for that.
const permissions = `
listen: "127.0.0.1:-1"
jetstream { store_dir: %q }
authorization {
	users: [
		{user: admin, password: x}
		{user: edge, password: x, permissions: {publish: ["rookery.session.*.edge.>"], subscribe: ["rookery.node.edge.>"], allow_responses: true}}
		{user: ann, password: x, permissions: {
			publish: [%[2]s, "rookery.node.*.logs.demo.>"], subscribe: ["_INBOX.ann.>", "rookery.session.ann.>", "rookery.event.service.demo.>"]
		}}
		{user: ben, password: x, permissions: {publish: [%[2]s, "rookery.node.*.exec.demo.>"], subscribe: ["_INBOX.ben.>", "rookery.session.ben.>"]}}
	]
}
`

const looking = `"$JS.API.STREAM.INFO.ROOKERY_LOG",
	"$JS.API.STREAM.INFO.KV_rookery_services", "$JS.API.CONSUMER.*.KV_rookery_services.>",
	"$JS.API.STREAM.INFO.KV_rookery_instances", "$JS.API.CONSUMER.*.KV_rookery_instances.>"`

// guarded runs a NATS server with these users, and returns how to connect as one.
func guarded(t *testing.T) (as func(user string) *bus.JetStream) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "nats.conf")
	if err := os.WriteFile(path, fmt.Appendf(nil, permissions, t.TempDir(), looking), 0o600); err != nil {
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
	return func(user string) *bus.JetStream {
		conn, err := nats.Connect(s.ClientURL(), nats.UserInfo(user, "x"), nats.CustomInboxPrefix("_INBOX."+user), nats.PermissionErrOnSubscribe(true),
			nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(conn.Close)
		b, err := bus.New(conn)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
}

// TestPermissionsOfANamespaceHold opens sessions of each kind in the user's namespace and in another.
func TestPermissionsOfANamespaceHold(t *testing.T) {
	as := guarded(t)
	edge := as("edge")
	for _, kind := range events.SessionKinds {
		stop, err := session.Serve(edge, plainly(events.SessionSubjects("edge", kind)), 10, func(ctx context.Context, c *session.Conn, _ events.Message) ([]byte, error) {
			f, err := c.Receive(ctx)
			return f.Body, errors.Join(err, c.Send(ctx, "x", f.Body))
		})
		if err != nil {
			t.Fatal(err)
		}
		defer stop()
	}
	if err := edge.Conn().Flush(); err != nil {
		t.Fatal(err)
	}
	ann, ben := as("ann"), as("ben")
	for _, row := range []struct {
		user      string
		b         bus.Bus
		kind      events.SessionKind
		namespace string
		allowed   bool
	}{
		{"ann", ann, events.SessionLogs, "demo", true},
		{"ann", ann, events.SessionLogs, "secret", false},
		{"ann", ann, events.SessionExec, "demo", false},
		{"ben", ben, events.SessionExec, "demo", true},
		{"ben", ben, events.SessionExec, "secret", false},
		{"ben", ben, events.SessionLogs, "demo", false},
	} {
		id := events.InstanceID{Service: events.ServiceID{Namespace: row.namespace, Name: "web"}, Generation: 1}
		ctx, cancel := context.WithCancel(t.Context())
		if !row.allowed { // the server says so at once, but beside the request
			ctx, cancel = context.WithTimeout(ctx, time.Second)
		}
		defer cancel()
		c, err := session.Open(ctx, row.b, events.SessionSubject("", "edge", row.kind, id), nil)
		if !row.allowed {
			if !errors.Is(err, bus.ErrForbidden) {
				t.Errorf("%s: %s of %s gave %v", row.user, row.kind, row.namespace, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %s of %s gave %v", row.user, row.kind, row.namespace, err)
			continue
		}
		if err := c.Send(t.Context(), "x", []byte("hello")); err != nil {
			t.Error(err)
		}
		if f, err := c.Receive(t.Context()); err != nil || string(f.Body) != "hello" {
			t.Errorf("%s: the session has %q, %v", row.user, f.Body, err)
		}
		c.Close(nil, nil)
	}
}

// TestInboxesAreOnesOwn holds a user to look up where instances are, and to be refused the inboxes of another user.
func TestInboxesAreOnesOwn(t *testing.T) {
	as := guarded(t)
	admin, ann := as("admin"), as("ann")
	if err := admin.Init(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	for _, name := range bus.Views {
		view, err := admin.Bucket(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := view.Put(t.Context(), "demo.web", []byte("{}"), 0); err != nil {
			t.Fatal(err)
		}
	}
	for _, subject := range []string{"_INBOX.ben.>", "_INBOX.>"} {
		heard, err := ann.Conn().SubscribeSync(subject)
		if err == nil {
			_, err = heard.NextMsg(time.Minute)
		}
		if err == nil || !strings.Contains(err.Error(), `"`+subject+`"`) {
			t.Errorf("ann hears %s: %v", subject, err)
		}
	}
	for _, name := range []string{bus.BucketServices, bus.BucketInstances} {
		view, err := ann.Bucket(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if all, err := view.All(t.Context()); err != nil || len(all) != 1 {
			t.Errorf("ann reads %d of %s: %v", len(all), name, err)
		}
	}
	if _, err := ann.State(t.Context(), bus.Log); err != nil {
		t.Errorf("ann looks at the log: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := ann.Purge(ctx, bus.Log, 1); err == nil {
		t.Error("ann purges the log")
	}
}

// plainly is where sessions are opened where accounts are off.
func plainly(_, plain string) []string { return []string{plain} }
