package main

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"os"
	"strings"
	"testing"

	"github.com/rookery-project/rookery/events/bus"
)

func TestTheGuideNamesTheOldestServer(t *testing.T) {
	guide, err := os.ReadFile("../../deploy/docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(strings.Join(strings.Fields(string(guide)), " "), "oldest supported version is nats-server "+bus.OldestServer+".") {
		t.Errorf("operating.md does not name nats-server %s as the oldest", bus.OldestServer)
	}
}

func TestTheDoctorNamesOldServers(t *testing.T) {
	good := checkServers([]bus.Server{{Name: "n1", Version: "2.15.2"}, {Name: "n2", Version: bus.OldestServer}})
	if want := "n1 runs 2.15.2, n2 runs 2.12.0; the oldest supported is 2.12.0"; !good.OK || good.Found != want {
		t.Errorf("%+v, want %q", good, want)
	}
	old := checkServers([]bus.Server{{Name: "n1", Version: "2.15.2"}, {Name: "n2", Version: "2.11.9"}})
	if old.OK || old.Found != "server n2 runs nats-server 2.11.9: the oldest supported version is 2.12.0" || !strings.Contains(old.Advice, "install nats-server 2.12.0 or later") {
		t.Errorf("%+v", old)
	}
}

// TestTheDoctorWarnsBeforeACertificateEnds looks at a chain whose last is valid for less long than the first.
func TestTheDoctorWarnsBeforeACertificateEnds(t *testing.T) {
	of := func(name string, days int) *x509.Certificate {
		return &x509.Certificate{Subject: pkix.Name{CommonName: name}, NotAfter: noon.AddDate(0, 0, days)}
	}
	for days, ok := range map[int]bool{-1: false, 13: false, 15: true} {
		got := checkCertificates([]*x509.Certificate{of("nats-1", 300), of("Rookery", days)}, noon)
		if got.OK != ok || !strings.HasPrefix(got.Found, "that of Rookery is valid until 20") || (got.Advice == "") != ok {
			t.Errorf("%d days: %+v", days, got)
		}
	}
}
