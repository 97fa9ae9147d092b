package podman_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

// infoOf returns an answer with the fields that the engine reads. Their names are those of Podman's own type: libpod/define/info.go of
// the version in go.mod.
func infoOf(version, runtime, cgroups string, rootless bool) string {
	return fmt.Sprintf(`{"host":{"cpus":4,"memTotal":6232244224,"cgroupVersion":%q,"ociRuntime":{"name":%q},"security":{"rootless":%t}},`+
		`"store":{"graphRoot":"/none","graphRootAllocated":1000000000},"version":{"Version":%q}}`, cgroups, runtime, rootless, version)
}

// TestFactsByVersion reads answers of several versions. That of 4.3.1 was recorded on Debian 12; the others are made up, and no
// such Podman was asked. A fake service answers them, in our process namespace: what is v1 is v1 or hybrid by the mounts of the
// machine that runs the test.
func TestFactsByVersion(t *testing.T) {
	recorded, err := os.ReadFile("testdata/info-4.3.1.json")
	if err != nil {
		t.Fatal(err)
	}
	v1 := events.CgroupsV1
	if mounts, err := os.ReadFile("/proc/mounts"); err == nil && strings.Contains(string(mounts), " cgroup ") && strings.Contains(string(mounts), " cgroup2 ") {
		v1 = events.CgroupsHybrid
	} else if err == nil && !strings.Contains(string(mounts), " cgroup ") && strings.Contains(string(mounts), " cgroup2 ") {
		v1 = events.CgroupsV2
	}
	for _, tt := range []struct {
		name, answer string
		want         events.EngineFacts
		refused      bool // are limits
	}{
		{"4.3.1", string(recorded), events.EngineFacts{Engine: "podman 4.3.1", Runtime: "runc", Cgroups: v1}, false},
		{"4.9 rootless with cgroups v1", infoOf("4.9.4", "runc", "v1", true), events.EngineFacts{Engine: "podman 4.9.4", Runtime: "runc", Rootless: true, Cgroups: v1}, true},
		{"5.8 rootless", infoOf("5.8.1", "crun", "v2", true), events.EngineFacts{Engine: "podman 5.8.1", Runtime: "crun", Rootless: true, Cgroups: events.CgroupsV2}, false},
		{"5.4 rootful", infoOf("5.4.0", "runc", "v2", false), events.EngineFacts{Engine: "podman 5.4.0", Runtime: "runc", Cgroups: events.CgroupsV2}, false},
		{"5.8 rootless with cgroups v1", infoOf("5.8.1", "crun", "v1", true), events.EngineFacts{Engine: "podman 5.8.1", Runtime: "crun", Rootless: true, Cgroups: v1}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			engine := connect(t, fakeService(t, map[string]string{"/info": tt.answer}))
			facts, err := engine.Facts(t.Context())
			if facts.Engine.Machine == "" {
				t.Error("the machine is not told from others")
			}
			tt.want.Machine = facts.Engine.Machine
			if err != nil || facts.Engine != tt.want || facts.Capacity.CPU < 1 || facts.Capacity.Memory == 0 || facts.Capacity.Disk == 0 {
				t.Errorf("the facts are %+v, %v, want %+v", facts, err, tt.want)
			}
			limited := node.Plan{Owner: owner, Order: events.Order{Spec: &events.Spec{Image: "web", Resources: events.Resources{Memory: 1 << 20}}}}
			_, err = engine.Prepare(t.Context(), limited)
			if tt.refused {
				wantFailure(t, err, events.OfflineNotAllowed, "this node cannot limit CPU and memory")
			} else if err == nil || !strings.Contains(err.Error(), "no such path") {
				t.Errorf("Prepare gave %v, want that it went on to a path that the fake service has not", err)
			}
			limited.Order.Spec.Resources = events.Resources{}
			if _, err = engine.Prepare(t.Context(), limited); err == nil || !strings.Contains(err.Error(), "no such path") {
				t.Errorf("Prepare without limits gave %v", err)
			}
		})
	}
}
