package coordinator_test

import (
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/rookery-project/rookery/coordinator"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// TestEachPlacementIsExplained repeats each decision on a node in the transcripts, in the state in which it was made.
func TestEachPlacementIsExplained(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		h := newHouse(t)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			h.t, h.decided = t, nil
			told := h.do(d)
			if d.Cmd == "restore" || h.cluster.Recovering {
				return told
			}
			for i, r := range h.decided {
				if _, _, decides := coordinator.OnNode(r); !decides {
					continue
				}
				c := begun()
				for _, round := range h.rounds[:len(h.rounds)-1] {
					round(c)
				}
				x, err := coordinator.Explain(after(t, c, h.decided[:i]), r)
				placed, is := r.Data.(events.InstancePlaced)
				if err != nil || x.Node != placed.Node || (is && x.Ordinal != placed.Ordinal) || len(x.Nodes) != len(c.Nodes) {
					t.Errorf("%s at %s: the decision was %v, and its explanation is %+v: %v", path, d.Pos, r.Data, x, err)
				}
			}
			return told
		})
	})
}

func after(t *testing.T, c *projections.Cluster, records []events.Record) *projections.Cluster {
	t.Helper()
	for _, r := range records {
		if err := c.Apply(r); err != nil {
			t.Fatal(err)
		}
	}
	return c
}
