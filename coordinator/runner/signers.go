package runner

import (
	"fmt"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// Signers sign rounds. The first one's key becomes that of the log; the others have keys that it had before.
type Signers []*events.Signer

// root is the key of the first one; "" without signers.
func (s Signers) root() events.RoundKey { return s.First().Key() }

// Keys are those of all.
func (s Signers) Keys() (all []events.RoundKey) {
	for _, signer := range s {
		all = append(all, signer.Key())
	}
	return all
}

// signs returns the one with the key that the log demands; nil where it demands none, or none of these.
func (s Signers) signs(key events.RoundKey) *events.Signer {
	for _, signer := range s {
		if signer.Key() == key {
			return signer
		}
	}
	return nil
}

// First is the one with the present key; nil without signers.
func (s Signers) First() *events.Signer {
	if len(s) == 0 {
		return nil
	}
	return s[0]
}

// mayLead returns ErrIdentity, with what to do, unless rounds that the signers sign count in this log.
func (s Signers) mayLead(c *projections.Cluster) error {
	if c.Key == "" || s.signs(c.Key).Key() == c.Key {
		return nil
	}
	if len(s) == 0 {
		return fmt.Errorf("%w: its rounds are signed, and this coordinator has no key: name the folder of keys with --admission", ErrIdentity)
	}
	return fmt.Errorf("%w: its rounds are signed with %s, and the folder of --admission signs with %s: copy the folder from another coordinator;"+
		" for a log that you restored with new keys, run `rookery bus adopt --admission`", ErrIdentity, c.Key, s.root())
}
