package secure_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/rookery-project/rookery/cmd/rookery/secure"
)

// served is a NATS server that the test runs, and how to connect to it.
type served struct {
	*testing.T
	url   string
	files secure.Files // nil for a server without accounts
}

// serve runs a server with the accounts of a new cluster until the test ends. Its configuration names files beside it, so the test goes there.
func serve(t *testing.T) *served {
	t.Helper()
	files, err := secure.Make([]secure.Server{{Name: "nats-1", Address: "127.0.0.1"}}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	const under = "servers/nats-1/"
	for name, content := range files {
		if below, is := strings.CutPrefix(name, under); is {
			text := strings.ReplaceAll(string(content), fmt.Sprintf("0.0.0.0:%d", secure.ClientPort), "127.0.0.1:-1")
			if err := os.WriteFile(filepath.Join(folder, below), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Chdir(folder)
	options, err := server.ProcessConfigFile("nats.conf")
	if err != nil {
		t.Fatal(err)
	}
	return &served{t, runs(t, options), files}
}

// serveOpen runs a server without accounts until the test ends.
func serveOpen(t *testing.T) *served {
	t.Helper()
	return &served{t, runs(t, &server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir()}), nil}
}

func runs(t *testing.T, options *server.Options) (url string) {
	t.Helper()
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
	return s.ClientURL()
}

// connect connects as a user of the role until the test ends. A server without accounts does not ask who connects.
func (s *served) connect(user secure.User, more ...nats.Option) *nats.Conn {
	s.Helper()
	options := append([]nats.Option{nats.Timeout(time.Minute), nats.CustomInboxPrefix("_INBOX." + user.Name), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})}, more...)
	if s.files != nil {
		made, err := secure.NewUser(s.files, user)
		if err != nil {
			s.Fatal(err)
		}
		ca := filepath.Join(s.TempDir(), "ca.crt")
		if err := os.WriteFile(ca, s.files[secure.CA], 0o600); err != nil {
			s.Fatal(err)
		}
		options = append(options, nats.UserCredentialBytes(made[secure.CredsFile(user.Name)]), nats.RootCAs(ca))
	}
	conn, err := nats.Connect(s.url, options...)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(conn.Close)
	return conn
}
