package events

import (
	"encoding/base64"
	"fmt"

	"github.com/nats-io/nkeys"
)

// RoundKey is the public key of those who may close rounds, as NATS writes that of a cluster: C and 55 of A-Z and 2-7.
type RoundKey string

// headerSignature has the signature of a message that closes or voids a round. The hash chain does not cover it.
const headerSignature = "Rookery-Signature"

// signedPrefix keeps signatures of rounds apart from all others that could be asked of the same key.
const signedPrefix = "rookery round\x00"

// Signer signs rounds.
type Signer struct {
	pair nkeys.KeyPair
	key  RoundKey
}

// NewSigner reads the seed of a cluster's key.
func NewSigner(seed []byte) (*Signer, error) {
	pair, err := nkeys.FromSeed(seed)
	if err != nil {
		return nil, err
	}
	key, err := pair.PublicKey()
	if err != nil {
		return nil, err
	}
	if !nkeys.IsValidPublicClusterKey(key) {
		return nil, fmt.Errorf("the key %s is not that of a cluster", key)
	}
	return &Signer{pair, RoundKey(key)}, nil
}

// Key is the public key of the signer; "" of nil, which signs nothing.
func (s *Signer) Key() RoundKey {
	if s == nil {
		return ""
	}
	return s.key
}

// Sign signs a message that closes or voids a round. The chain is the hash after the message.
func (s *Signer) Sign(m Message, after Chain) error {
	if s == nil {
		return nil
	}
	signature, err := s.pair.Sign(after.signed())
	if err != nil {
		return err
	}
	m.Header[headerSignature] = []string{base64.RawURLEncoding.EncodeToString(signature)}
	return nil
}

// Signed reports whether the key has signed the message. The chain is the hash after the message. The key "" has signed nothing.
func (k RoundKey) Signed(m Message, after Chain) bool {
	signature, err := base64.RawURLEncoding.DecodeString(m.Header.Get(headerSignature))
	if err != nil || len(signature) == 0 {
		return false
	}
	public, err := nkeys.FromPublicKey(string(k))
	return err == nil && public.Verify(after.signed(), signature) == nil
}

func (c Chain) signed() []byte { return append([]byte(signedPrefix), c[:]...) }

// ClusterSigned says with which key rounds are signed from here on. A round or a void without its signature does not count. It is in clusters with
// accounts from LevelSignatures on.
type ClusterSigned struct {
	// Key is absent where rounds are not signed from here on, as the servers do not know who connects any longer.
	Key RoundKey `json:"key,omitempty" jsonschema:"pattern=^C[A-Z2-7]{55}$"`
}

// Kind implements Data.
func (ClusterSigned) Kind() Kind { return v1("cluster", "signed") }
