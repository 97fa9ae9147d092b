package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"
)

// comparison holds the rounds of one mix.
type comparison struct {
	mix          mix
	ours, theirs []result
	// logged are ours with every decision in the log.
	logged []result
}

// spread is the least, the middle and the greatest of several figures.
type spread struct{ least, middle, most float64 }

func of(rounds []result, figure func(result) float64) spread {
	var all []float64
	for _, r := range rounds {
		all = append(all, figure(r))
	}
	slices.Sort(all)
	return spread{all[0], all[len(all)/2], all[len(all)-1]}
}

func perSecond(r result) float64 { return r.PerSecond }
func cpuEach(r result) float64   { return r.CPU / float64(r.Placed) * 1e6 }
func heapEach(r result) float64  { return float64(r.Heap) / float64(r.Placed) }

// show prints a table of all mixes, one of ours with the log, and last the least ratio.
func show(w io.Writer, all []comparison) error {
	const gap = 2
	table := tabwriter.NewWriter(w, 0, 0, gap, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "mix\twho\tplaced/s min\tmedian\tmax\tµs CPU each\tbytes each\tper node\tper rack\tratio\t")
	least := math.Inf(1)
	for _, c := range all {
		ratio := of(c.ours, perSecond).middle / of(c.theirs, perSecond).middle
		least = min(least, ratio)
		row(table, c.mix.name, "rookery", c.ours, fmt.Sprintf("%.0f", ratio))
		row(table, "", "swarmkit", c.theirs, "")
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w, "\nencoded, sealed and acknowledged by a log with sync always, the server in the same process:")
	fmt.Fprintln(table, "mix\twho\tplaced/s min\tmedian\tmax\tµs CPU each\tbytes each\tper node\tper rack\t\t")
	for _, c := range all {
		row(table, c.mix.name, "rookery", c.logged, "")
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\nleast ratio to swarmkit: %.1f\n", least)
	return err
}

func row(w io.Writer, mix, who string, rounds []result, ratio string) {
	s, last := of(rounds, perSecond), rounds[len(rounds)-1]
	fmt.Fprintf(w, "%s\t%s\t%.0f\t%.0f\t%.0f\t%.2f\t%.0f\t%d..%d\t%d..%d\t%s\t\n", mix, who, s.least, s.middle, s.most,
		of(rounds, cpuEach).middle, of(rounds, heapEach).middle, last.NodeMin, last.NodeMax, last.RackMin, last.RackMax, ratio)
}
