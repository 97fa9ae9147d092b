package coordinator_test

import (
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nkeys"

	"github.com/rookery-project/rookery/coordinator"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// TestANodeMayHaveAnotherKey lets the node that has a key have another in its place, and no other node.
func TestANodeMayHaveAnotherKey(t *testing.T) {
	const next, others = "UNEXT", "UOTHER"
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
	present, has := pair()
	former, had := pair()
	asks := func(name string, key events.NodeKey, by nkeys.KeyPair) events.NodeAdmit {
		q, err := events.JoinQuestion{Node: name, Key: key}.Replacing(by)
		if err != nil {
			t.Fatal(err)
		}
		return events.NodeAdmit{Key: q.Key, Former: q.Former}
	}
	for what, row := range map[string]struct {
		name  string
		asks  events.NodeAdmit
		level events.Level
		keys  int // that the node has had before
		known bool
		code  events.Code
	}{
		"its key":               {name: "edge-1", asks: events.NodeAdmit{Key: has}, known: true},
		"another in its place":  {name: "edge-1", asks: asks("edge-1", next, present)},
		"the same once more":    {name: "edge-1", asks: asks("edge-1", has, former), known: true},
		"its former key":        {name: "edge-1", asks: events.NodeAdmit{Key: had}, code: events.CodeInvalidValue},
		"back to its former":    {name: "edge-1", asks: asks("edge-1", had, present), code: events.CodeInvalidValue},
		"by its former key":     {name: "edge-1", asks: asks("edge-1", next, former), code: events.CodeInvalidValue},
		"with a token":          {name: "edge-1", asks: events.NodeAdmit{Key: next, Token: "edge-1"}, code: events.CodeBusy},
		"without a proof":       {name: "edge-1", asks: events.NodeAdmit{Key: next, Former: &events.FormerKey{Key: has, Proof: "x"}}, code: events.CodeInvalidValue},
		"by proof of another":   {name: "edge-1", asks: asks("edge-2", next, present), code: events.CodeInvalidValue},
		"the key of another":    {name: "edge-1", asks: asks("edge-1", others, present), code: events.CodeInvalidValue},
		"the name of another":   {name: "edge-2", asks: asks("edge-2", next, present), code: events.CodeInvalidValue},
		"a new name":            {name: "edge-3", asks: asks("edge-3", next, present), code: events.CodeInvalidValue},
		"at an older level":     {name: "edge-1", asks: asks("edge-1", next, present), level: events.LevelAdmissions, code: events.CodeOlder},
		"once more than it may": {name: "edge-1", asks: asks("edge-1", next, present), keys: events.MaxNodeKeys, code: events.CodeOutOfRange},
	} {
		c := projections.NewCluster()
		c.Level = events.LevelSignatures
		if row.level > 0 {
			c.Level = row.level
		}
		c.Admitted = map[string]projections.Admission{"edge-1": {Key: has}, "edge-2": {Key: others}}
		c.RevokedKeys = map[events.NodeKey]string{had: "edge-1"}
		for range row.keys {
			_, key := pair()
			c.RevokedKeys[key] = "edge-1"
		}
		known, err := coordinator.MayJoin(c, row.name, row.asks, time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC))
		var why *events.Rejection
		if errors.As(err, &why); known != row.known || (err == nil) != (row.code == "") || (why != nil && why.Code != row.code) {
			t.Errorf("%s: known %v, %v; want %v, %q", what, known, err, row.known, row.code)
		}
	}
}
