package projections_test

import (
	"slices"
	"testing"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// TestARevisionIsLikeAnotherOfTheSameSpecAndImages lets one tag resolve to two images. An instance of the first image must not count as up
// to date in a revision of the second, although both specs are the same.
func TestARevisionIsLikeAnotherOfTheSameSpecAndImages(t *testing.T) {
	c := projections.NewCluster()
	id := events.ServiceID{Namespace: "demo", Name: "web"}
	sequence := uint64(0)
	apply := func(data events.Data) {
		t.Helper()
		sequence++
		if err := c.Apply(events.Record{Event: events.Event{Scope: events.ServiceScope(id), Data: data}, Sequence: sequence}); err != nil {
			t.Fatal(err)
		}
	}
	spec := events.Spec{Image: "registry/web:1"}
	revise := func(number, of uint64, keeps ...uint64) {
		apply(events.ServiceRevised{Revision: number, Spec: spec, Hash: spec.Hash(), Of: of, Keeps: keeps})
	}
	made := func(ordinal uint32, revision uint64, digest string) {
		apply(events.InstancePlaced{Ordinal: ordinal, Generation: 1, Revision: revision, Node: "n0"})
		apply(events.InstanceOnline{InstanceSeen: events.InstanceSeen{
			Ordinal: ordinal, Generation: 1, Node: "n0", Position: events.Position{Epoch: 1, Phase: events.PhaseOnline},
			Images: map[string]string{spec.Image: "registry/web@sha256:" + digest},
		}})
	}
	revise(1, 0)
	made(0, 1, "aa")
	revise(2, 0)
	made(1, 2, "bb")
	s := c.Services[id]
	if alike := s.Alike(1); !slices.Equal(alike, []uint64{1}) {
		t.Errorf("revisions alike to revision 1: %v", alike)
	}
	revise(3, 1, s.Alike(1)...)
	if images := s.ImagesOf(); images[spec.Image] != "registry/web@sha256:aa" {
		t.Errorf("revision 3 repeats revision 1, but has the images %v", images)
	}
	if !s.UpToDate(s.Slots[0].Current) || s.UpToDate(s.Slots[1].Current) {
		t.Errorf("up to date in revision 3: slot 0 %t, slot 1 %t", s.UpToDate(s.Slots[0].Current), s.UpToDate(s.Slots[1].Current))
	}
	if s.Serving() != 1 || !s.Rolling() {
		t.Errorf("%d serve, rolling %t", s.Serving(), s.Rolling())
	}
}

// TestTheLastRevisionsAreKept revises a service more often than the state keeps revisions.
func TestTheLastRevisionsAreKept(t *testing.T) {
	c := projections.NewCluster()
	id := events.ServiceID{Namespace: "demo", Name: "web"}
	const many = events.KeptRevisions + 3
	for n := uint64(1); n <= many; n++ {
		r := events.Record{Event: events.Event{Scope: events.ServiceScope(id), Data: events.ServiceRevised{Revision: n}}, Sequence: n}
		if err := c.Apply(r); err != nil {
			t.Fatal(err)
		}
	}
	s := c.Services[id]
	if len(s.Revisions) != events.KeptRevisions || s.Revisions[many-events.KeptRevisions+1] == nil {
		t.Errorf("the state keeps %d revisions", len(s.Revisions))
	}
}
