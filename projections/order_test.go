package projections_test

import (
	"reflect"
	"testing"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// peered gives the service a spec with a template over all peers.
func peered() events.Data {
	spec := events.Spec{
		Image: "localhost/web:1", Ports: []events.Port{{Name: "http", Port: 80}, {Name: "admin", Port: 81}},
		Args: []string{`{{.Address "http"}}`, `{{join (.Peers "admin") ","}}`, "plain"},
		Env:  map[string]string{"ME": "{{.Namespace}}/{{.Service}}/{{.Ordinal}}/{{.Generation}}"},
	}
	return events.ServiceRevised{Revision: 1, Spec: spec, Hash: spec.Hash()}
}

func placedOn(ordinal, generation uint32, address string, http, admin uint16) events.Data {
	return events.InstancePlaced{
		Ordinal: ordinal, Generation: generation, Revision: 1, Node: "n", Address: address,
		Ports: []events.PortBinding{{Name: "http", Port: 80, HostPort: http}, {Name: "admin", Port: 81, HostPort: admin}},
	}
}

func TestOrdersAreRenderedOverWhatIsKnown(t *testing.T) {
	w := writer{t: t}
	w.closed(peered(), events.ServiceScaled{Scale: 3}, placedOn(0, 1, "10.0.0.1", 20000, 20001), placedOn(2, 1, "fd00::3", 20000, 20001))
	w.closed(events.InstanceRetired{Ordinal: 0, Generation: 1, Reason: events.RetirePortConflict}, placedOn(0, 2, "10.0.0.2", 20004, 20005))
	f, err := fold(w.log)
	if err != nil {
		t.Fatal(err)
	}
	id := func(ordinal, generation uint32) events.InstanceID {
		return events.InstanceID{Service: web, Ordinal: ordinal, Generation: generation}
	}
	order := func(c *projections.Cluster, id events.InstanceID) events.Order {
		return c.Rendered(id, c.Order(c.Instance(id)))
	}
	before := f.Cluster.Hash()
	const peers = "10.0.0.2:20005,,[fd00::3]:20001" // the second slot has no instance, and the first one's new instance counts
	for want, id := range map[string]events.InstanceID{"10.0.0.2:20004": id(0, 2), "[fd00::3]:20000": id(2, 1)} {
		o := order(f.Cluster, id)
		if args := []string{want, peers, "plain"}; !reflect.DeepEqual(o.Spec.Args, args) {
			t.Errorf("%s has the arguments %q, want %q", id, o.Spec.Args, args)
		}
		me := "demo/web/0/2"
		if id.Ordinal == 2 {
			me = "demo/web/2/1"
		}
		if o.Spec.Env["ME"] != me || o.Hash != peered().(events.ServiceRevised).Hash {
			t.Errorf("%s has the variables %q under hash %s", id, o.Spec.Env, o.Hash)
		}
	}
	if o := order(f.Cluster, id(0, 1)); o.Action != events.ActionStop || o.Spec != nil {
		t.Errorf("the order to stop is %+v", o)
	}
	if f.Cluster.Hash() != before {
		t.Error("rendering changed the state")
	}
}
