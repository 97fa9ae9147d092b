package events

import (
	"crypto/sha256"
	"encoding/hex"
)

// Chain is a running hash over the messages of the log: SHA-256 of the chain before, the subject, the headers that a
// fold reads and the body of each message in turn. A message that was lost, changed or put in another place breaks it.
type Chain [sha256.Size]byte

// chained are the headers that the state of the cluster comes from.
var chained = [...]string{headerType, headerTime, headerCorrelation, headerCausation, headerTrace}

// Extend returns the chain after m.
func (c Chain) Extend(m Message) Chain {
	var enough [1024]byte // for most messages
	buffer := append(enough[:0], c[:]...)
	buffer = append(append(buffer, m.Subject...), 0)
	read := m.Header.reader()
	for _, name := range chained {
		buffer = append(append(buffer, read(name)...), 0)
	}
	if actor := read(headerActor); actor != "" { // a log without accounts has the hashes of before
		buffer = append(append(append(buffer, headerActor...), 0), append([]byte(actor), 0)...)
	}
	return sha256.Sum256(append(buffer, m.Body...))
}

// String returns the chain in hexadecimal.
func (c Chain) String() string { return hex.EncodeToString(c[:]) }

// MarshalText writes the chain in hexadecimal.
func (c Chain) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText reads a chain in hexadecimal. Its errors are *Rejection.
func (c *Chain) UnmarshalText(text []byte) error {
	if n, err := hex.Decode(c[:], text[:min(len(text), 2*len(c))]); err != nil || n != len(c) || len(text) != 2*len(c) {
		return Reject(CodeInvalidValue, "", "%s is not a SHA-256 sum", quote(string(text)))
	}
	return nil
}
