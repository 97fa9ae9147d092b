package projections

import (
	"maps"
	"time"

	"github.com/rookery-project/rookery/events"
)

// Token lets nodes join.
type Token struct {
	// Until is when it ends, and Left is how many nodes may still join with it.
	Until time.Time
	Left  events.TokenUses
	// Approve says that an operator must admit each node that asks with it.
	Approve bool `json:",omitzero"`
}

// Admissions are which nodes may connect to a bus that knows its users.
type Admissions struct {
	// Tokens are those that had not ended when the last one was created, by id.
	Tokens map[string]Token `json:",omitempty"`
	// Keys are those of the nodes that were admitted and not revoked, by name.
	Keys map[string]events.NodeKey `json:",omitempty"`
	// RevokedKeys are those that no node may have again, each with the name of the node that it was of.
	RevokedKeys map[events.NodeKey]string `json:",omitempty"`
}

func (a *Admissions) createToken(d events.TokenCreated, now time.Time) {
	if a.Tokens == nil {
		a.Tokens = map[string]Token{}
	}
	maps.DeleteFunc(a.Tokens, func(_ string, t Token) bool { return !now.Before(t.Until) })
	a.Tokens[d.ID] = Token{Until: d.Until, Left: d.Uses, Approve: d.Approve}
}

func (a *Admissions) admit(name string, d events.NodeAdmitted) {
	if a.Keys == nil {
		a.Keys = map[string]events.NodeKey{}
	}
	a.Keys[name] = d.Key
	if t, counted := a.Tokens[d.Token]; counted {
		t.Left--
		a.Tokens[d.Token] = t
	}
}

func (a *Admissions) revoke(name string, d events.NodeRevoked) {
	if a.RevokedKeys == nil {
		a.RevokedKeys = map[events.NodeKey]string{}
	}
	a.RevokedKeys[d.Key] = name
	delete(a.Keys, name)
}

// NodeWith returns the name of the node that the key is or was of, and whether it was revoked; "" for none.
func (a *Admissions) NodeWith(key events.NodeKey) (name string, revoked bool) {
	if name, revoked = a.RevokedKeys[key]; revoked {
		return name, true
	}
	for holder, of := range a.Keys {
		if of == key {
			return holder, false // a key is of one name
		}
	}
	return "", false
}
