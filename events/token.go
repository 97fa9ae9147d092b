package events

import (
	"encoding/base64"
	"time"

	"github.com/nats-io/nkeys"
)

// Limits of a token with which nodes join.
const (
	DefaultTokenTTL = Duration(time.Hour)
	MinTokenTTL     = Duration(time.Minute)
	MaxTokenTTL     = Duration(30 * 24 * time.Hour)
	// MaxTokenUses is how many nodes may join with one token.
	MaxTokenUses TokenUses = 10_000
	// MaxNodeKeys is how many keys nodes of one name may have had when a further one takes the place of the last: each revocation lists all.
	MaxNodeKeys = 100
	// MaxJoinTokens is how many tokens a cluster may have that nodes can still join with.
	MaxJoinTokens = 1000
)

// TokenUses is how many nodes may join with a token.
type TokenUses uint32

// NodeKey is the public key of a node, as NATS writes that of a user: U and 55 of A-Z and 2-7.
type NodeKey string

// ClusterCreateToken is the command to let nodes join with a token. The command has no secret: that is in the credentials with which the node asks.
type ClusterCreateToken struct {
	// ID names the token. It is the user of the credentials in it, and a DNS label.
	ID string `json:"id" jsonschema:"pattern=^[a-z0-9]([a-z0-9-]*[a-z0-9])?$,maxLength=63"`
	// TTL is how long nodes may join with the token. Default: 1h.
	TTL Duration `json:"ttl,omitzero"`
	// Uses is how many nodes may join with the token. Default: 1, and none with Approve.
	Uses TokenUses `json:"uses,omitzero" jsonschema:"minimum=0,maximum=10000"`
	// Approve says that an operator must admit each node that asks with the token, by its key.
	Approve bool `json:"approve,omitzero"`
}

// Kind implements Data.
func (ClusterCreateToken) Kind() Kind { return v1("cluster", "create-token") }

func (c ClusterCreateToken) check() error {
	if err := checkName("id", c.ID); err != nil {
		return err
	}
	if c.TTL != 0 && (c.TTL < MinTokenTTL || c.TTL > MaxTokenTTL) {
		return Reject(CodeOutOfRange, "ttl", "ttl %s is not between %s and %s", time.Duration(c.TTL), time.Duration(MinTokenTTL), time.Duration(MaxTokenTTL))
	}
	if c.Approve && c.Uses > 0 {
		return Reject(CodeInvalidValue, "uses", "uses has no meaning with approve: an operator admits each node")
	}
	if c.Uses > MaxTokenUses {
		return Reject(CodeOutOfRange, "uses", "uses is %d, more than %d", c.Uses, MaxTokenUses)
	}
	return nil
}

func (c ClusterCreateToken) normal() Command {
	if c.TTL == 0 {
		c.TTL = DefaultTokenTTL
	}
	if !c.Approve {
		c.Uses = max(c.Uses, 1)
	}
	return c
}

// TokenCreated says that nodes may join with a token. It is in clusters from LevelAdmissions on.
type TokenCreated struct {
	ID string `json:"id"`
	// Until is when the token ends.
	Until time.Time `json:"until"`
	// Uses is how many nodes may join with it, without Approve.
	Uses TokenUses `json:"uses,omitzero"`
	// Approve says that an operator must admit each node that asks with it.
	Approve bool `json:"approve,omitzero"`
}

// Kind implements Data.
func (TokenCreated) Kind() Kind { return v1("cluster", "token-created") }

// NodeAdmit is the command to let a node of this name connect with a key. The leader sends it for a node that asks to join, and an operator to
// approve one. A name belongs to its key until NodeRevoke.
type NodeAdmit struct {
	// Key is the node's public key.
	Key NodeKey `json:"key" jsonschema:"pattern=^U[A-Z2-7]{55}$"`
	// Token is the user with whose credentials the node asks: a token, or the node itself, which has joined before. Absent from an operator.
	Token string `json:"token,omitempty" jsonschema:"pattern=^([a-z0-9]([a-z0-9-]*[a-z0-9])?)?$,maxLength=63"`
	// Former is the key that the node has so far, if it is to have this one in its place. It needs no token then.
	Former *FormerKey `json:"former,omitempty"`
}

// FormerKey is the key in whose place a node is to have another.
type FormerKey struct {
	Key NodeKey `json:"key" jsonschema:"pattern=^U[A-Z2-7]{55}$"`
	// Proof is the signature by it, in base64 for URLs; see JoinQuestion.Replacing.
	Proof string `json:"proof" jsonschema:"minLength=1,maxLength=128"`
}

// Kind implements Data.
func (NodeAdmit) Kind() Kind { return v1("node", "admit") }

func (c NodeAdmit) check() error {
	if c.Token != "" {
		if err := checkName("token", c.Token); err != nil {
			return err
		}
	}
	if err := c.Former.check(); err != nil {
		return err
	}
	return c.Key.check("key")
}

func (c NodeAdmit) normal() Command { return c }

// keyLength is how many characters the public key of a user has.
const keyLength = 56

// check returns a *Rejection for a text that is not the public key of a user. Its checksum is for the one who signs.
func (k NodeKey) check(field string) error {
	valid := len(k) == keyLength && k[0] == 'U'
	for _, c := range []byte(k) {
		valid = valid && (('A' <= c && c <= 'Z') || ('2' <= c && c <= '7'))
	}
	if !valid {
		return Reject(CodeInvalidValue, field, "%s is not the public key of a node: want U and %d of A-Z and 2-7, as rookery node join prints it", quote(string(k)), keyLength-1)
	}
	return nil
}

// NodeAdmitted says that the node of this name may connect with the key. It is in clusters from LevelAdmissions on.
type NodeAdmitted struct {
	Key NodeKey `json:"key"`
	// Token is the one that this is a use of; absent where an operator admits the node.
	Token string `json:"token,omitempty"`
	// Former is the key that the node had until now; absent where it had none. It is in clusters from LevelSignatures on.
	Former NodeKey `json:"former,omitempty"`
}

// Kind implements Data.
func (NodeAdmitted) Kind() Kind { return v1("node", "admitted") }

// NodeRevoke is the command to cut a node off: its key is not admitted again, and its instances count as lost. The NATS servers learn of the key from
// rookery node revoke.
type NodeRevoke struct{}

// Kind implements Data.
func (NodeRevoke) Kind() Kind { return v1("node", "revoke") }

func (NodeRevoke) check() error      { return nil }
func (c NodeRevoke) normal() Command { return c }

// NodeRevoked says that the node of this name is cut off. It is in clusters from LevelAdmissions on.
type NodeRevoked struct {
	// Keys are all that nodes of the name have had, in order. None of them is admitted again.
	Keys []NodeKey `json:"keys"`
}

// Kind implements Data.
func (NodeRevoked) Kind() Kind { return v1("node", "revoked") }

// JoinSubject is where the user of a token, or a node that has joined before, asks the leader for credentials: rookery.join.<user>.
func JoinSubject(user string) string { return JoinRoot + "." + user }

// JoinQuestion asks for the credentials of a node.
type JoinQuestion struct {
	// Node is the name that the node has or wants.
	Node string `json:"node"`
	// Key is its public key.
	Key NodeKey `json:"key"`
	// Former is the key that the node has so far, if it is to have this one in its place.
	Former *FormerKey `json:"former,omitempty"`
}

// Replacing returns the question with the proof that the holder of the key that the node has so far asks it.
func (q JoinQuestion) Replacing(former nkeys.KeyPair) (JoinQuestion, error) {
	key, err := former.PublicKey()
	if err != nil {
		return q, err
	}
	signature, err := former.Sign(proven(q.Node, q.Key))
	q.Former = &FormerKey{NodeKey(key), base64.RawURLEncoding.EncodeToString(signature)}
	return q, err
}

// proven is what the former key of a node signs.
func proven(node string, key NodeKey) []byte { return []byte(signedKey + node + "\x00" + string(key)) }

// Proves reports whether the former key, which there must be, has signed that the node of this name has the key.
func (c NodeAdmit) Proves(node string) bool {
	former, err := nkeys.FromPublicKey(string(c.Former.Key))
	if err != nil {
		return false
	}
	signature, err := base64.RawURLEncoding.DecodeString(c.Former.Proof)
	return err == nil && former.Verify(proven(node, c.Key), signature) == nil
}

// Check returns an error for the first field that breaks a rule.
func (q JoinQuestion) Check() error {
	if err := checkName("node", q.Node); err != nil {
		return err
	}
	if err := q.Former.check(); err != nil {
		return err
	}
	return q.Key.check("key")
}

// maxProof is the greatest length of a proof in bytes.
const maxProof = 128

func (f *FormerKey) check() error {
	switch {
	case f == nil:
		return nil
	case f.Proof == "" || len(f.Proof) > maxProof:
		return Reject(CodeOutOfRange, "former.proof", "former.proof has %d bytes, want 1 to %d", len(f.Proof), maxProof)
	}
	return f.Key.check("former.key")
}

// JoinAnswer has the credentials of a node. Both are NATS's tokens of a user for the key that asked, and of no use without its seed.
type JoinAnswer struct {
	// Node is for the node's work until Until.
	Node  string    `json:"node"`
	Until time.Time `json:"until"`
	// Again is for asking again, with JoinSubject of the node's name. It lasts until the key is revoked.
	Again string `json:"again"`
}
