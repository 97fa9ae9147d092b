package coordinator

import (
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// knowsUsers returns an error where nodes need no admission, or an older program could not read that they have one.
func (t *Turn) knowsUsers() error {
	if !t.Cluster.Accounts {
		return events.Reject(events.CodeInvalidValue, "subject", "accounts are off here: every node may join, without a token")
	}
	return reached(t.Cluster, events.LevelAdmissions, "subject", "tokens")
}

func (t *Turn) createToken(r events.Request) error {
	c := r.Command.(events.ClusterCreateToken)
	if err := t.knowsUsers(); err != nil {
		return err
	}
	live := 0
	for id, known := range t.Cluster.Tokens {
		if !t.Now.Before(known.Until) {
			continue
		}
		if id == c.ID {
			return events.Reject(events.CodeInvalidValue, "id", "there is a token %s already: give each an id of its own", id)
		}
		live++
	}
	if live >= events.MaxJoinTokens {
		return events.Reject(events.CodeOutOfRange, "id", "there are %d tokens that have not ended, and there may be no further one: wait until some have", live)
	}
	t.atOnce(r, events.TokenCreated{ID: c.ID, Until: t.Now.Add(time.Duration(c.TTL)), Uses: c.Uses, Approve: c.Approve})
	return nil
}

// admitNode lets a node connect with its key.
func (t *Turn) admitNode(r events.Request) error {
	c := r.Command.(events.NodeAdmit)
	name, _ := r.Scope.Node()
	if err := t.knowsUsers(); err != nil {
		return err
	}
	known, err := MayJoin(t.Cluster, name, c, t.Now)
	switch {
	case err != nil:
		return err
	case known:
		t.atOnce(r)
	default:
		t.atOnce(r, admitted(c))
	}
	return nil
}

func admitted(c events.NodeAdmit) events.NodeAdmitted {
	if c.Former != nil {
		return events.NodeAdmitted{Key: c.Key, Former: c.Former.Key}
	}
	return events.NodeAdmitted{Key: c.Key, Token: c.Token}
}

// MayJoin returns a *events.Rejection unless the node may connect with the key, and reports whether it was admitted with that key before. A node that
// asks again, because it heard no answer or because its credentials end, uses no token, and neither does one that has another key in place of its own.
func MayJoin(c *projections.Cluster, name string, asks events.NodeAdmit, now time.Time) (known bool, err error) {
	switch holder, revoked := c.NodeWith(asks.Key); {
	case revoked:
		return false, events.Reject(events.CodeInvalidValue, "key", "key %s is revoked or replaced: it was of node %s; join with a new key", asks.Key, holder)
	case holder == name:
		return true, nil
	case holder != "":
		return false, events.Reject(events.CodeInvalidValue, "key", "key %s is of node %s: make a key for each node", asks.Key, holder)
	case asks.Former != nil:
		return false, mayReplace(c, name, asks)
	case c.Admitted[name].Key != "":
		return false, events.Reject(events.CodeBusy, "subject",
			"node %s has joined with another key: choose another name, or run rookery node revoke %[1]s first if it is to be replaced", name)
	case asks.Token == "":
		return false, nil
	}
	if err := mayUse(c.Tokens, asks.Token, now); err != nil {
		return false, err
	}
	n := c.Nodes[name]
	if c.Tokens[asks.Token].Approve || (n != nil && !n.Revoked) { // a node whose key the log does not know may still run
		return false, events.Reject(events.CodeNeedsApproval, "token", "an operator must admit the node first: rookery node admit %s --key %s", name, asks.Key)
	}
	return false, nil
}

// mayReplace returns an error unless the node has this key, and may have another in its place.
func mayReplace(c *projections.Cluster, name string, asks events.NodeAdmit) error {
	switch {
	case c.Admitted[name].Key != asks.Former.Key:
		return events.Reject(events.CodeInvalidValue, "former", "node %s has not joined with the key %s, or it is revoked or replaced", name, asks.Former.Key)
	case !asks.Proves(name):
		return events.Reject(events.CodeInvalidValue, "former.proof", "key %s has not signed that node %s has the key %s", asks.Former.Key, name, asks.Key)
	case len(c.KeysOf(name)) >= events.MaxNodeKeys:
		return events.Reject(events.CodeOutOfRange, "key", "nodes of the name %[1]s have had %[2]d keys, and no other may take the place of the last: run rookery node revoke %[1]s, and join again",
			name, events.MaxNodeKeys)
	}
	return reached(c, events.LevelSignatures, "former", "other keys of nodes")
}

// mayUse returns an error if no further node may join with the token.
func mayUse(tokens map[string]projections.Token, id string, now time.Time) error {
	token, exists := tokens[id]
	switch {
	case !exists:
		return events.Reject(events.CodeNotFound, "token", "there is no token %s, or it has ended: make another with rookery token create", id)
	case !now.Before(token.Until):
		return events.Reject(events.CodeNotFound, "token", "token %s ended at %s: make another with rookery token create", id, token.Until.UTC().Format(time.RFC3339))
	case token.Left == 0 && !token.Approve:
		return events.Reject(events.CodeNotFound, "token", "token %s has been used as often as it may be: make another with rookery token create", id)
	}
	return nil
}

// revokeNode cuts a node off. It says all keys again that nodes of the name have had, for servers that may not know of the earlier ones yet.
func (t *Turn) revokeNode(r events.Request) error {
	name, _ := r.Scope.Node()
	if err := t.knowsUsers(); err != nil {
		return err
	}
	keys := t.Cluster.KeysOf(name)
	if len(keys) == 0 {
		return events.Reject(events.CodeNotFound, "subject", "no node %s has joined with a token: rookery user rm removes one that rookery user add made", name)
	}
	t.atOnce(r, events.NodeRevoked{Keys: keys})
	return nil
}
