package checker

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
	"github.com/rookery-project/rookery/projections/views"
)

// follow brings the fold up to a sequence, with the rounds closed until then. The checker decoded each record when it was stored.
func (c *Checker) follow(to uint64) {
	n := 0
	for ; n < len(c.unfolded) && c.unfolded[n].sequence <= to; n++ {
		r := c.unfolded[n]
		if r.void {
			c.fold.Epoch, c.fold.Leader, c.fold.Sequence, c.fold.Chain = r.closed.Epoch, r.closed.Leader, r.sequence, r.chain
			continue
		}
		for _, record := range r.records {
			if err := c.fold.Apply(record); err != nil {
				c.breach("P8", "the log does not fold: %v", err)
				return
			}
		}
		c.fold.Close(r.sequence, r.closed, r.chain)
	}
	c.unfolded = c.unfolded[n:]
}

// Told checks that a coordinator's answer of its state is the fold of the log at that place.
func (c *Checker) Told(who string, sequence uint64, hash string) {
	c.follow(sequence)
	if c.fold.Sequence != sequence {
		return // the fold is further by now
	}
	c.answered = true
	if folded := c.fold.Hash(); folded != hash {
		c.breach("P7", "%s has hash %s at sequence %d, but the log folds to %s", who, hash, sequence, folded)
	}
}

// olderBy is how much older a state may be than its coordinator says. The coordinator learns the end of the log from the lease or from a
// server. A leader may wait 20 seconds to learn that its round is stored, and a server may tell an outdated end for 20 seconds.
const olderBy = 45 * time.Second

// Fresh checks that a state up to the sequence has all rounds that were stored by the time at which its coordinator says that it had the end of
// the log.
func (c *Checker) Fresh(who string, sequence uint64, at time.Time) {
	if c.tampered || c.rewound {
		return
	}
	for _, e := range slices.Backward(c.log.ends) {
		if e.stored.Before(at.Add(-olderBy)) {
			c.must(sequence >= e.closed, "P7", "%s had the end of the log %s ago, and ends at %d: a round up to %d was stored %s ago",
				who, c.Now().Sub(at), sequence, e.closed, c.Now().Sub(e.stored))
			return
		}
	}
}

// Asked forgets the answers so far.
func (c *Checker) Asked() { c.answered = false }

// Answered reports whether an answer was checked since.
func (c *Checker) Answered() bool { return c.answered }

// Snapshots checks that each snapshot is the state that the log folds to there, and that the coordinators keep few. Spoiled holds the
// snapshots that a fault changed.
func (c *Checker) Snapshots(spoiled map[string]bool) {
	const most = 64
	objects := c.Server.Objects(bus.ObjectsFolds)
	all, err := objects.All(context.Background())
	if err != nil || len(all) > most+1 { // a coordinator stores a new one before it deletes the oldest
		c.breach("P7", "%d snapshots of the fold are kept: %v", len(all), err)
	}
	if c.rewound || c.tampered {
		return // they may be of messages that the log no longer has
	}
	states, last := map[uint64]*projections.Cluster{}, uint64(0)
	for _, o := range all {
		if spoiled[o.Name] {
			continue
		}
		state, err := decodeFold(objects, o.Name, c.fold.LogID())
		if err != nil {
			c.breach("P7", "the snapshot %s does not read: %v", o.Name, err)
			return
		}
		states[state.Sequence], last = state, max(last, state.Sequence)
	}
	c.compareFolds(states, last)
}

func decodeFold(objects bus.Objects, name, logID string) (*projections.Cluster, error) {
	content, err := objects.Get(context.Background(), name)
	if err != nil {
		return nil, err
	}
	return projections.DecodeFold(content, logID, nil)
}

// compareFolds folds the log from its start, and compares the states that there are.
func (c *Checker) compareFolds(states map[uint64]*projections.Cluster, last uint64) {
	const page = 4096
	fold, cursor := projections.NewFold(), c.Server.Cursor(bus.Log, 1)
	for fold.Last() < last {
		messages, _ := cursor.Next(page)
		if len(messages) == 0 {
			c.breach("P7", "a snapshot is of sequence %d, and the log ends at %d", last, fold.Last())
			return
		}
		for _, m := range messages {
			if _, err := fold.Take(m); err != nil {
				c.breach("P8", "the log does not fold: %v", err)
				return
			}
			if state := states[m.Sequence]; state != nil && state.Hash() != fold.Cluster.Hash() {
				c.breach("P7", "the snapshot at sequence %d differs from the fold", m.Sequence)
			}
		}
	}
}

// Views checks that the buckets hold what the log folds to, key by key, and that each service that lacks an instance gives a reason.
func (c *Checker) Views() {
	c.follow(c.log.last)
	for _, id := range slices.SortedFunc(maps.Keys(c.fold.Services), events.ServiceID.Compare) {
		if s := c.fold.Services[id]; s.Lacks() {
			if why := c.fold.WhyPending(s); why == "" || strings.Contains(why, "not decided") {
				c.breach("reasons", "%s lacks an instance and gives the reason %q", id, why)
			}
		}
	}
	want := views.All(c.fold).Values
	maps.DeleteFunc(want, func(_ views.Key, value []byte) bool { return value == nil })
	for _, name := range bus.Views {
		for _, e := range c.entries(name) {
			key := views.Key{Bucket: name, Key: e.Key}
			if !bytes.Equal(timeless(want[key]), timeless(e.Value)) {
				c.breach("views", "%s/%s is %s, but the log folds to %s", name, e.Key, e.Value, want[key])
				return
			}
			delete(want, key)
		}
	}
	for key := range want {
		c.breach("views", "%s/%s is missing", key.Bucket, key.Key)
		return
	}
}

func (c *Checker) entries(name string) []bus.Entry {
	b, err := c.Server.Bucket(context.Background(), name)
	if err == nil {
		var all []bus.Entry
		if all, err = b.All(context.Background()); err == nil {
			return all
		}
	}
	c.breach("views", "%v", err)
	return nil
}

// timeless returns a view without the place in the log at which it was written. The coordinator does not write an unchanged view again.
func timeless(view []byte) []byte {
	return view[:max(bytes.LastIndex(view, []byte(`,"sequence":`)), 0)]
}
