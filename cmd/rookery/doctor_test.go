package main

import (
	"fmt"
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

// TestTheDoctorWarnsBeforeACertificateEnds looks at three servers, of which one or two have certificates that end soon, or have ended.
func TestTheDoctorWarnsBeforeACertificateEnds(t *testing.T) {
	for _, tt := range []struct {
		days [3]int
		ok   bool
		want string
	}{
		{[3]int{300, 15, 200}, true, "the first one ends on 2026-12-07: that of nats-2"},
		{[3]int{300, 200, 13}, false, "that of nats-3 ends on 2026-12-05"},
		{[3]int{-2, 200, 13}, false, "that of nats-1 ended on 2026-11-20\nthat of nats-3 ends on 2026-12-05"},
	} {
		var servers []bus.Server
		for i, days := range tt.days {
			servers = append(servers, bus.Server{Name: fmt.Sprintf("nats-%d", i+1), CertificateEnds: noon.AddDate(0, 0, days)})
		}
		if got := checkCertificates(servers, noon); got.OK != tt.ok || got.Found != tt.want || (got.Advice == "") != tt.ok {
			t.Errorf("%d days: %+v, want %q", tt.days, got, tt.want)
		}
	}
}
