package node_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

func TestWhatANodeAllows(t *testing.T) {
	host := events.Spec{NetworkSpec: events.NetworkSpec{Network: events.NetworkHost}}
	with := func(names ...string) events.Spec {
		return events.Spec{ProcessSpec: events.ProcessSpec{Capabilities: names}}
	}
	port := func(n uint16) events.Spec {
		return events.Spec{Ports: []events.Port{{Name: "web", Port: 80, HostPort: n}}}
	}
	ranges := node.Allowance{}.Announced(events.NodeFacts{
		Ports: events.PortRange{First: 20000, Last: 20999}, Allows: events.NodeAllows{HostPorts: []events.PortRange{{First: 443, Last: 443}}},
	}).HostPorts
	device := events.Spec{DeviceSpec: events.DeviceSpec{Devices: []events.Device{{Path: "/dev/fuse"}}}}
	for _, c := range []struct {
		allow   node.Allowance
		spec    events.Spec
		says    string // "" where it is allowed
		context events.SecurityContext
	}{
		{node.Allowance{}, events.Spec{}, "", ""},
		{node.Allowance{}, host, "--allow-host-network", ""},
		{node.Allowance{HostNetwork: true}, host, "", ""},
		{node.Allowance{}, with("CAP_CHOWN", "CAP_KILL"), "", ""},
		{node.Allowance{}, with("CAP_CHOWN", "CAP_NET_RAW"), "--allow-capability CAP_NET_RAW", ""},
		{node.Allowance{}, device, "--allow-device /dev/fuse", ""},
		{node.Allowance{Devices: []string{"/dev"}}, device, "--allow-device /dev/fuse", ""},
		{node.Allowance{Devices: []string{"/dev/kvm", "/dev/fuse/"}}, device, "", ""},
		{node.Allowance{Capabilities: []string{"net_raw"}}, with("CAP_NET_RAW"), "", ""},
		{node.Allowance{}, events.Spec{}, "--allow-engine-context", events.SecurityEngine},
		{node.Allowance{EngineContext: true}, events.Spec{}, "", events.SecurityEngine},
		{node.Allowance{HostPorts: ranges}, port(0), "", ""},
		{node.Allowance{HostPorts: ranges}, port(443), "", ""},
		{node.Allowance{HostPorts: ranges}, port(20001), "", ""},
		{node.Allowance{HostPorts: ranges}, port(80), "--allow-host-port 80", ""},
	} {
		err := c.allow.Check(events.Order{Spec: &c.spec, SecurityContext: c.context})
		var failure *node.Failure
		switch {
		case c.says == "" && err != nil:
			t.Errorf("%+v refuses %+v: %v", c.allow, c.spec, err)
		case c.says == "":
		case !errors.As(err, &failure) || failure.Reason != events.OfflineNotAllowed || !strings.Contains(failure.Message, c.says):
			t.Errorf("%+v says %v of %+v, want %q", c.allow, err, c.spec, c.says)
		}
	}
}

func TestHostPathsThatANodeAllows(t *testing.T) {
	allow := node.Allowance{HostPaths: []string{"/srv/data/", "/opt"}}
	for path, want := range map[string]bool{
		"/srv/data": true, "/srv/data/a/b": true, "/opt/x": true, "/": false, "/srv": false, "/srv/database": false,
		"/srv/data/../../etc": false,
	} {
		if got := allow.HostPath(path); got != want {
			t.Errorf("%s is allowed: %t, want %t", path, got, want)
		}
	}
	if !(node.Allowance{HostPaths: []string{"/"}}).HostPath("/etc") {
		t.Error("/ does not allow /etc")
	}
}
