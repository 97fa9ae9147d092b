package secure

import (
	"bytes"
	"encoding/pem"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"time"

	"github.com/nats-io/nkeys"
)

// NewRoundsKey makes another key with which coordinators sign rounds, and keeps those before it: each signs the change to the next.
func (f Files) NewRoundsKey() (Files, error) {
	if _, err := f.Signers(); err != nil {
		return nil, err
	}
	pair, err := nkeys.CreateCluster()
	if err != nil {
		return nil, err
	}
	seed, err := pair.Seed()
	return Files{roundsKeys: slices.Concat(seed, []byte("\n"), f[roundsKeys])}, err
}

// StorageFile is where the key stands with which the server encrypts what it stores.
func (s Server) StorageFile() string { return path.Join(s.folder(), "encryption.conf") }

var storageKey = regexp.MustCompile(`^key: "([^"\n]+)"\n$`)

// NewStorageKeys makes another key for each server, with which it encrypts what it stores. The server reads what it has stored with the one before, and
// stores it again, when it starts. The files have those of all servers.
func (f Files) NewStorageKeys() (Files, error) {
	c, err := f.Cluster()
	if err != nil {
		return nil, err
	}
	made := Files{}
	for _, s := range c.Servers {
		name := s.StorageFile()
		before := storageKey.FindSubmatch(f[name])
		if before == nil {
			return nil, fmt.Errorf("%s has more than a key: once %s has started with it, leave only the line \"key\", and run this again", name, s.Name)
		}
		made[name] = fmt.Appendf(nil, "key: %q\nprev_encryption_key: %q\n", randomText(), before[1])
	}
	return made, nil
}

// NewAuthority makes another certificate authority. The present one counts as long as it stands below the new one in the certificates.
func (f Files) NewAuthority(now time.Time) (Files, error) {
	c, err := f.Cluster()
	if err != nil {
		return nil, err
	}
	present, err := newest(f[CA])
	if err != nil {
		return nil, err
	}
	made := Files{}
	if err := makeCertificates(made, nil, now); err != nil {
		return nil, err
	}
	made[CA] = slices.Concat(made[CA], present)
	for _, s := range c.Servers {
		made[path.Join(s.folder(), CA)] = made[CA]
	}
	return made, nil
}

// newest is the first of certificates.
func newest(certificates []byte) ([]byte, error) {
	block, rest := pem.Decode(certificates)
	if block == nil {
		return nil, errors.New(CA + " has no certificate")
	}
	return bytes.TrimSuffix(certificates, rest), nil
}
