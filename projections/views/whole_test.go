package views_test

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/events/golden"
	"github.com/rookery-project/rookery/projections"
	"github.com/rookery-project/rookery/projections/views"
)

// board holds the values that the changes of each round have put there.
type board map[views.Key]string

// take applies the changes of a round.
func (b board) take(t *testing.T, c *projections.Cluster, records []events.Record) {
	t.Helper()
	changes := views.Of(c, records)
	for key, value := range changes.Values {
		b[key] = meaning(t, value)
	}
	maps.DeleteFunc(b, func(key views.Key, value string) bool { return value == "" || isTrimmed(key, changes) })
}

// isTrimmed reports whether the changes remove the key because the service no longer has its slot or port.
func isTrimmed(key views.Key, changes views.Changes) bool {
	parts := strings.Split(key.Key, ".")
	if len(parts) < 3 {
		return false
	}
	id := events.ServiceID{Namespace: parts[0], Name: parts[1]}
	switch key.Bucket {
	case bus.BucketInstances:
		slots, said := changes.Slots[id]
		ordinal, err := strconv.Atoi(parts[2])
		return said && err == nil && ordinal >= slots
	case bus.BucketEndpoints:
		ports, said := changes.Ports[id]
		return said && !slices.Contains(ports, parts[2])
	}
	return false
}

// isWhole reports whether each value equals the one computed from the whole state. It leaves out why an operation waits and whether the time of
// a drain is over, because these change with time alone.
func (b board) isWhole(t *testing.T, c *projections.Cluster) bool {
	t.Helper()
	whole := board{}
	for key, value := range views.All(c).Values {
		if value != nil {
			whole[key] = meaning(t, value)
		}
	}
	same := true
	for key := range b {
		if key.Bucket != bus.BucketOperations && b[key] != whole[key] {
			same = false
			t.Logf("%v is shown as\n%s\nand is\n%s", key, b[key], whole[key])
		}
	}
	for key := range whole {
		if _, shown := b[key]; !shown && key.Bucket != bus.BucketOperations {
			same = false
			t.Logf("%v is not shown, and is\n%s", key, whole[key])
		}
	}
	return same
}

// meaning returns a value without the sequence at which it is true; "" for a key without a value.
func meaning(t *testing.T, value []byte) string {
	t.Helper()
	if value == nil {
		return ""
	}
	var v map[string]any
	if err := json.Unmarshal(value, &v); err != nil {
		t.Fatal(err)
	}
	delete(v, "sequence")
	delete(v, "operation")
	if drain, is := v["drain"].(map[string]any); is {
		delete(drain, "forced")
	}
	body, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// everyRound says that the test checks every nth round. A wrong value mostly stays wrong, so a later check finds it.
const everyRound = 20

// TestWhatChangesIsShownAsTheWholeStateIs applies the changes of each round of the recorded logs, and compares the result with the values of the
// whole state.
func TestWhatChangesIsShownAsTheWholeStateIs(t *testing.T) {
	for _, name := range golden.Names() {
		t.Run(name, func(t *testing.T) {
			log, err := golden.Read(name)
			if err != nil {
				t.Fatal(err)
			}
			fold, shown := projections.NewFold(), board{}
			for _, m := range log {
				records, err := fold.Take(m)
				if err != nil {
					t.Fatal(err)
				}
				if records == nil {
					continue
				}
				shown.take(t, fold.Cluster, records)
				if fold.Cluster.Round%everyRound == 0 && !shown.isWhole(t, fold.Cluster) {
					t.Fatalf("after round %d, at sequence %d", fold.Cluster.Round, m.Sequence)
				}
			}
			if !shown.isWhole(t, fold.Cluster) {
				t.Fatal("after the last round")
			}
		})
	}
}

// TestSlotsOfAJobAreShownAsTheirTurnComes lets the slots of a job wait for a node, and then for one another.
func TestSlotsOfAJobAreShownAsTheirTurnComes(t *testing.T) {
	spec := events.Spec{Image: "localhost/work:1", Mode: events.ModeJob, JobSpec: events.JobSpec{Job: &events.Job{Completions: 3, Parallelism: 1}}}
	id := events.ServiceID{Namespace: "demo", Name: "work"}
	c, shown := projections.NewCluster(), board{}
	for i, data := range []events.Data{
		events.ServiceRevised{Revision: 1, Spec: spec, Hash: spec.Hash()},
		events.ServiceScaled{Scale: 3},
		events.InstancePending{Nodes: 1, Removed: events.Removed{CPU: 1}},
		events.InstancePlaced{Generation: 1, Revision: 1, Node: "n"},
		events.InstanceOffline{InstanceSeen: events.InstanceSeen{Generation: 1, Node: "n", Position: events.Position{Epoch: 1, Phase: events.PhaseOffline}}},
	} {
		r := events.Record{Event: events.Event{Scope: events.ServiceScope(id), Data: data}, Sequence: uint64(i) + 1, Time: time.Unix(int64(i), 0)}
		if err := c.Apply(r); err != nil {
			t.Fatal(err)
		}
		c.Sequence = r.Sequence
		if shown.take(t, c, []events.Record{r}); !shown.isWhole(t, c) {
			t.Fatalf("after %s", data.Kind())
		}
	}
}

// TestSlotsOfTheTopologyAreShown scales a service down while its old topology still applies. The view must show each slot of that topology, also
// without an instance, until the next topology applies.
func TestSlotsOfTheTopologyAreShown(t *testing.T) {
	spec := events.Spec{Image: "localhost/kv:1", TopologySpec: events.TopologySpec{Topology: &events.TopologyRules{}}}
	id := events.ServiceID{Namespace: "demo", Name: "kv"}
	c, shown := projections.NewCluster(), board{}
	for i, step := range []struct {
		data events.Data
		want int
	}{
		{events.ServiceRevised{Revision: 1, Spec: spec, Hash: spec.Hash()}, 0},
		{events.ServiceScaled{Scale: 3}, 3},
		{events.TopologyChanged{Topology: events.Topology{ConfigVersion: 1, Scale: 3}}, 3},
		{events.ServiceScaled{Scale: 2}, 3},
		{events.TopologyChanged{Topology: events.Topology{ConfigVersion: 2, Scale: 2}}, 2},
	} {
		r := events.Record{Event: events.Event{Scope: events.ServiceScope(id), Data: step.data}, Sequence: uint64(i) + 1, Time: time.Unix(int64(i), 0)}
		if err := c.Apply(r); err != nil {
			t.Fatal(err)
		}
		c.Sequence = r.Sequence
		if shown.take(t, c, []events.Record{r}); !shown.isWhole(t, c) {
			t.Fatalf("after %s", step.data.Kind())
		}
		slots := 0
		for key := range shown {
			if key.Bucket == bus.BucketInstances {
				slots++
			}
		}
		if slots != step.want {
			t.Errorf("after step %d, %s, there are %d slots, want %d", i, step.data.Kind(), slots, step.want)
		}
	}
}
