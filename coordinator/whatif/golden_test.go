package whatif_test

import (
	"iter"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/rookery-project/rookery/coordinator/whatif"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/golden"
)

// readLog returns the messages of a golden log: in these runs much went wrong.
func readLog(t *testing.T, name string) []events.Message {
	t.Helper()
	log, err := golden.Read(name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	return log
}

func logOf(messages []events.Message) iter.Seq2[events.Message, error] {
	return func(yield func(events.Message, error) bool) {
		for _, m := range messages {
			if !yield(m, nil) {
				return
			}
		}
	}
}

// near is how far a simulation with the log's own policy may be from the log. The simulation has no failures of instances,
// which cause some more placements in the log, and its times are typical ones.
type near struct {
	// placed and unplaced are shares of the real figure, mean is a difference of shares.
	placed, unplaced, mean float64
}

// TestThePastAsItWasComesNear simulates golden logs with their own policy. The logs v1 and v1-placement differ too much,
// because the versions that wrote them decided otherwise: they gave no node up, and moved nothing for an update.
func TestThePastAsItWasComesNear(t *testing.T) {
	const placed, unplaced, mean = 0.1, 0.03, 0.04
	for name, bound := range map[string]near{
		"v1-operations": {placed, unplaced, mean},
		"v1-queues":     {placed, unplaced, mean},
		"v1-rescales":   {placed, unplaced, mean},
		"v1-snapshots":  {placed, unplaced, mean},
		"v1-groups":     {placed, unplaced, mean},
		"v1-drains":     {placed, unplaced, mean},
		"v1-degraded":   {placed, unplaced, mean},
		"v1-liveness":   {0.02, 0.01, 0.01}, // the version that wrote it decides as this version does
	} {
		r := ask(t, readLog(t, name), whatif.Question{Policy: utilization()})
		for what, d := range map[string]struct{ real, same, bound float64 }{
			"instances placed":      {float64(r.Real.Placed), float64(r.Same.Placed), bound.placed * float64(r.Real.Placed)},
			"unplaced slot-seconds": {r.Real.Unplaced, r.Same.Unplaced, bound.unplaced * r.Real.Unplaced},
			"mean CPU":              {r.Real.Mean.CPU, r.Same.Mean.CPU, bound.mean},
			"mean memory":           {r.Real.Mean.Memory, r.Same.Mean.Memory, bound.mean},
			"skew":                  {r.Real.Skew, r.Same.Skew, 0.1},
		} {
			if math.Abs(d.real-d.same) > d.bound {
				t.Errorf("%s: %s: the log says %g, the simulation %g, want a difference of at most %g", name, what, d.real, d.same, d.bound)
			}
		}
	}
}

func utilization() *events.Policy {
	p := events.MaterializePolicy()
	p.Profile = events.OptimizeUtilization
	return &p
}

func ask(t *testing.T, log []events.Message, q whatif.Question) whatif.Report {
	t.Helper()
	r, err := whatif.Run(logOf(log), q)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestOneQuestionHasOneAnswer asks of golden logs twice.
func TestOneQuestionHasOneAnswer(t *testing.T) {
	for _, name := range []string{"v1-placement", "v1-groups", "v1-liveness"} {
		log := readLog(t, name)
		var answers [2]string
		for i := range answers {
			body, err := json.Marshal(ask(t, log, whatif.Question{Policy: utilization()}), json.Deterministic(true))
			if err != nil {
				t.Fatal(err)
			}
			answers[i] = string(body)
		}
		if answers[0] != answers[1] {
			t.Errorf("%s has two answers:\n%s\n%s", name, answers[0], answers[1])
		}
	}
}

// TestAnotherPolicyPacks packs the nodes of a cluster, which fills the fullest of them further.
func TestAnotherPolicyPacks(t *testing.T) {
	r := ask(t, readLog(t, "v1-operations"), whatif.Question{Policy: utilization()})
	if r.Other.Peak.CPU <= r.Same.Peak.CPU || r.Other.Unplaced >= r.Same.Unplaced {
		t.Errorf("packed, the fullest node has %g of its CPU taken and slots wait for %g s; spread, %g and %g",
			r.Other.Peak.CPU, r.Other.Unplaced, r.Same.Peak.CPU, r.Same.Unplaced)
	}
	if r.Policy.Profile != events.OptimizeUtilization {
		t.Errorf("the report says policy %+v", r.Policy)
	}
}

// TestLessCapacityHasMoreWait leaves all nodes hardly any memory.
func TestLessCapacityHasMoreWait(t *testing.T) {
	log := readLog(t, "v1-rescales")
	capacity := map[string]events.Resources{}
	for _, n := range ask(t, log, whatif.Question{Policy: utilization()}).Nodes {
		capacity[n.Node] = events.Resources{Memory: 1 << 20, CPU: 1}
	}
	r := ask(t, log, whatif.Question{Capacity: capacity})
	if r.Other.Unplaced < 2*r.Same.Unplaced || r.Other.Placed >= r.Same.Placed {
		t.Errorf("with hardly any capacity %d are placed and slots wait for %g s; with all of it %d and %g",
			r.Other.Placed, r.Other.Unplaced, r.Same.Placed, r.Same.Unplaced)
	}
	if r.Policy != nil || len(r.Capacity) != len(capacity) {
		t.Errorf("the report says policy %+v and capacity %v", r.Policy, r.Capacity)
	}
}

// TestAPartOfThePast asks for the second half alone, by its sequence and by its time.
func TestAPartOfThePast(t *testing.T) {
	log := readLog(t, "v1-liveness")
	half, err := events.ParseRecord(log[len(log)/2])
	if err != nil {
		t.Fatal(err)
	}
	bySequence := ask(t, log, whatif.Question{Policy: utilization(), From: whatif.Moment{Sequence: half.Sequence}})
	byTime := ask(t, log, whatif.Question{Policy: utilization(), From: whatif.Moment{Time: half.Time}})
	whole := ask(t, log, whatif.Question{Policy: utilization()})
	if bySequence.From > half.Sequence || bySequence.From < half.Sequence-1000 || bySequence.To != whole.To || bySequence.Real.Placed == 0 {
		t.Errorf("from sequence %d on: %+v", half.Sequence, bySequence)
	}
	if byTime.From > bySequence.From || byTime.To != whole.To {
		t.Errorf("from %s on it begins at %d, and by the sequence there at %d", half.Time, byTime.From, bySequence.From)
	}
	first := ask(t, log, whatif.Question{Policy: utilization(), To: whatif.Moment{Sequence: bySequence.From - 1}})
	if first.Real.Placed+bySequence.Real.Placed != whole.Real.Placed || first.Events+bySequence.Events != whole.Events {
		t.Errorf("both halves have %d and %d placements, the whole %d", first.Real.Placed, bySequence.Real.Placed, whole.Real.Placed)
	}
}

// TestWhatCannotBeAsked is told so.
func TestWhatCannotBeAsked(t *testing.T) {
	log := readLog(t, "v1")
	for what, q := range map[string]whatif.Question{
		"nothing would be different": {},
		"its from is after its to":   {Policy: utilization(), From: whatif.Moment{Sequence: 9}, To: whatif.Moment{Sequence: 3}},
		"has no round there":         {Policy: utilization(), From: whatif.Moment{Sequence: 1 << 40}},
		"there is no node elsewhere": {Capacity: map[string]events.Resources{"elsewhere": {CPU: 1}}},
		"of node-0 is empty":         {Capacity: map[string]events.Resources{"node-0": {}}},
		"choose from and to closer":  {Policy: utilization()},
	} {
		asked := logOf(log)
		if what == "choose from and to closer" {
			asked = logOf(endless(log))
		}
		if _, err := whatif.Run(asked, q); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
	damaged := slices.Clone(log)
	damaged[100].Body = []byte(`{}`)
	if _, err := whatif.Run(logOf(damaged), whatif.Question{Policy: utilization()}); err == nil {
		t.Error("a log that was changed has an answer")
	}
}

// endless is a log whose rounds lie two years apart.
func endless(log []events.Message) []events.Message {
	far := slices.Clone(log)
	for i, m := range far {
		if m.Subject == "rookery.log.round" && i > len(log)/2 {
			far[i].Body = []byte(strings.Replace(string(m.Body), `"now":"20`, `"now":"21`, 1))
		}
	}
	return far
}

// TestMomentsAndCapacitiesRead reads what operators write.
func TestMomentsAndCapacitiesRead(t *testing.T) {
	noon := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]whatif.Moment{
		"4711": {Sequence: 4711}, "2026-11-01T12:00:00Z": {Time: noon}, "2026-11-01T12:00Z": {Time: noon},
	} {
		if m, err := whatif.ParseMoment(text); err != nil || m.Sequence != want.Sequence || !m.Time.Equal(want.Time) {
			t.Errorf("%s reads as %+v, %v", text, m, err)
		}
	}
	for _, text := range []string{"", "0", "-1", "noon", "2026-11-01"} {
		if m, err := whatif.ParseMoment(text); err == nil {
			t.Errorf("%q reads as %+v", text, m)
		}
	}
	c, err := whatif.ParseCapacity([]string{"node-0.memory=32GiB", "node-0.cpu=500m", "b.disk=1TiB"})
	if err != nil || c["node-0"] != (events.Resources{CPU: 500, Memory: 32 << 30}) || c["b"] != (events.Resources{Disk: 1 << 40}) {
		t.Errorf("capacities read as %+v, %v", c, err)
	}
	for _, text := range []string{"node-0", "node-0.memory", "node-0.ram=1GiB", ".cpu=1", "node-0.memory=many"} {
		if c, err := whatif.ParseCapacity([]string{text}); err == nil {
			t.Errorf("%q reads as %+v", text, c)
		}
	}
}
