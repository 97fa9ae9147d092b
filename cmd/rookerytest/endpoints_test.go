package rookerytest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections/views"
)

// TestEndpointsAreWithdrawnBeforeWhatTheyLeadToStops removes instances in each way that an operator can. It listens on one connection to
// endpoints and to orders, in the order in which the server gets them.
func TestEndpointsAreWithdrawnBeforeWhatTheyLeadToStops(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t)
	const most = 4096
	heard := make(chan *nats.Msg, most)
	for _, subject := range []string{"$KV." + bus.BucketEndpoints + ".demo.web.*", events.OrdersRoot + ".>"} {
		if _, err := cluster.Conn.ChanSubscribe(subject, heard); err != nil {
			t.Fatal(err)
		}
	}
	cluster.Ensure("demo/web", `{"image":"localhost/web:1","scale":3,"ports":[{"name":"http","port":80}]}`)
	cluster.Ensure("demo/web", `{"image":"localhost/web:2","scale":3,"ports":[{"name":"http","port":80}]}`)
	cluster.Command("demo/web", "scale", `{"scale":1}`)
	cluster.Command("demo/web", "scale", `{"scale":3}`)
	cluster.Command("demo/web", "restart", `{}`)
	cluster.Command("demo/web", "drop", `{}`)

	addresses := map[string]string{}
	cluster.Replay(func(records []events.Record) {
		for _, r := range records {
			if p, is := r.Data.(events.InstancePlaced); is {
				addresses[fmt.Sprintf("%d.%d", p.Ordinal, p.Generation)] = fmt.Sprintf("%s:%d", p.Address, p.Ports[0].HostPort)
			}
		}
	})
	var now views.Endpoints
	seen, stopped := 0, map[string]bool{}
	for len(stopped) < len(addresses) {
		var m *nats.Msg
		select {
		case m = <-heard:
		case <-time.After(10 * time.Second):
			t.Fatalf("%d of %d instances were told to stop", len(stopped), len(addresses))
		}
		if strings.HasPrefix(m.Subject, "$KV.") {
			now = views.Endpoints{}
			if m.Header.Get("KV-Operation") == "" {
				if err := json.Unmarshal(m.Data, &now); err != nil {
					t.Fatal(err)
				}
			}
			seen = max(seen, len(now.Addresses))
			continue
		}
		_, id, o, err := events.ParseOrder(events.Message{Subject: m.Subject, Body: m.Data, Header: events.Header(m.Header)})
		if err != nil || o.Action != events.ActionStop {
			continue
		}
		instance := fmt.Sprintf("%d.%d", id.Ordinal, id.Generation)
		stopped[instance] = true
		if slices.Contains(now.Addresses, views.Endpoint{Ordinal: id.Ordinal, Address: addresses[instance]}) {
			t.Errorf("the node is told to stop %s while the view still lists its address %s", id, addresses[instance])
		}
	}
	if seen != 3 {
		t.Errorf("at most %d were to be reached", seen)
	}
}
