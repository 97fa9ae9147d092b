package bus_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/rookery-project/rookery/events/bus"
)

func TestAnOldServerIsNamed(t *testing.T) {
	for version, supported := range map[string]bool{
		"2.9.25": false, "2.11.9": false, "2.12.0-RC.1": false, bus.OldestServer: true, "2.12.3": true, "2.15.2": true, "3.0.0": true,
		"1.99.99": false, "": true, "dev": true,
	} {
		err := bus.Server{Name: "n1", Version: version}.Err()
		if (err == nil) != supported || (err != nil && !errors.Is(err, bus.ErrOldServer)) {
			t.Errorf("version %q: %v", version, err)
		}
	}
}

const clusterConfig = `
server_name: %s
listen: "127.0.0.1:-1"
cluster {name: test, listen: "127.0.0.1:-1", routes: [%s]}
authorization {user: a, password: b}
`

// TestServersThatAreDiscoveredAreSeen connects to one of two servers as a user.
func TestServersThatAreDiscoveredAreSeen(t *testing.T) {
	url, first := serve(t, fmt.Sprintf(clusterConfig, "n1", ""))
	b := atURL(t, strings.Replace(url, "nats://", "nats://a:b@", 1))
	serve(t, fmt.Sprintf(clusterConfig, "n2", fmt.Sprintf("\"nats://127.0.0.1:%d\"", first.Cluster.Port)))
	want := []bus.Server{{Name: "n1", Version: server.VERSION}, {Name: "n2", Version: server.VERSION}}
	for ctx := within(t); ctx.Err() == nil; {
		if slices.Equal(b.Servers(ctx), want) {
			return
		}
	}
	t.Errorf("%v are seen, want %v", b.Servers(within(t)), want)
}

// TestServersAreSeenWithTheirVersions looks at one server, and from a leaf node, whose hub has the log.
func TestServersAreSeenWithTheirVersions(t *testing.T) {
	if got, want := open(t).Servers(within(t)), []bus.Server{{Name: "rookery", Version: server.VERSION}}; !slices.Equal(got, want) {
		t.Errorf("the server is seen as %v, want %v", got, want)
	}
	want := []bus.Server{{Name: "hub", Version: server.VERSION}, {Name: "leaf", Version: server.VERSION}}
	if got := atLeaf(t, leafMapped).Servers(within(t)); !slices.Equal(got, want) {
		t.Errorf("from the leaf node %v are seen, want %v", got, want)
	}
}
