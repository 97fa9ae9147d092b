package rookerytest_test

import (
	"flag"
	"fmt"
	"iter"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"
)

// usualExperiments are those that every run of the tests has.
const usualExperiments = "leader killed,all servers killed,servers killed in turn"

var (
	onlyExperiments = flag.String("experiments", usualExperiments, "do only those `experiments` whose name has one of these in it; all where empty")
	experimentFor   = flag.Duration("experiment-for", 0, "go on with experiments at random until it has lasted for `this long`")
)

// trialed is what one experiment has come to.
type trialed struct {
	experiment
	seen, wrong string
	// gap is the longest time without the outcome of a command, and ofNATS the longest without the acknowledgement of one, or of a message to
	// a stream that the broken server led. after is the time to the first outcome once what was broken is brought back.
	gap, ofNATS, after time.Duration
	acked              int
	lost, duplicate    int
}

// measured returns what the experiment is measured by, and its goal. Where NATS's own gap is long, a gap may be longer than that by a little.
func (e experiment) measured(r trialed) (took, goal time.Duration) {
	const beside = 3 * time.Second
	if e.after > 0 {
		return r.after, e.after
	}
	return r.gap, max(e.goal, r.ofNATS+min(e.goal, beside))
}

// recoversWithin is how long a fleet has to go on and to settle once what was broken is brought back.
const recoversWithin = 2 * settlesWithin

// TestAvailabilityOnPodman breaks one thing after the other of a whole Rookery on three real servers, while clients send commands, ask
// questions and follow the events. No acknowledged command is lost, none is done twice, and all goes on without an operator. It is not parallel:
// so it runs before the other test that runs alone, which finds all programs built.
func TestAvailabilityOnPodman(t *testing.T) {
	q := startQuorum(t)
	follower, answers := followEvents(t, q.Cluster), askStates(t, q.Cluster)
	var all []trialed
	t.Cleanup(func() {
		printWeights(q.weights)
		printTrialed(all)
	})
	for e := range q.draws() {
		if q.interrupted.Err() != nil {
			t.Errorf("interrupted before %q", e.name)
			break
		}
		r := q.do(e, follower)
		all = append(all, r)
		if r.wrong != "" {
			t.Errorf("%s: %s (seen: %s)", r.name, r.wrong, r.seen)
			break // the next would not say anything of itself
		}
		t.Logf("%s: a gap of %.1f s, of NATS %.1f s, %.1f s after it (seen: %s)", r.name, r.gap.Seconds(), r.ofNATS.Seconds(), r.after.Seconds(), r.seen)
	}
	wrong, compared, err := answers.differ(q.interrupted, q.Bus())
	if err != nil || len(wrong) > 0 || compared == 0 {
		t.Errorf("of %d answers these differ from the log: %q (%v)", compared, wrong, err)
	}
	t.Logf("%d answers were compared with the log", compared)
	checked, wrong := q.shared.check(follower.sharedSoFar())
	if len(wrong) > 0 || checked == 0 {
		t.Errorf("%d commands with if_seq: %q", checked, wrong)
	}
	t.Logf("%d commands with if_seq are linearizable", checked)
	made := 0
	for _, c := range q.coordinators {
		made += strings.Count(c.process.output.String(), "made again what NATS servers keep in memory")
	}
	t.Logf("%d streams and buckets in memory were made again, as far as the coordinators tell that run now", made)
}

// draws yields each chosen experiment in an order drawn from the seed: once, or where they go on for long as often as it repeats, and then any
// until the time is up.
func (q *quorum) draws() iter.Seq[experiment] {
	var drawn []experiment
	for _, e := range experiments() {
		if chosen(e.name, *onlyExperiments) {
			drawn = append(drawn, e)
		}
	}
	first := slices.Clone(drawn)
	if *experimentFor > 0 {
		for _, e := range drawn {
			first = append(first, slices.Repeat([]experiment{e}, e.repeats)...)
		}
	}
	return func(yield func(experiment) bool) {
		began := time.Now()
		for _, i := range q.random.Perm(len(first)) {
			if !yield(first[i]) {
				return
			}
		}
		for time.Since(began) < *experimentFor {
			if !yield(drawn[q.random.IntN(len(drawn))]) {
				return
			}
		}
	}
}

func chosen(name, words string) bool {
	return slices.ContainsFunc(strings.Split(words, ","), func(word string) bool { return strings.Contains(name, word) })
}

// do does the experiment while clients send commands, and waits until all has settled.
func (q *quorum) do(e experiment, follower *follower) trialed {
	r := trialed{experiment: e}
	if why := q.calmsDown(); why != "" {
		r.wrong = "before it: " + why
		return r
	}
	s := &scene{trial: q.trial, host: q.hosts[0], beside: q.hosts[1]}
	_, s.mark = q.heard.after(0)
	before := map[*station]map[string]int{}
	for _, h := range q.hosts {
		before[h] = s.steady(h)
	}
	for _, build := range e.builds {
		if _, err := build(); err != nil {
			r.wrong = err.Error()
			return r
		}
	}
	known, _, _ := follower.since(0, 0)
	began := time.Now()
	load := q.send()
	r.wrong = attempt(func() { e.inject(q, s) })
	if e.lasts > 0 {
		q.within(e.lasts, func() bool { return false })
	}
	r.fails(s.heal())
	back := time.Now()
	r.fails(q.recovers(load))
	load.stop()
	ended := time.Now()
	q.commands = append(q.commands, load.acked...)
	r.fails(q.calmsDown())
	for _, h := range q.hosts {
		r.fails(unlike(before[h], s.processes(h)))
	}
	r.acked = len(load.acked)
	r.lost, r.duplicate = q.log.history.miscounted(q.commands)
	outcomes, why := q.followed(follower, len(known))
	r.fails(why)
	r.gap, r.ofNATS = longest(began, ended, outcomes), max(longest(began, ended, load.times), longest(began, ended, load.probed))
	if first := slices.IndexFunc(outcomes, back.Before); first >= 0 {
		r.after = outcomes[first].Sub(back)
	}
	r.seen = strings.Join(s.seen, ", ")
	q.weigh()
	if took, goal := r.measured(r); took > goal {
		q.tellWarnings(began)
	}
	return r
}

// weigh notes how much memory each process has.
func (q *quorum) weigh() {
	note := func(name string, p *process) {
		q.weights[name] = append(q.weights[name], memoryOf(q.t, p.cmd.Process.Pid, "VmRSS"))
	}
	for _, s := range q.servers {
		note(s.name, s.process)
	}
	for _, c := range q.coordinators {
		note(c.name, c.process)
	}
	for _, h := range q.hosts {
		note("node of "+h.name, h.node)
	}
}

// printWeights prints how much memory each process has had after the experiments, and the median of the first and the last quarter of them.
func printWeights(all map[string][]float64) {
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "PROCESS\tFIRST QUARTER\tLAST QUARTER\tMOST")
	for _, name := range slices.Sorted(maps.Keys(all)) {
		w := all[name]
		quarter := max(len(w)/4, 1)
		fmt.Fprintf(table, "%s\t%.0f MiB\t%.0f MiB\t%.0f MiB\n", name, median(w[:quarter]), median(w[len(w)-quarter:]), slices.Max(w))
	}
	_ = table.Flush() // to the standard output
}

func median(of []float64) float64 {
	sorted := slices.Sorted(slices.Values(of))
	return sorted[len(sorted)/2]
}

// calmsDown waits until the fleet has settled, and says what is missing if that takes too long.
func (q *quorum) calmsDown() (why string) {
	q.within(recoversWithin, func() bool {
		why, _ = q.look()
		return why == ""
	})
	return why
}

// fails notes what went wrong first, if anything did.
func (r *trialed) fails(wrong string) {
	if r.wrong == "" {
		r.wrong = wrong
	}
}

// recovers sends more commands, and waits until one of the sender has ended that was stored after all before. It says if none has.
func (q *quorum) recovers(load *sender) (wrong string) {
	q.work()
	before := load.last()
	if !q.within(recoversWithin, func() bool {
		last := load.last()
		return last > before && q.ended(last)
	}) {
		return "no command has ended since it was brought back"
	}
	return ""
}

// unlike says which of these containers is another process now, or "".
func unlike(before, now map[string]int) string {
	for id, pid := range before {
		if now[id] != pid {
			return fmt.Sprintf("no command has changed container %.12s, which was process %d and is %d", id, pid, now[id])
		}
	}
	return ""
}

// followed waits until the follower has read the whole log, and returns the times of the outcomes after those that are known, and what was
// wrong with what it has read.
func (q *quorum) followed(f *follower, known int) (outcomes []time.Time, wrong string) {
	var all []string
	if !q.within(recoversWithin, func() bool {
		var ok bool
		outcomes, all, ok = f.since(q.log.fold.Last(), known)
		return ok
	}) {
		return outcomes, "the follower has not read all events"
	}
	return outcomes, strings.Join(all, "; ")
}

// tellWarnings logs what the coordinators have said since then, but for events.
func (q *quorum) tellWarnings(since time.Time) {
	for _, c := range q.coordinators {
		var said []string
		for line := range strings.Lines(c.process.output.String()) {
			text, ok := strings.CutPrefix(line, "time=")
			at, err := time.Parse(time.RFC3339Nano, strings.SplitN(text, " ", 2)[0])
			event := strings.Contains(line, "sequence=") && !strings.Contains(line, "msg=leading")
			if ok && err == nil && at.After(since) && !event {
				said = append(said, line)
			}
		}
		q.t.Logf("%s said meanwhile:\n%s", c.name, strings.Join(said, ""))
	}
}

// ended reports whether a coordinator says that the command has ended.
func (q *quorum) ended(sequence uint64) bool {
	var outcome struct{ Outcome string }
	return q.Ask("command", fmt.Sprintf(`{"sequence":%d}`, sequence), &outcome) && outcome.Outcome != "accepted"
}

// miscounted returns how many of these commands have no outcome or end, and how many more than one.
func (h history) miscounted(commands []uint64) (lost, duplicated int) {
	for _, s := range commands {
		outcomes, ends := h.outcomes[s], h.ends[s]
		accepted := len(outcomes) > 0 && outcomes[0] == "accepted"
		switch {
		case len(outcomes) > 1 || len(ends) > 1:
			duplicated++
		case len(outcomes) == 0 || (accepted && len(ends) == 0):
			lost++
		}
	}
	return lost, duplicated
}

// printTrialed prints a line for each experiment, with the worst of its results, and the sum as the last line.
func printTrialed(all []trialed) {
	var names []string
	worst, times := map[string]trialed{}, map[string]int{}
	acked, lost, duplicated, stuck, gap := 0, 0, 0, 0, time.Duration(0)
	for _, r := range all {
		acked += r.acked
		lost, duplicated, gap = max(lost, r.lost), max(duplicated, r.duplicate), max(gap, r.gap)
		if r.wrong != "" {
			stuck++
		}
		before, known := worst[r.name]
		if !known {
			names = append(names, r.name)
		}
		took, _ := r.measured(r)
		if tookBefore, _ := before.measured(before); !known || (before.wrong == "" && (r.wrong != "" || took > tookBefore)) {
			worst[r.name] = r
		}
		times[r.name]++
	}
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "EXPERIMENT\tTIMES\tGAP\tNATS'S OWN\tAFTER IT\tGOAL\tSEEN")
	for _, name := range slices.Sorted(slices.Values(names)) {
		r := worst[name]
		fmt.Fprintf(table, "%s\t%d\t%.1f s\t%.1f s\t%.1f s\t%s\t%s\n", name, times[name], r.gap.Seconds(), r.ofNATS.Seconds(), r.after.Seconds(),
			r.verdict(), r.seen)
	}
	_ = table.Flush() // to the standard output
	fmt.Printf("experiments %d, acknowledged %d, lost %d, duplicated %d, stuck %d, worst gap %.1f s\n",
		len(all), acked, lost, duplicated, stuck, gap.Seconds())
}

// verdict says what the goal was, and whether it was missed.
func (r trialed) verdict() string {
	took, most := r.measured(r)
	goal := fmt.Sprintf("gap %.1f s", most.Seconds())
	if r.experiment.after > 0 {
		goal = fmt.Sprintf("after it %.1f s", most.Seconds())
	}
	switch {
	case r.wrong != "":
		return goal + ", STUCK: " + r.wrong
	case took > most:
		return goal + ", MISSED"
	}
	return goal
}
