package secure

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"net/netip"
	"path"
	"time"
)

const (
	// caLasts and serverLasts are how long certificates are valid. clockSkew is how much earlier they begin, for hosts whose clocks differ.
	caLasts     = 10 * 365 * 24 * time.Hour
	serverLasts = 365 * 24 * time.Hour
	clockSkew   = time.Hour
)

// randomText returns a secret of 128 bits at least, as text.
func randomText() string { return rand.Text() }

// makeCertificates makes a certificate authority, and a certificate of it for each server, which names the server's address and this machine.
func makeCertificates(files Files, servers []Server, now time.Time) error {
	key, keyPEM, err := newKey()
	if err != nil {
		return err
	}
	ca := &x509.Certificate{
		Subject: pkix.Name{CommonName: "Rookery"}, NotBefore: now.Add(-clockSkew), NotAfter: now.Add(caLasts),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	if files[CA], err = sign(ca, ca, key.Public(), key); err != nil {
		return err
	}
	files[CAKey] = keyPEM
	for _, s := range servers {
		if err := certify(files, s, ca, key, now); err != nil {
			return err
		}
		files[path.Join(s.folder(), CA)] = files[CA]
	}
	return nil
}

// certify makes a key and a certificate for a server.
func certify(files Files, s Server, ca *x509.Certificate, by crypto.Signer, now time.Time) error {
	own, ownPEM, err := newKey()
	if err != nil {
		return err
	}
	c := &x509.Certificate{
		Subject: pkix.Name{CommonName: s.Name}, NotBefore: now.Add(-clockSkew), NotAfter: now.Add(serverLasts),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		DNSNames:    []string{"localhost"},
	}
	for _, address := range []string{"127.0.0.1", s.Address} {
		if ip, err := netip.ParseAddr(address); err == nil {
			c.IPAddresses = append(c.IPAddresses, ip.AsSlice())
		} else {
			c.DNSNames = append(c.DNSNames, address)
		}
	}
	files[s.CertFile()], err = sign(c, ca, own.Public(), by)
	files[path.Join(s.folder(), "server.key")] = ownPEM
	return err
}

// CertFile is where the certificate of the server stands.
func (s Server) CertFile() string { return path.Join(s.folder(), "server.crt") }

// Renew returns new keys and certificates of all servers, and until when they are valid. The files have the key of the certificate authority.
func Renew(files Files, now time.Time) (renewed Files, until time.Time, err error) {
	c, err := files.Cluster()
	if err != nil {
		return nil, until, err
	}
	pair, err := tls.X509KeyPair(files[CA], files[CAKey])
	if err != nil {
		return nil, until, fmt.Errorf("read %s and %s: %w", CA, CAKey, err)
	}
	by, signs := pair.PrivateKey.(crypto.Signer)
	if until = now.Add(serverLasts); !signs || pair.Leaf.NotAfter.Before(until) {
		return nil, until, fmt.Errorf("the certificate authority ends at %s, before a new certificate would: make new keys with rookery secure init",
			pair.Leaf.NotAfter.Format(time.DateOnly))
	}
	renewed = Files{}
	for _, s := range c.Servers {
		if err := certify(renewed, s, pair.Leaf, by, now); err != nil {
			return nil, until, err
		}
	}
	return renewed, until, nil
}

func newKey() (*ecdsa.PrivateKey, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	return key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), err
}

// sign returns the certificate as text. The library draws its serial number.
func sign(c, parent *x509.Certificate, public crypto.PublicKey, by crypto.Signer) ([]byte, error) {
	der, err := x509.CreateCertificate(rand.Reader, c, parent, public, by)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), err
}
