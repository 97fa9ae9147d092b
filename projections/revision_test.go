package projections_test

import (
	"slices"
	"testing"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// TestARevisionIsLikeAnotherOfTheSameSpecAndImages has one tag stand for two images: what was made from the first is not
// what a revision of the second says, although their specs are the same.
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
		t.Errorf("alike to revision 1 are %v", alike)
	}
	revise(3, 1, s.Alike(1)...)
	if images := s.ImagesOf(); images[spec.Image] != "registry/web@sha256:aa" {
		t.Errorf("revision 3 repeats revision 1, and has the images %v", images)
	}
	if !s.UpToDate(s.Slots[0].Current) || s.UpToDate(s.Slots[1].Current) {
		t.Errorf("of revision 3 are slot 0: %t, slot 1: %t", s.UpToDate(s.Slots[0].Current), s.UpToDate(s.Slots[1].Current))
	}
	if s.Serving() != 1 || !s.Rolling() {
		t.Errorf("%d serve, rolling %t", s.Serving(), s.Rolling())
	}
}

// TestTheLastRevisionsAreKept has a service be revised more often than revisions are kept.
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
		t.Errorf("kept are %d revisions", len(s.Revisions))
	}
}
