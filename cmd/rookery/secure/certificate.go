package secure

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
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
	files[caKey] = keyPEM
	for _, s := range servers {
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
		folder := path.Join(serversUnder, s.Name)
		if files[path.Join(folder, "server.crt")], err = sign(c, ca, own.Public(), key); err != nil {
			return err
		}
		files[path.Join(folder, "server.key")], files[path.Join(folder, CA)] = ownPEM, files[CA]
	}
	return nil
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
