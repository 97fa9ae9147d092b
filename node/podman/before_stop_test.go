package podman_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strconv"
	"testing"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

// testBeforeStop lists and inspects a container to read its hook before a stop, and runs the hook.
func testBeforeStop(t *testing.T, b *bench) {
	plan := b.plan(t)
	hook := events.Hook{Exec: []string{"/web", "-env", "ROOKERY_PHASE=before_stop ROOKERY_ORDINAL=" + strconv.Itoa(int(plan.Instance.Ordinal))}}
	plan.Order.Spec.StopGrace = events.Duration(90 * time.Second)
	plan.Order.Spec.Ports = []events.Port{{Name: "http", Port: 80}}
	plan.Order.Spec.Hooks = &events.Hooks{BeforeStop: &hook}
	c := b.prepare(t, plan)
	b.start(t, c)
	listed, err := b.engine.List(t.Context(), owner)
	if err != nil {
		t.Fatal(err)
	}
	want := &node.BeforeStop{Drain: events.DefaultDrainDelay, Hook: &hook, Within: plan.Order.Spec.StopGrace}
	for who, found := range map[string]*node.Container{"Prepare": &c, "List": one(t, listed, plan.Instance), "Inspect": b.inspect(t, plan)} {
		if !reflect.DeepEqual(found.BeforeStop, want) {
			t.Errorf("%s says that it is asked %+v, want %+v", who, found.BeforeStop, want)
		}
	}
	why := events.Stopping{Phase: events.BeforeStop}
	if err := b.engine.Ask(t.Context(), c, hook, why, "127.0.0.1"); err != nil {
		t.Error(err)
	}
	posted := ""
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		posted = r.Method + " " + r.URL.Path + " " + string(body)
	}))
	defer server.Close()
	address, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.ParseUint(address.Port(), 10, 16)
	if err != nil {
		t.Fatal(err)
	}
	c.Ports = []events.PortBinding{{Name: "http", HostPort: uint16(port)}}
	if err := b.engine.Ask(t.Context(), c, events.Hook{HTTP: &events.HTTPHook{Port: "http", Path: "/stop"}}, why, "127.0.0.1"); err != nil {
		t.Error(err)
	}
	if want := `POST /stop {"phase":"before_stop"}`; posted != want {
		t.Errorf("the hook was asked %q, want %q", posted, want)
	}
}
