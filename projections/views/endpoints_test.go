package views_test

import (
	"testing"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
	"github.com/rookery-project/rookery/projections/views"
)

// TestEndpointsAreWhatServesAndShall checks the endpoints of a service of two slots, event by event.
func TestEndpointsAreWhatServesAndShall(t *testing.T) {
	c, web, sequence := projections.NewCluster(), events.ServiceID{Namespace: "demo", Name: "web"}, uint64(0)
	seen := func(ordinal, generation uint32, phase events.Phase) events.InstanceSeen {
		return events.InstanceSeen{Ordinal: ordinal, Generation: generation, Node: "n", Position: events.Position{Epoch: 1, Phase: phase}}
	}
	placed := func(ordinal, generation uint32, port uint16) events.Data {
		return events.InstancePlaced{
			Ordinal: ordinal, Generation: generation, Revision: 1, Node: "n", Address: "10.0.0.7",
			Ports: []events.PortBinding{{Name: "http", Port: 80, HostPort: port}},
		}
	}
	online := func(ordinal, generation uint32) events.Data {
		return events.InstanceOnline{InstanceSeen: seen(ordinal, generation, events.PhaseOnline)}
	}
	offline := seen(1, 1, events.PhaseOffline)
	offline.Reason = events.OfflineExited
	spec := events.Spec{Image: "localhost/web:1", Ports: []events.Port{{Name: "http", Port: 80}}}
	other := events.Spec{Image: "localhost/web:1", Ports: []events.Port{{Name: "rpc", Port: 81}}}
	const none, first, second, both = `[]`, `[{"ordinal":0,"address":"10.0.0.7:20000"}]`, `[{"ordinal":1,"address":"10.0.0.7:20001"}]`,
		`[{"ordinal":0,"address":"10.0.0.7:20000"},{"ordinal":1,"address":"10.0.0.7:20001"}]`
	for _, step := range []struct {
		data events.Data
		http string // the addresses; "" where there is no such port
	}{
		{events.ServiceRevised{Revision: 1, Spec: spec, Hash: spec.Hash()}, none},
		{events.ServiceScaled{Scale: 2}, none},
		{placed(1, 1, 20001), none},
		{online(1, 1), second},
		{placed(0, 1, 20000), second},
		{online(0, 1), both},
		{events.InstanceOffline{InstanceSeen: offline}, first},
		{events.InstanceRetired{Generation: 1, Reason: events.RetireScaledDown}, none},
		{events.ServiceRevised{Revision: 2, Spec: other, Hash: other.Hash()}, ""},
	} {
		sequence++
		record := events.Record{Event: events.Event{Scope: events.ServiceScope(web), Data: step.data}, Sequence: sequence, Time: time.Unix(int64(sequence), 0).UTC()}
		if err := c.Apply(record); err != nil {
			t.Fatal(err)
		}
		key, want := views.Key{Bucket: bus.BucketEndpoints, Key: "demo.web.http"}, ""
		if step.http != "" {
			want = `{"namespace":"demo","name":"web","port":"http","addresses":` + step.http + `,"sequence":0}`
		}
		if got := string(views.All(c).Values[key]); got != want {
			t.Errorf("after %d, %T, http is %s, want %s", sequence, step.data, got, want)
		}
		if changed, is := views.Of(c, []events.Record{record}).Values[key]; is && string(changed) != want {
			t.Errorf("the changes of %d, %T, have http at %s, want %s", sequence, step.data, changed, want)
		}
	}
}

// TestASuccessorIsReachedOnceItServes moves the instance of a slot: its address stays until the address of its successor replaces it.
func TestASuccessorIsReachedOnceItServes(t *testing.T) {
	c, web, sequence := projections.NewCluster(), events.ServiceID{Namespace: "demo", Name: "web"}, uint64(0)
	placed := func(generation, replaces uint32, node, address string) events.Data {
		return events.InstancePlaced{
			Generation: generation, Revision: 1, Node: node, Address: address, Replaces: replaces,
			Ports: []events.PortBinding{{Name: "http", Port: 80, HostPort: 20000}},
		}
	}
	online := func(generation uint32, node string) events.Data {
		seen := events.InstanceSeen{Generation: generation, Node: node, Position: events.Position{Epoch: 1, Phase: events.PhaseOnline}}
		return events.InstanceOnline{InstanceSeen: seen}
	}
	spec := events.Spec{Image: "localhost/web:1", Ports: []events.Port{{Name: "http", Port: 80}}}
	for _, step := range []struct {
		data    events.Data
		address string
	}{
		{events.ServiceRevised{Revision: 1, Spec: spec, Hash: spec.Hash()}, ""},
		{events.ServiceScaled{Scale: 1}, ""},
		{placed(1, 0, "n", "10.0.0.7"), ""},
		{online(1, "n"), "10.0.0.7:20000"},
		{placed(2, 1, "o", "10.0.0.8"), "10.0.0.7:20000"},
		{online(2, "o"), "10.0.0.8:20000"},
		{events.InstanceRetired{Generation: 1, Reason: events.RetireMoved}, "10.0.0.8:20000"},
	} {
		sequence++
		record := events.Record{Event: events.Event{Scope: events.ServiceScope(web), Data: step.data}, Sequence: sequence, Time: time.Unix(int64(sequence), 0).UTC()}
		if err := c.Apply(record); err != nil {
			t.Fatal(err)
		}
		want := `{"namespace":"demo","name":"web","port":"http","addresses":[],"sequence":0}`
		if step.address != "" {
			want = `{"namespace":"demo","name":"web","port":"http","addresses":[{"ordinal":0,"address":"` + step.address + `"}],"sequence":0}`
		}
		if got := string(views.All(c).Values[views.Key{Bucket: bus.BucketEndpoints, Key: "demo.web.http"}]); got != want {
			t.Errorf("after %d, %T, http is %s, want %s", sequence, step.data, got, want)
		}
	}
}

// TestWhereServicesAreReachedIsTrueAtAPlaceInTheLog checks that the endpoints alone carry the log sequence at which they are true.
func TestWhereServicesAreReachedIsTrueAtAPlaceInTheLog(t *testing.T) {
	c := projections.NewCluster()
	c.Close(7, events.RoundClosed{Round: 1, Epoch: 1}, events.Chain{})
	if got := views.Reached(c).Sequence; got != 7 {
		t.Errorf("the endpoints are true at sequence %d, want 7", got)
	}
}
