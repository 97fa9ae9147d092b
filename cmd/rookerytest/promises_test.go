package rookerytest_test

import (
	"fmt"
	"testing"

	"github.com/rookery-project/rookery/cmd/rookerytest"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
	"github.com/rookery-project/rookery/projections"
)

// history is what the log says of every command.
type history struct {
	outcomes map[uint64][]string // accepted, rejected or repeated
	ends     map[uint64][]string
	cluster  *projections.Cluster
}

// readHistory folds the whole log: a gap, a fork or a broken hash fails the test.
func readHistory(t testing.TB, cluster *rookerytest.Cluster) history {
	t.Helper()
	h := history{outcomes: map[uint64][]string{}, ends: map[uint64][]string{}}
	h.cluster = cluster.Replay(func(records []events.Record) {
		for _, r := range records {
			h.note(r)
		}
	})
	return h
}

func (h history) note(r events.Record) {
	switch d := r.Data.(type) {
	case events.CommandAccepted:
		h.outcomes[d.Sequence] = append(h.outcomes[d.Sequence], "accepted")
	case events.CommandRejected:
		h.outcomes[d.Sequence] = append(h.outcomes[d.Sequence], "rejected")
	case events.CommandRepeated:
		h.outcomes[d.Sequence] = append(h.outcomes[d.Sequence], "repeated")
	case events.CommandSucceeded:
		h.ends[d.Sequence] = append(h.ends[d.Sequence], "succeeded")
	case events.CommandFailed:
		h.ends[d.Sequence] = append(h.ends[d.Sequence], "failed")
	case events.CommandSuperseded:
		h.ends[d.Sequence] = append(h.ends[d.Sequence], "superseded")
	}
}

// checkCommands fails the test unless each of these commands has one outcome and, where accepted, one end.
func (h history) checkCommands(t testing.TB, sequences []uint64) {
	t.Helper()
	for _, s := range sequences {
		if len(h.outcomes[s]) != 1 {
			t.Errorf("command %d has the outcomes %v, want one", s, h.outcomes[s])
			continue
		}
		want := 0
		if h.outcomes[s][0] == "accepted" {
			want = 1
		}
		if len(h.ends[s]) != want {
			t.Errorf("command %d was %s and has the ends %v, want %d", s, h.outcomes[s][0], h.ends[s], want)
		}
	}
}

// checkActual fails the test unless the nodes run exactly what the log says, each instance made once.
func checkActual(t testing.TB, cluster *rookerytest.Cluster, want *projections.Cluster) {
	t.Helper()
	cluster.Until("the nodes have what the log says", func() bool { return actual(cluster, want) == "" })
	for _, engine := range cluster.Nodes {
		for _, c := range engine.Containers() {
			if n := engine.Made(c.Instance); n != 1 {
				t.Errorf("%s was made %d times", c.Instance, n)
			}
		}
	}
}

// actual says how the nodes differ from the state, or "".
func actual(cluster *rookerytest.Cluster, want *projections.Cluster) string {
	running := map[events.InstanceID]string{}
	for name, engine := range cluster.Nodes {
		for _, c := range engine.Containers() {
			if other, twice := running[c.Instance]; twice || c.State != node.Running {
				return fmt.Sprintf("%s is on %s and %s", c.Instance, name, other)
			}
			running[c.Instance] = name
		}
	}
	for _, s := range want.Services {
		for i := range s.Instances() {
			if running[i.ID] != i.Node {
				return fmt.Sprintf("%s is not on %s", i.ID, i.Node)
			}
			delete(running, i.ID)
		}
	}
	if len(running) > 0 {
		return fmt.Sprintf("orphans: %v", running)
	}
	return ""
}
