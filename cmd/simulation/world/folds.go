package world

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"slices"
	"time"

	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
)

// folds draws, for most plans, how often coordinators take snapshots of the fold. It also draws when a snapshot is spoiled and the
// coordinators restart.
func (d *drawer) folds() {
	const share, least, spread, mean = 4, 80, 1600, 15 * time.Minute
	p := d.plan
	if d.IntN(share) == 0 {
		return
	}
	p.SnapshotEvery = uint64(least + d.IntN(spread))
	for at := d.soon(mean); at < p.Lasts; at += d.soon(mean) {
		p.Actions = append(p.Actions, Action{At: at, Kind: FoldSpoiled, N: d.IntN(1 << 30)})
		for i := range p.Coordinators {
			p.Actions = append(p.Actions, Action{At: at + d.soon(time.Second), Kind: Restart, Targets: []string{coordinatorName(i)}, For: d.soon(3 * time.Second)})
		}
	}
}

// foldObjects returns the snapshots of the fold, the newest first.
func (w *World) foldObjects() (bus.Objects, []bus.Object) {
	objects := w.server.Objects(bus.ObjectsFolds)
	all, err := objects.All(context.Background())
	if err != nil {
		w.breach("plan", "snapshots of the fold cannot be listed: %v", err)
	}
	slices.SortFunc(all, func(a, b bus.Object) int { return cmp.Compare(b.Name, a.Name) })
	return objects, all
}

func (w *World) foldBody(objects bus.Objects, name string) []byte {
	content, err := objects.Get(context.Background(), name)
	if err != nil {
		return nil
	}
	body, err := io.ReadAll(content)
	if err != nil {
		return nil
	}
	return body
}

// hitFoldSpoiled changes a digit of the last snapshot of the fold, cuts the snapshot short, or deletes it.
func hitFoldSpoiled(w *World, a Action) {
	objects, all := w.foldObjects()
	if len(all) == 0 {
		return
	}
	name := all[0].Name
	body := w.foldBody(objects, name)
	w.spoiled[name] = true
	w.note("== the snapshot %s is spoiled", name)
	switch a.N % 4 {
	case 0:
		body = body[:len(body)/2]
	case 1:
		if err := objects.Delete(context.Background(), name); err != nil {
			w.breach("plan", "%v", err)
		}
		return
	default:
		changeDigit(body, a.N)
	}
	if err := objects.Put(context.Background(), name, bytes.NewReader(body)); err != nil {
		w.breach("plan", "%v", err)
	}
}

// changeDigit changes one digit of the state, which stays readable.
func changeDigit(body []byte, n int) {
	begin := bytes.IndexByte(body, '\n') + 1
	for i := range len(body) - begin {
		at := begin + (n+i)%(len(body)-begin)
		if c := body[at]; c >= '1' && c < '9' {
			body[at] = c + 1
			return
		}
	}
}

// newestFold returns the sequence of the newest snapshot at or before upTo; 0 for none.
func (w *World) newestFold(upTo uint64) uint64 {
	state, err := w.server.State(context.Background(), bus.Log)
	if err != nil {
		w.breach("plan", "%v", err)
	}
	objects, all := w.foldObjects()
	for _, o := range all {
		c, err := projections.DecodeFold(bytes.NewReader(w.foldBody(objects, o.Name)), state.Identity, nil)
		if err == nil && c.Sequence <= upTo {
			return c.Sequence
		}
	}
	return 0
}
