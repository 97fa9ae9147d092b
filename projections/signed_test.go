package projections_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// signed writes a round that the signer signs; nil for a round without a signature.
func (w *writer) signed(by *events.Signer, data ...events.Data) {
	w.t.Helper()
	w.closed(data...)
	by.Sign(w.log[len(w.log)-1], w.chain)
}

// forged appends what another writer has appended behind the present end, and leaves the chain of this one.
func (w *writer) forged(by *events.Signer, data ...events.Data) (from, to uint64) {
	w.t.Helper()
	other := *w
	other.signed(by, data...)
	from, w.log = uint64(len(w.log))+1, other.log
	return from, uint64(len(w.log))
}

// voids voids the messages with the signature of by.
func (w *writer) voids(by *events.Signer, from, to, epoch uint64) {
	w.t.Helper()
	m := w.add(events.RoundScope, events.RoundVoid{From: from, To: to, Epoch: epoch, Leader: "second"})
	w.chain = w.chain.Extend(m)
	by.Sign(m, w.chain)
}

// folds folds the log with this root.
func (w *writer) folds(root events.RoundKey, stored bool) (*projections.Fold, error) {
	f := projections.NewFold()
	f.Stored = stored
	if root != "" {
		f.Roots = []events.RoundKey{root}
	}
	for _, m := range w.log {
		if _, err := f.Take(m); err != nil {
			return f, err
		}
	}
	return f, f.Verify()
}

func scaleOf(t *testing.T, w *writer, root events.RoundKey) uint32 {
	t.Helper()
	f, err := w.folds(root, false)
	if err != nil {
		t.Fatal(err)
	}
	return f.Cluster.Services[web].Scale
}

// storedScaleOf folds the log as a stored one, and again after an error, as its readers do.
func storedScaleOf(t *testing.T, w *writer, root events.RoundKey) uint32 {
	t.Helper()
	f, err := w.folds(root, true)
	if err != nil {
		return scaleOf(t, w, root)
	}
	return f.Cluster.Services[web].Scale
}

func TestRoundsThatTheLogDemandsSignedCountOnlySo(t *testing.T) {
	ours, theirs := events.SignerOf([32]byte{1}), events.SignerOf([32]byte{2})
	for name, c := range map[string]struct {
		forge func(w *writer)
		root  events.RoundKey
		want  uint32
	}{
		"signed":                  {func(w *writer) { w.signed(ours, events.ServiceScaled{Scale: 3}) }, "", 3},
		"without a signature":     {func(w *writer) { w.forged(nil, events.ServiceScaled{Scale: 3}) }, "", 2},
		"signed with another key": {func(w *writer) { w.forged(theirs, events.ServiceScaled{Scale: 3}) }, "", 2},
		"signed over another end": {func(w *writer) { w.forged(ours, events.ServiceScaled{Scale: 3}); w.harmsLast() }, "", 2},
		"another key in the same": {func(w *writer) {
			w.forged(theirs, events.ClusterSigned{Key: theirs.Key()}, events.ServiceScaled{Scale: 3})
		}, ours.Key(), 2},
		"another key without its sign": {func(w *writer) {
			w.forged(nil, events.ClusterSigned{Key: theirs.Key()}, events.ServiceScaled{Scale: 3})
		}, "", 2},
		"the key changes": {func(w *writer) {
			w.signed(ours, events.ClusterSigned{Key: theirs.Key()})
			w.signed(theirs, events.ServiceScaled{Scale: 3})
		}, ours.Key(), 3},
		"the old key after a change": {func(w *writer) {
			w.signed(ours, events.ClusterSigned{Key: theirs.Key()})
			w.forged(ours, events.ServiceScaled{Scale: 3})
		}, "", 2},
		"restored with new keys": {func(w *writer) {
			w.signed(theirs, events.ClusterSigned{Key: theirs.Key()}, events.ServiceScaled{Scale: 3})
		}, theirs.Key(), 3},
		"restored, read without a key": {func(w *writer) {
			w.signed(theirs, events.ClusterSigned{Key: theirs.Key()}, events.ServiceScaled{Scale: 3})
		}, "", 3},
		"no key from here on": {func(w *writer) { w.signed(ours, events.ClusterSigned{}); w.signed(nil, events.ServiceScaled{Scale: 3}) }, "", 3},
	} {
		t.Run(name, func(t *testing.T) {
			w := &writer{t: t}
			w.signed(ours, events.ClusterSigned{Key: ours.Key()}, revised(1), events.ServiceScaled{Scale: 2})
			c.forge(w)
			if got := scaleOf(t, w, c.root); got != c.want {
				t.Errorf("the scale is %d, want %d", got, c.want)
			}
			if got := storedScaleOf(t, w, c.root); got != c.want {
				t.Errorf("as stored, the scale is %d, want %d", got, c.want)
			}
		})
	}
}

// harmsLast changes who has closed the last round.
func (w *writer) harmsLast() {
	last := &w.log[len(w.log)-1]
	last.Body = bytes.Replace(last.Body, []byte(`"epoch":1`), []byte(`"epoch":7`), 1)
}

func TestAForgedRoundIsVoidedLikeAnyOpenMessage(t *testing.T) {
	ours, theirs := events.SignerOf([32]byte{1}), events.SignerOf([32]byte{2})
	w := &writer{t: t}
	w.signed(ours, events.ClusterSigned{Key: ours.Key()}, revised(1), events.ServiceScaled{Scale: 2})
	from, to := w.forged(theirs, events.ClusterSigned{Key: theirs.Key()}, events.ServiceScaled{Scale: 9})
	forgedVoid := *w
	forgedVoid.voids(theirs, from, to, 2)
	w.log = forgedVoid.log // it is one of what the next void names
	w.voids(ours, from, to+1, 2)
	w.signed(ours, events.ServiceScaled{Scale: 3})
	if got := scaleOf(t, w, ours.Key()); got != 3 {
		t.Errorf("the scale is %d, want 3", got)
	}
	if got := storedScaleOf(t, w, ours.Key()); got != 3 {
		t.Errorf("as stored, the scale is %d, want 3", got)
	}
}

// TestADamagedRoundIsNotTakenForAForgedOne changes what a coordinator has signed, and repeats what it has signed.
func TestADamagedRoundIsNotTakenForAForgedOne(t *testing.T) {
	ours := events.SignerOf([32]byte{1})
	for name, c := range map[string]struct {
		harm func(w *writer)
		want error
	}{
		"an event": {func(w *writer) { w.log[len(w.log)-2].Body = []byte(`{"scale":9}`) }, projections.ErrChain},
		"a signature": {func(w *writer) {
			last := w.log[len(w.log)-1]
			w.signed(ours, events.ServiceScaled{Scale: 4})
			last.Header["Rookery-Signature"] = []string{"A"}
		}, projections.ErrChain},
		"a repetition": {func(w *writer) { end := w.log[len(w.log)-1]; end.Sequence++; w.log = append(w.log, end) }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := &writer{t: t}
			w.signed(ours, events.ClusterSigned{Key: ours.Key()}, revised(1), events.ServiceScaled{Scale: 2})
			w.signed(ours, events.ServiceScaled{Scale: 3})
			c.harm(w)
			if _, err := fold(w.log); !errors.Is(err, c.want) {
				t.Errorf("the fold ends with %v, want %v", err, c.want)
			}
		})
	}
}

func TestAStoredRoundCountsByALaterSignature(t *testing.T) {
	ours := events.SignerOf([32]byte{1})
	w := &writer{t: t}
	w.signed(ours, events.ClusterSigned{Key: ours.Key()}, revised(1), events.ServiceScaled{Scale: 2})
	w.signed(nil, events.ServiceScaled{Scale: 3})
	if f, err := w.folds("", true); !errors.Is(err, projections.ErrChain) {
		t.Errorf("a stored log that ends with a round which is not signed is folded to scale %d: %v", f.Cluster.Services[web].Scale, err)
	}
	w.signed(ours, events.ServiceScaled{Scale: 4})
	if f, err := w.folds("", true); err != nil || f.Cluster.Services[web].Scale != 4 {
		t.Errorf("the scale is %d, want 4: %v", f.Cluster.Services[web].Scale, err)
	}
}

func TestASnapshotBelongsToASignedEnd(t *testing.T) {
	ours, theirs := events.SignerOf([32]byte{1}), events.SignerOf([32]byte{2})
	w := &writer{t: t}
	w.signed(ours, events.ClusterSigned{Key: ours.Key()}, revised(1))
	f, err := fold(w.log)
	if err != nil {
		t.Fatal(err)
	}
	last := w.log[len(w.log)-1]
	if err := f.Cluster.Holds(last); err != nil {
		t.Error(err)
	}
	theirs.Sign(last, w.chain)
	if f.Cluster.Holds(last) == nil {
		t.Error("a snapshot is taken at an end with the signature of another key")
	}
}

// TestAStateThatNoCoordinatorHasSignedIsNotTaken reads snapshots of a log whose rounds are signed.
func TestAStateThatNoCoordinatorHasSignedIsNotTaken(t *testing.T) {
	ours, theirs := events.SignerOf([32]byte{1}), events.SignerOf([32]byte{2})
	w := &writer{t: t}
	w.signed(ours, events.ClusterSigned{Key: ours.Key()}, revised(1))
	f, err := fold(w.log)
	if err != nil {
		t.Fatal(err)
	}
	last := w.log[len(w.log)-1]
	for name, c := range map[string]struct {
		signer *events.Signer
		roots  []events.RoundKey
		change func(c *projections.Cluster)
		taken  bool
	}{
		"signed":                          {ours, []events.RoundKey{ours.Key()}, nil, true},
		"signed with a key of before":     {theirs, []events.RoundKey{ours.Key(), theirs.Key()}, nil, true},
		"read without a key":              {nil, nil, nil, true},
		"not signed":                      {nil, []events.RoundKey{ours.Key()}, nil, false},
		"signed with another key":         {theirs, []events.RoundKey{ours.Key()}, nil, false},
		"a state that denies signatures":  {nil, []events.RoundKey{ours.Key()}, func(c *projections.Cluster) { c.Key = "" }, false},
		"a state that names another key":  {theirs, []events.RoundKey{ours.Key()}, func(c *projections.Cluster) { c.Key = theirs.Key() }, false},
		"another key, read without a key": {theirs, nil, func(c *projections.Cluster) { c.Key = theirs.Key() }, false},
	} {
		t.Run(name, func(t *testing.T) {
			state := *f.Cluster
			if c.change != nil {
				c.change(&state)
			}
			snapshot, err := projections.SnapshotOf(&state, c.signer)
			if err != nil {
				t.Fatal(err)
			}
			var body bytes.Buffer
			if err := snapshot.Write(&body); err != nil {
				t.Fatal(err)
			}
			read, err := projections.DecodeFold(&body, state.LogID(), c.roots)
			if err == nil {
				err = read.Holds(last)
			}
			if (err == nil) != c.taken {
				t.Errorf("it is taken: %t, want %t: %v", err == nil, c.taken, err)
			}
		})
	}
}
