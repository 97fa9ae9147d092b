package rookerytest_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"
)

var onlyFault = flag.String("fault", "", "inject only those `faults` whose name has one of these in it, as in ports,image")

// fleets is how many fleets face the faults side by side. Each takes the next fault that none has faced.
const fleets = 4

// TestFaultsOnPodman injects each fault into a whole, real Rookery. The cluster must settle after each fault.
func TestFaultsOnPodman(t *testing.T) {
	t.Parallel()
	var sum score
	rows := make(chan numbered, len(faults()))
	for i, row := range faults() {
		if matches(row.name) {
			rows <- numbered{row, i}
		}
	}
	close(rows)
	t.Cleanup(func() {
		sum.print()
		if sum.failed() {
			t.Errorf("of %d faults %d did not converge", sum.faults, sum.faults-sum.converged)
		}
		// The failures come after all output of the processes.
		sum.tellWrong(t)
	})
	for i := range fleets {
		t.Run(fmt.Sprintf("fleet %d", i+1), func(t *testing.T) {
			t.Parallel()
			var f *trial // only a fleet that gets a fault is started
			for row := range rows {
				if f == nil {
					f = startTrial(t)
				}
				if f.interrupted.Err() != nil {
					t.Errorf("interrupted before %q and %d others", row.name, len(rows))
					break
				}
				r := f.face(row.fault, f.hosts[row.number%len(f.hosts)], f.hosts[(row.number+1)%len(f.hosts)])
				sum.add(r)
				if r.wrong != "" {
					t.Error(r.line())
				} else {
					t.Log(r.line())
				}
			}
			if f != nil {
				f.CheckReplay()
			}
		})
	}
}

// numbered is a fault and its place in the table, which says what hosts it hits.
type numbered struct {
	fault
	number int
}

// matches reports whether the fault is one of those that were asked for.
func matches(name string) bool {
	return slices.ContainsFunc(strings.Split(*onlyFault, ","), func(word string) bool { return strings.Contains(name, word) })
}

// faults are all faults, by kind.
func faults() []fault {
	return slices.Concat(processFaults(), networkFaults(), podmanFaults(), imageFaults(), serviceFaults(), doubleFaults(), lostFaults())
}

// result is what one fault has come to.
type result struct {
	fault
	seen  string
	wrong string // why the cluster did not recover, or ""
	found findings
	took  time.Duration // to settle, from the fault's end on
}

// face injects the fault, lets clients go on sending commands, heals the fault, and waits until the cluster settles.
func (f *trial) face(row fault, host, beside *station) result {
	r := result{fault: row}
	if why, found := f.settles(); why != "" {
		r.wrong, r.found = "before it: "+why, found
		f.note(found)
		return r
	}
	s := &scene{trial: f, host: host, beside: beside}
	_, s.mark = f.heard.after(0)
	r.wrong = attempt(func() { row.inject(s) })
	if !s.mutely {
		f.work()
	}
	if wrong := s.heal(); wrong != "" {
		r.wrong = wrong
	}
	healed := time.Now()
	if s.mutely {
		f.until(func() bool { return f.Conn.IsConnected() })
		f.work()
	}
	why, found := f.settles()
	r.took = time.Since(healed)
	if why == "" && r.wrong == "" && row.check != nil {
		why = attempt(func() { row.check(s) })
	}
	if why == "" {
		for _, service := range s.services {
			f.command(service, "drop", `{}`)
		}
		if why, found = f.settles(); why != "" {
			why = "after what was made for it is dropped: " + why
		}
	}
	if r.wrong == "" {
		r.wrong = why
	}
	r.seen, r.found = strings.Join(s.seen, ", "), found
	f.note(found)
	return r
}

func (f *trial) until(condition func() bool) { f.within(settlesWithin, condition) }

// note remembers what was found, so that it is not counted again.
func (f *trial) note(found findings) {
	for _, one := range slices.Concat(found.orphans, found.duplicates, found.leftovers) {
		f.known[one] = true
	}
}

// settles waits until the cluster has settled. If that takes too long, it says what is missing.
func (f *trial) settles() (why string, found findings) {
	f.within(settlesWithin, func() bool {
		why, found = f.look()
		return why == ""
	})
	if f.interrupted.Err() != nil && why != "" {
		why = "interrupted: " + why
	}
	return why, found
}

func (r result) line() string {
	if r.wrong != "" {
		return fmt.Sprintf("%s: NOT CONVERGED: %s (seen: %s)", r.name, r.wrong, r.seen)
	}
	return fmt.Sprintf("%s: settled %.1f s after its end (seen: %s)", r.name, r.took.Seconds(), r.seen)
}

// score sums the results of all fleets up.
type score struct {
	mu sync.Mutex

	faults, converged, orphans, duplicates int
	all                                    []result
}

func (s *score) add(r result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults++
	if r.wrong == "" {
		s.converged++
	}
	s.orphans += len(r.found.orphans) + len(r.found.leftovers)
	s.duplicates += len(r.found.duplicates)
	s.all = append(s.all, r)
}

func (s *score) failed() bool { return s.converged != s.faults || s.orphans > 0 || s.duplicates > 0 }

func (s *score) tellWrong(t *testing.T) {
	for _, r := range s.all {
		if r.wrong != "" {
			t.Log(r.line())
		}
	}
}

// print prints the table, and the sum as the last line.
func (s *score) print() {
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "FAULT\tEXPECTED\tSEEN\tSETTLED")
	for _, r := range s.all {
		settled := fmt.Sprintf("after %.1f s", r.took.Seconds())
		if r.wrong != "" {
			settled = "NO: " + r.wrong
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", r.name, r.expected, r.seen, settled)
	}
	_ = table.Flush() // to the standard output
	fmt.Printf("faults %d, not converged %d, orphans %d, duplicates %d\n", s.faults, s.faults-s.converged, s.orphans, s.duplicates)
}
