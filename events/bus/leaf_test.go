package bus_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/events/bus/conformance"
)

// The configurations of a hub, of a leaf node, and what a leaf node may have beside that.
const (
	hubConfig = `
server_name: hub
listen: "127.0.0.1:-1"
jetstream {store_dir: %q, domain: hub}
leafnodes {listen: "127.0.0.1:-1"}
`
	leafConfig = `
server_name: leaf
listen: "127.0.0.1:-1"
leafnodes {remotes: [{url: "nats-leaf://127.0.0.1:%d"}]}
`
	leafMapped = `default_js_domain: {"$G": hub}`
	leafOwn    = `jetstream {store_dir: %q, domain: edge}`
)

// serve runs a NATS server with the configuration until the test ends. It returns where clients connect, and the options, with all ports.
func serve(t *testing.T, config string) (url string, options *server.Options) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "nats.conf")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
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
	if !s.ReadyForConnections(patience) {
		t.Fatal("the server is not ready")
	}
	return s.ClientURL(), options
}

// atURL returns the bus at the server.
func atURL(t *testing.T, url string, options ...nats.Option) *bus.JetStream {
	t.Helper()
	conn, err := nats.Connect(url, options...)
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

// atLeaf returns the bus at a leaf node that has joined a hub with all streams.
func atLeaf(t *testing.T, more string) *bus.JetStream {
	t.Helper()
	url, at := serve(t, fmt.Sprintf(hubConfig, t.TempDir()))
	hub := atURL(t, url)
	if err := hub.Init(within(t), 1); err != nil {
		t.Fatal(err)
	}
	url, _ = serve(t, fmt.Sprintf(leafConfig, at.LeafNode.Port)+more)
	leaf := atURL(t, url)
	joined, err := hub.Conn().SubscribeSync("joined")
	if err != nil {
		t.Fatal(err)
	}
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for ctx := within(t); ; {
		if err := leaf.Conn().Publish("joined", nil); err != nil {
			t.Fatal(err)
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			t.Fatal("the leaf node does not join the hub")
		}
		if waiting, _, err := joined.Pending(); err != nil || waiting > 0 {
			return leaf
		}
	}
}

// TestConformanceAtALeafNode does everything that a bus does at a leaf node without JetStream, which knows the domain of its hub.
func TestConformanceAtALeafNode(t *testing.T) {
	conformance.Test(t, func(t *testing.T) bus.Bus { return atLeaf(t, leafMapped) })
}

func TestALeafNodeThatDoesNotReachTheStreamsIsNamed(t *testing.T) {
	for name, row := range map[string]struct {
		more string
		is   error
		says string
	}{
		"without a domain": {"", bus.ErrNoAnswer, "server leaf has no JetStream and reaches none: if it is a leaf node, check its link to its hub, and set its default_js_domain to the hub's domain"},
		"with a JetStream of its own": {
			fmt.Sprintf(leafOwn, t.TempDir()), bus.ErrNoStream,
			`server leaf has a JetStream of its own, with the domain "edge": if it is a leaf node, connect to its hub, or to a leaf node without JetStream`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := atLeaf(t, row.more)
			for call, ask := range map[string]func() error{
				"State":  func() error { _, err := b.State(within(t), bus.Log); return err },
				"Latest": func() error { _, err := b.Latest(within(t), bus.Orders, "rookery.orders.>"); return err },
				"Read":   func() error { _, err := b.Read(within(t), bus.Log, 1); return err },
			} {
				if err := ask(); !errors.Is(err, row.is) || !strings.Contains(err.Error(), row.says) {
					t.Errorf("%s: %v; want %q", call, err, row.says)
				}
			}
			findings, err := b.Check(within(t))
			if errors.Is(row.is, bus.ErrNoStream) {
				if len(findings) != len(bus.Streams) || !strings.Contains(findings[0].Err().Error(), `in the domain "edge"`) {
					t.Errorf("Check: %+v", findings)
				}
			} else if !errors.Is(err, row.is) || !strings.Contains(err.Error(), row.says) {
				t.Errorf("Check: %v", err)
			}
		})
	}
}
