package main

import (
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
