package whatif

import (
	"fmt"
	"iter"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// Log yields the messages of the log from the first on. It is read twice.
type Log = iter.Seq2[events.Message, error]

// Run runs the past again and compares. The log ends where its sequence ends, or with an error.
func Run(log Log, q Question) (Report, error) {
	if err := q.check(); err != nil {
		return Report{}, err
	}
	part, err := survey(log, q)
	if err != nil {
		return Report{}, err
	}
	r := newRun(part, q)
	for m, err := range log {
		if err != nil {
			return Report{}, err
		}
		if m.Sequence > part.last {
			break
		}
		if err := r.take(m); err != nil {
			return Report{}, err
		}
	}
	return r.report()
}

// part is the part of the log that the question is about. first and last are the sequences of its first and last message.
type part struct {
	first, last    uint64
	began, ended   time.Time
	rounds, events uint64
	times          *times
}

// survey finds the part of the log, and how long things take up to its end.
func survey(log Log, q Question) (part, error) {
	p := part{times: newTimes()}
	opened := uint64(1)
	for m, err := range log {
		if err != nil {
			return p, err
		}
		r, err := events.ParseRecord(m)
		if err != nil {
			continue // no round closes over it, or else the fold reports it
		}
		_, void := r.Data.(events.RoundVoid)
		if closed, ok := r.Data.(events.RoundClosed); !ok && !void {
			p.times.note(r)
			continue
		} else if ok {
			r.Time = closed.Now
		}
		if q.To.Before(r) {
			break
		}
		if !q.From.After(r) {
			p.add(opened, r, void)
		}
		if p.events > MaxEvents || p.ended.Sub(p.began) > MaxSpan {
			return p, fmt.Errorf("%w: sequences %d to %d are %d events over %s: want at most %d over %s; choose from and to closer to each other",
				ErrTooMuch, p.first, p.last, p.events, p.ended.Sub(p.began).Round(time.Second), MaxEvents, MaxSpan)
		}
		opened = r.Sequence + 1
	}
	if p.rounds == 0 {
		return p, fmt.Errorf("%w: the log has no round there: it ends at sequence %d", ErrQuestion, opened-1)
	}
	return p, nil
}

// add adds a round that began with the sequence opened. The messages of a torn round are not part of the past.
func (p *part) add(opened uint64, end events.Record, void bool) {
	if p.first == 0 {
		p.first = opened
	}
	p.last, p.events = end.Sequence, end.Sequence-p.first+1
	if void {
		return
	}
	if p.rounds++; p.rounds == 1 {
		p.began = end.Time
	}
	p.ended = end.Time
}

// run is a past that runs three times: as in the log, again with its own policy, and with the differences.
type run struct {
	part
	q           Question
	real        *projections.Fold
	meter       *meter
	same, other *rerun
	// before are the states with which both reruns begin; nil once they have begun.
	before [2]*projections.Fold
}

func newRun(p part, q Question) *run {
	return &run{part: p, q: q, real: projections.NewFold(), before: [2]*projections.Fold{projections.NewFold(), projections.NewFold()}}
}

func (r *run) take(m events.Message) error {
	if m.Sequence == r.first {
		if err := r.begin(); err != nil {
			return err
		}
	}
	records, err := r.real.Take(m)
	if err != nil {
		return err
	}
	if m.Sequence < r.first {
		for _, f := range r.before {
			if _, err := f.Take(m); err != nil {
				return err
			}
		}
		return nil
	}
	if len(records) == 0 {
		return nil
	}
	end := records[len(records)-1]
	if _, closed := end.Data.(events.RoundClosed); !closed {
		return nil
	}
	now := r.real.Cluster.Now
	r.meter.take(records[:len(records)-1], now)
	for _, again := range []*rerun{r.same, r.other} {
		if err := again.take(records[:len(records)-1], now); err != nil {
			return fmt.Errorf("at the round that ends with sequence %d: %w", end.Sequence, err)
		}
	}
	return nil
}

// begin begins all three with the same state.
func (r *run) begin() error {
	began := r.began
	if now := r.real.Cluster.Now; !now.IsZero() {
		began = now
	}
	r.meter = newMeter(r.real.Cluster, began)
	r.same = newRerun(r.before[0].Cluster, r.times, began, nil, nil)
	r.other = newRerun(r.before[1].Cluster, r.times, began, r.q.Policy, r.q.Capacity)
	r.before = [2]*projections.Fold{}
	if err := r.same.begin(); err != nil {
		return err
	}
	return r.other.begin()
}

func (r *run) report() (Report, error) {
	for _, node := range sortedKeys(r.q.Capacity) {
		if r.other.meter.nodes[node] == nil {
			return Report{}, fmt.Errorf("%w: there is no node %s in this part of the log: give capacities only of nodes that are in it", ErrQuestion, node)
		}
	}
	for _, m := range []*meter{r.meter, r.same.meter, r.other.meter} {
		m.end(r.ended)
	}
	typical := r.times.typical()
	report := Report{
		From: r.first, To: r.last, Began: r.began, Ended: r.ended, Rounds: r.rounds, Events: r.events, Policy: r.q.Policy, Capacity: r.q.Capacity,
		StartSeconds: rounded(typical.Start.Seconds()), StopSeconds: rounded(typical.Stop.Seconds()),
	}
	report.compare(r.meter, r.same.meter, r.other.meter)
	return report, nil
}
