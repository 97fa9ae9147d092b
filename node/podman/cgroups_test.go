package podman

import (
	"testing"

	"github.com/rookery-project/rookery/events"
)

func TestCgroupsByMounts(t *testing.T) {
	const (
		v1     = "33 31 0:30 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
		v2     = "31 23 0:28 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
		beside = "45 31 0:42 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n"
		other  = "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"
	)
	for mounts, want := range map[string]events.Cgroups{
		other + v1:          events.CgroupsV1,
		other + v1 + beside: events.CgroupsHybrid,
		v2:                  events.CgroupsV2,
		other:               events.CgroupsV1,
		"":                  events.CgroupsV1,
		"\n - \nx - cgroup": events.CgroupsV1,
	} {
		if got := cgroupsOf([]byte(mounts)); got != want {
			t.Errorf("of %q it has %q, want %q", mounts, got, want)
		}
	}
}
