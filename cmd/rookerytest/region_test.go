package rookerytest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rookery-project/rookery/cmd/rookerytest"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/node/podman/podmantest"
	"github.com/rookery-project/rookery/projections/views"
)

// region is a cluster of hosts with a node each, which this machine reaches over their network.
type region struct {
	*rookerytest.Cluster
	t           *testing.T
	hosts       []*host
	bus         *service
	client      *http.Client
	coordinator *process
}

// startRegion starts a host with a node for each name, which is that of its zone and a number.
func startRegion(t *testing.T, names ...string) *region {
	t.Helper()
	n := newNetwork(t, seed(t))
	r := &region{t: t, client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
	var uris []string
	for _, name := range names {
		zone, _, _ := strings.Cut(name, "-")
		h := n.newHost(name, zone)
		r.hosts, uris = append(r.hosts, h), append(uris, h.uri)
	}
	podmantest.LoadWeb(t, uris...)
	r.bus = &service{folder: t.TempDir(), host: n.address(1), port: freePorts(t)}
	var url string
	r.bus.process, url = startServerAt(t, r.bus.folder, r.bus.host, r.bus.port)
	r.Cluster = rookerytest.Start(t, rookerytest.WithServer(url), rookerytest.WithoutCoordinator(), rookerytest.WithNodes(0))
	r.startCoordinator()
	for _, h := range r.hosts {
		joined := r.listen("node." + h.name + ".joined")
		h.startNode(r.URL, regionHeartbeat)
		joined()
	}
	return r
}

// regionHeartbeat is long enough that a node on a busy machine is not taken for a silent one.
const regionHeartbeat = 2 * time.Second

func (r *region) startCoordinator() {
	r.coordinator = startProcess(r.t, "coordinator", "--server", r.URL, "--heartbeat", regionHeartbeat.String())
}

// listen begins to listen for an event. The function that it returns waits for that event and returns its body.
func (r *region) listen(event string) func() string {
	r.t.Helper()
	heard, err := r.Conn.SubscribeSync(events.EventRoot + "." + event)
	if err != nil {
		r.t.Fatal(err)
	}
	// The server has it before any other connection can cause the event.
	if err := r.Conn.Flush(); err != nil {
		r.t.Fatal(err)
	}
	return func() string {
		r.t.Helper()
		defer heard.Unsubscribe() //nolint:errcheck // the connection ends with the test
		m, err := heard.NextMsg(time.Minute)
		if err != nil {
			r.t.Fatalf("no %s: %v", event, err)
		}
		return string(m.Data)
	}
}

// running returns the containers of all hosts by slot, which must all run.
func (r *region) running() map[string]shown {
	r.t.Helper()
	all := map[string]shown{}
	for _, h := range r.hosts {
		for _, c := range h.containers() {
			if other, twice := all[c.slot()]; twice {
				r.t.Errorf("%s is on %s and on %s", c.slot(), other.host.name, h.name)
			}
			if c.State != "running" {
				r.t.Errorf("%s is %s on %s", c.slot(), c.State, h.name)
			}
			all[c.slot()] = c
		}
	}
	return all
}

// visit asks an instance over HTTP, once.
func (r *region) visit(i views.Instance) (string, error) {
	const patience = 2 * time.Second
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://%s:%d/", i.Address, i.Ports[0].HostPort), nil)
	if err != nil {
		return "", err
	}
	response, err := r.client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close() //nolint:errcheck // it was read
	body, err := io.ReadAll(response.Body)
	return string(body), err
}

// instances returns the instances of the view, by slot.
func (r *region) instances() map[string]views.Instance {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	bucket, err := r.Bus().Bucket(ctx, bus.BucketInstances)
	if err != nil {
		r.t.Fatal(err)
	}
	entries, err := bucket.All(ctx)
	if err != nil {
		r.t.Fatal(err)
	}
	all := map[string]views.Instance{}
	for _, e := range entries {
		var i views.Instance
		if err := json.Unmarshal(e.Value, &i); err != nil {
			r.t.Fatalf("%s: %v: %s", e.Key, err, e.Value)
		}
		all[fmt.Sprintf("%s/%s/%d", i.Namespace, i.Name, i.Ordinal)] = i
	}
	return all
}
