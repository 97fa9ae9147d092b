package events_test

import (
	"testing"

	"github.com/nats-io/nkeys"

	"github.com/rookery-project/rookery/events"
)

// TestAFormerKeySignsForTheNext takes the proof of a former key for that node and that key alone. A text that a server has the key sign proves nothing.
func TestAFormerKeySignsForTheNext(t *testing.T) {
	pair := func() (nkeys.KeyPair, events.NodeKey) {
		made, err := nkeys.CreateUser()
		if err != nil {
			t.Fatal(err)
		}
		key, err := made.PublicKey()
		if err != nil {
			t.Fatal(err)
		}
		return made, events.NodeKey(key)
	}
	former, _ := pair()
	_, next := pair()
	_, other := pair()
	q, err := events.JoinQuestion{Node: "edge-1", Key: next}.Replacing(former)
	if err != nil || q.Check() != nil {
		t.Fatal(err, q.Check())
	}
	for what, row := range map[string]struct {
		node   string
		change func(*events.NodeAdmit)
		proves bool
	}{
		"as it was asked":    {"edge-1", func(*events.NodeAdmit) {}, true},
		"of another node":    {"edge-2", func(*events.NodeAdmit) {}, false},
		"for another key":    {"edge-1", func(c *events.NodeAdmit) { c.Key = other }, false},
		"by another key":     {"edge-1", func(c *events.NodeAdmit) { c.Former.Key = other }, false},
		"without a proof":    {"edge-1", func(c *events.NodeAdmit) { c.Former.Proof = "" }, false},
		"with another proof": {"edge-1", func(c *events.NodeAdmit) { c.Former.Proof = "hello" }, false},
		"by no user's key":   {"edge-1", func(c *events.NodeAdmit) { c.Former.Key = "hello" }, false},
	} {
		c := events.NodeAdmit{Key: q.Key, Former: &events.FormerKey{Key: q.Former.Key, Proof: q.Former.Proof}}
		row.change(&c)
		if c.Proves(row.node) != row.proves {
			t.Errorf("%s: it proves that: %v", what, !row.proves)
		}
	}
}
