package events

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"

	"github.com/nats-io/nkeys"
)

// RoundKey is the public key of those who may close rounds, as NATS writes that of a cluster: C and 55 of A-Z and 2-7.
type RoundKey string

// headerSignature has the signature of a message that closes or voids a round. The hash chain does not cover it.
const headerSignature = "Rookery-Signature"

// Signatures are of texts that begin with one of these, so that none can be taken for another.
const (
	signedRound = "rookery round\x00"
	signedState = "rookery state\x00"
)

// signedKey begins what the key of a node signs. A server has that key sign a text of the server's choice whenever the node connects; it is UTF-8, which
// this is not.
const signedKey = "\xffrookery node key\x00"

// Signer signs rounds, and states.
type Signer struct {
	private ed25519.PrivateKey
	key     RoundKey
}

// NewSigner reads the seed of a cluster's key.
func NewSigner(seed []byte) (*Signer, error) {
	kind, raw, err := nkeys.DecodeSeed(seed)
	if err != nil {
		return nil, err
	}
	if kind != nkeys.PrefixByteCluster {
		return nil, errors.New("the key is not that of a cluster")
	}
	return SignerOf([ed25519.SeedSize]byte(raw)), nil
}

// SignerOf returns the signer with this secret. The same secret gives the same key.
func SignerOf(secret [ed25519.SeedSize]byte) *Signer {
	private := ed25519.NewKeyFromSeed(secret[:])
	key, err := nkeys.Encode(nkeys.PrefixByteCluster, private[ed25519.SeedSize:])
	if err != nil {
		panic("a public key does not encode: " + err.Error())
	}
	return &Signer{private, RoundKey(key)}
}

// Key is the public key of the signer; "" of nil, which signs nothing.
func (s *Signer) Key() RoundKey {
	if s == nil {
		return ""
	}
	return s.key
}

// Sign signs a message that closes or voids a round. The chain is the hash after the message.
func (s *Signer) Sign(m Message, after Chain) {
	if signature := s.sign(signedRound, after[:]); signature != "" {
		m.Header[headerSignature] = []string{signature}
	}
}

// SignState returns the signature of a state with this description; "" of nil.
func (s *Signer) SignState(of string) string { return s.sign(signedState, []byte(of)) }

func (s *Signer) sign(as string, data []byte) string {
	if s == nil {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(ed25519.Sign(s.private, append([]byte(as), data...)))
}

// Signed reports whether the key has signed the message. The chain is the hash after the message. The key "" has signed nothing.
func (k RoundKey) Signed(m Message, after Chain) bool {
	return k.signed(signedRound, after[:], m.Header.Get(headerSignature))
}

// HasSignature reports whether the message says that it is signed.
func HasSignature(m Message) bool { return m.Header.Get(headerSignature) != "" }

// SignedState reports whether the key has made this signature of a state.
func (k RoundKey) SignedState(of, signature string) bool {
	return k.signed(signedState, []byte(of), signature)
}

func (k RoundKey) signed(as string, data []byte, signature string) bool {
	raw, err := base64.RawURLEncoding.DecodeString(signature)
	if err != nil || len(raw) == 0 {
		return false
	}
	public, err := nkeys.FromPublicKey(string(k))
	return err == nil && public.Verify(append([]byte(as), data...), raw) == nil
}

// ClusterSigned says with which key rounds are signed from here on. A round or a void without its signature does not count. It is in clusters with
// accounts from LevelSignatures on.
type ClusterSigned struct {
	// Key is absent where rounds are not signed from here on, as the servers do not know who connects any longer.
	Key RoundKey `json:"key,omitempty" jsonschema:"pattern=^C[A-Z2-7]{55}$"`
}

// Kind implements Data.
func (ClusterSigned) Kind() Kind { return v1("cluster", "signed") }
