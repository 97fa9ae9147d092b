package secure

import (
	"bytes"
	"crypto/x509"
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

// NewAuthority makes another certificate authority. Those before count as long as they stand below the new one in the certificates.
func (f Files) NewAuthority(now time.Time) (Files, error) {
	c, err := f.Cluster()
	if err != nil {
		return nil, err
	}
	made := Files{}
	if err := makeCertificates(made, nil, now); err != nil {
		return nil, err
	}
	made.trust(c, slices.Concat(made[CA], f[CA]))
	return made, nil
}

// OnlyNewestAuthority lets no certificate authority count but the newest. The files have the certificates of all servers, which must be of that one.
func (f Files) OnlyNewestAuthority() (Files, error) {
	c, err := f.Cluster()
	if err != nil {
		return nil, err
	}
	block, rest := pem.Decode(f[CA])
	if block == nil {
		return nil, errors.New(CA + " has no certificate")
	}
	ca, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", CA, err)
	}
	for _, s := range c.Servers {
		if !signed(ca, f[s.CertFile()]) {
			return nil, fmt.Errorf("%s is not of the newest authority: run rookery secure renew, and give all servers their certificates first", s.CertFile())
		}
	}
	made := Files{}
	made.trust(c, bytes.TrimSuffix(f[CA], rest))
	return made, nil
}

// trust makes these the authorities that clients and servers trust.
func (f Files) trust(c Cluster, certificates []byte) {
	f[CA] = certificates
	for _, s := range c.Servers {
		f[path.Join(s.folder(), CA)] = certificates
	}
}

// signed reports whether the authority has signed the certificate.
func signed(ca *x509.Certificate, certificate []byte) bool {
	block, _ := pem.Decode(certificate)
	if block == nil {
		return false
	}
	c, err := x509.ParseCertificate(block.Bytes)
	return err == nil && c.CheckSignatureFrom(ca) == nil
}
