package projections

import (
	"maps"
	"slices"
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

// Admission is the key with which a node may connect, and the token with which it joined; "" where an operator admitted it.
type Admission struct {
	Key   events.NodeKey
	Token string `json:",omitzero"`
}

// Admissions are which nodes may connect to a bus that knows its users.
type Admissions struct {
	// Tokens are those that had not ended when the last one was created, by id.
	Tokens map[string]Token `json:",omitempty"`
	// Admitted are the nodes that were admitted and not revoked, by name.
	Admitted map[string]Admission `json:",omitempty"`
	// RevokedKeys are those that no node may have again, since they were revoked or replaced, each with the name of the node that it was of.
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
	if a.Admitted == nil {
		a.Admitted = map[string]Admission{}
	}
	if d.Former != "" {
		a.Admitted[name] = Admission{Key: d.Key, Token: a.Admitted[name].Token}
		a.never(name, d.Former)
		return
	}
	a.Admitted[name] = Admission{Key: d.Key, Token: d.Token}
	if t, counted := a.Tokens[d.Token]; counted {
		t.Left--
		a.Tokens[d.Token] = t
	}
}

// revoke also ends the token with which the node joined: its host may still have it.
func (a *Admissions) revoke(name string, d events.NodeRevoked) {
	a.never(name, d.Keys...)
	delete(a.Tokens, a.Admitted[name].Token)
	delete(a.Admitted, name)
}

// never lets no node have these keys of a node again.
func (a *Admissions) never(name string, keys ...events.NodeKey) {
	if a.RevokedKeys == nil {
		a.RevokedKeys = map[events.NodeKey]string{}
	}
	for _, key := range keys {
		a.RevokedKeys[key] = name
	}
}

// NodeWith returns the name of the node that the key is or was of, and whether it was revoked; "" for none.
func (a *Admissions) NodeWith(key events.NodeKey) (name string, revoked bool) {
	if name, revoked = a.RevokedKeys[key]; revoked {
		return name, true
	}
	for holder, of := range a.Admitted {
		if of.Key == key {
			return holder, false // a key is of one name
		}
	}
	return "", false
}

// KeysOf returns, in order, all keys that nodes of the name had and have.
func (a *Admissions) KeysOf(name string) (all []events.NodeKey) {
	for key, of := range a.RevokedKeys {
		if of == name {
			all = append(all, key)
		}
	}
	if now := a.Admitted[name].Key; now != "" {
		all = append(all, now)
	}
	slices.Sort(all)
	return all
}

// CutOff reports whether the last node of the name was revoked, and no other was admitted since.
func (a *Admissions) CutOff(name string) bool {
	return a.Admitted[name].Key == "" && len(a.KeysOf(name)) > 0
}
