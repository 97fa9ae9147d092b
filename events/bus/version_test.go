package bus_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/rookery-project/rookery/events/bus"
)

func TestAnOldServerIsNamed(t *testing.T) {
	for version, supported := range map[string]bool{
		"2.9.25": false, "2.11.9": false, "2.12.0-RC.1": false, bus.OldestServer: true, "2.12.3": true, "2.15.2": true, "3.0.0": true,
		"1.99.99": false, "": true, "dev": true,
	} {
		err := bus.Server{Name: "n1", Version: version}.Err()
		if (err == nil) != supported || (err != nil && !errors.Is(err, bus.ErrOldServer)) {
			t.Errorf("version %q: %v", version, err)
		}
	}
}

const clusterConfig = `
server_name: %s
listen: "127.0.0.1:-1"
cluster {name: test, listen: "127.0.0.1:-1", routes: [%s]}
authorization {user: a, password: b}
`

// TestServersThatAreDiscoveredAreSeen connects to one of two servers as a user.
func TestServersThatAreDiscoveredAreSeen(t *testing.T) {
	url, first := serve(t, fmt.Sprintf(clusterConfig, "n1", ""))
	b := atURL(t, strings.Replace(url, "nats://", "nats://a:b@", 1))
	serve(t, fmt.Sprintf(clusterConfig, "n2", fmt.Sprintf("\"nats://127.0.0.1:%d\"", first.Cluster.Port)))
	want := []bus.Server{{Name: "n1", Version: server.VERSION}, {Name: "n2", Version: server.VERSION}}
	for ctx := within(t); ctx.Err() == nil; {
		if slices.Equal(b.Servers(ctx), want) {
			return
		}
	}
	t.Errorf("%v are seen, want %v", b.Servers(within(t)), want)
}

// TestServersAreSeenWithTheirVersions looks at one server, and from a leaf node, whose hub has the log.
func TestServersAreSeenWithTheirVersions(t *testing.T) {
	if got, want := open(t).Servers(within(t)), []bus.Server{{Name: "rookery", Version: server.VERSION}}; !slices.Equal(got, want) {
		t.Errorf("the server is seen as %v, want %v", got, want)
	}
	want := []bus.Server{{Name: "hub", Version: server.VERSION}, {Name: "leaf", Version: server.VERSION}}
	if got := atLeaf(t, leafMapped).Servers(within(t)); !slices.Equal(got, want) {
		t.Errorf("from the leaf node %v are seen, want %v", got, want)
	}
}

// TestServersAreSeenWithTheEndOfTheirCertificates connects to one of three servers: the certificate of one ends before its authority, that of
// another after it, and that of the third has ended.
func TestServersAreSeenWithTheEndOfTheirCertificates(t *testing.T) {
	today := time.Now().UTC().Truncate(time.Hour)
	day := func(n int) time.Time { return today.AddDate(0, 0, n) }
	authority := authorityUntil(t, day(30))
	var urls []string
	for i, ends := range []time.Time{day(10), day(50), day(-1)} {
		name := fmt.Sprintf("n%d", i+1)
		url, _ := serve(t, fmt.Sprintf("server_name: %s\nlisten: \"127.0.0.1:-1\"\n", name)+authority.tls(t, name, ends))
		urls = append(urls, url)
	}
	b := atURL(t, strings.Join(urls, ","), nats.RootCAs(authority.file), nats.DontRandomize())
	want := []bus.Server{{"n1", server.VERSION, day(10)}, {"n2", server.VERSION, day(30)}, {"n3", "", day(-1)}}
	for ctx := within(t); ctx.Err() == nil; {
		if slices.Equal(b.Servers(ctx), want) {
			return
		}
	}
	t.Errorf("%v are seen, want %v", b.Servers(within(t)), want)
}

// authority is a certificate authority and the file of its certificate.
type authority struct {
	file string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func authorityUntil(t *testing.T, ends time.Time) authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	a := authority{filepath.Join(t.TempDir(), "ca.crt"), &x509.Certificate{
		Subject: pkix.Name{CommonName: "authority"}, SerialNumber: big.NewInt(1), NotBefore: ends.AddDate(0, 0, -100), NotAfter: ends,
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}, key}
	a.write(t, a.file, a.cert, key)
	return a
}

func (a authority) write(t *testing.T, file string, c *x509.Certificate, key *ecdsa.PrivateKey) {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, c, a.cert, &key.PublicKey, a.key)
	if err == nil {
		err = os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// tls returns the settings of a server with a certificate of the authority.
func (a authority) tls(t *testing.T, name string, ends time.Time) string {
	t.Helper()
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "server.crt"), filepath.Join(dir, "server.key")
	a.write(t, cert, &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, SerialNumber: big.NewInt(2), NotBefore: ends.AddDate(0, 0, -100), NotAfter: ends,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}, a.key)
	der, err := x509.MarshalPKCS8PrivateKey(a.key)
	if err == nil {
		err = os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("tls {cert_file: %q, key_file: %q}\n", cert, key)
}
