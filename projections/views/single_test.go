package views_test

import (
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
	"github.com/rookery-project/rookery/projections/views"
)

// TestAServiceIsShownByItself checks the values of one service when it is created, while it is updated with commands waiting, and after
// that.
func TestAServiceIsShownByItself(t *testing.T) {
	c, web, sequence := projections.NewCluster(), events.ServiceID{Namespace: "demo", Name: "web"}, uint64(0)
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	apply := func(all ...events.Data) {
		t.Helper()
		for _, d := range all {
			sequence++
			if err := c.Apply(events.Record{Event: events.Event{Scope: events.ServiceScope(web), Data: d}, Sequence: sequence, Time: began}); err != nil {
				t.Fatal(err)
			}
		}
		c.Close(sequence, events.RoundClosed{Round: c.Round + 1, Epoch: 1, Now: began}, events.Chain{})
	}
	shows := func(step string, service, operation []string) {
		t.Helper()
		s, op := views.OfService(c, web)
		for value, all := range map[string][]string{string(s): service, string(op): operation} {
			for _, want := range all {
				if !strings.Contains(value, want) {
					t.Errorf("%s: want %s in %s", step, want, value)
				}
			}
		}
	}
	if s, op := views.OfService(c, web); s != nil || op != nil || views.OfNode(c, "n1") != nil {
		t.Errorf("before the service exists, its values are %s and %s", s, op)
	}
	joined := events.Record{Event: events.Event{Scope: events.NodeScope("n1"), Data: events.NodeJoined{Epoch: 1, Incarnation: "i"}}, Sequence: 1, Time: began}
	if sequence = 1; c.Apply(joined) != nil || !strings.Contains(string(views.OfNode(c, "n1")), `"name":"n1"`) {
		t.Errorf("the node's value is %s", views.OfNode(c, "n1"))
	}
	spec := events.Spec{Image: "i", UpdateSpec: events.UpdateSpec{Update: &events.Update{HealthyDeadline: events.Duration(time.Minute)}}}
	apply(events.ServiceRevised{Revision: 1, Spec: spec, Hash: "a"}, events.ServiceScaled{Scale: 1})
	shows("created", []string{`"name":"web"`, `"scale":1`}, nil)
	apply(
		events.CommandAccepted{CommandIdentity: events.CommandIdentity{Sequence: 8, Verb: "drop"}, Queued: true}, events.CommandQueued{Sequence: 8, Behind: 7, Verb: "drop", Body: jsontext.Value(`{}`)},
		events.OperationStarted{Operation: events.OperationUpdate, Revision: 1, Slots: events.Ordinals{0}},
	)
	started := sequence
	apply(events.OperationEntered{Operation: started, Wave: 1, Phase: events.OperationStart, Slots: events.Ordinals{0}})
	shows("updated", []string{`"queued":[8]`}, []string{`"phase":"start"`, `"until":"2026-01-01T00:01:00Z"`})
	apply(events.OperationEnded{Operation: started, Outcome: events.OperationDone})
	shows("has been updated", nil, []string{`"outcome":"done"`})
}

// TestDifferencesAreToldFieldByField compares the values of two buckets.
func TestDifferencesAreToldFieldByField(t *testing.T) {
	value := func(bucket, key, value string) views.Changes {
		return views.Changes{Values: map[views.Key][]byte{{Bucket: bucket, Key: key}: []byte(value)}}
	}
	both := func(a, b views.Changes) views.Changes {
		maps.Copy(a.Values, b.Values)
		return a
	}
	from := both(value(bus.BucketServices, "demo.web", `{"scale":1,"state":"ok","sequence":3}`), value(bus.BucketNodes, "n1", `{"zone":"a","sequence":3}`))
	to := both(value(bus.BucketServices, "demo.web", `{"scale":2,"state":"ok","sequence":9}`), value(bus.BucketServices, "demo.db", `{"scale":1,"sequence":9}`))
	changes, err := views.Differences(from, to)
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, d := range changes {
		told = append(told, d.Bucket+" "+d.Key+" "+d.Field+" "+string(d.Before)+">"+string(d.After))
	}
	want := []string{
		bus.BucketNodes + ` n1 zone "a">`, bus.BucketServices + " demo.db scale >1", bus.BucketServices + " demo.web scale 1>2",
	}
	if !reflect.DeepEqual(told, want) {
		t.Errorf("the differences are %q, want %q", told, want)
	}
	if _, err := views.Differences(from, value(bus.BucketNodes, "n1", "{")); err == nil {
		t.Error("no error for a value that is not JSON")
	}
}
