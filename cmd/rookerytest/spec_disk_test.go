package rookerytest_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node/podman/podmantest"
)

// diskRows are the fields that say what of the node's disk an instance may take.
func diskRows() []specRow {
	// fills makes the instance write 2 MiB at the path. The instance goes offline and comes back without that file.
	fills := func(path, words string) func(*seen) {
		return func(s *seen) {
			first := s.online()
			s.fill(path)
			if e := s.offline(events.OfflineOverDisk, words); !strings.Contains(e.Message, "more than") {
				s.Errorf("the message is %q", e.Message)
			}
			online := event[events.InstanceOnline](s)
			again := s.container()
			s.found = &again
			if online.Attempt != first.Attempt+1 || again.Handle == first.Handle {
				s.Errorf("the container was %+v and is %+v in attempt %d, want the next one", first, again, online.Attempt)
			}
			if _, err := os.Stat(s.root(path)); !errors.Is(err, fs.ErrNotExist) {
				s.Errorf("what it took is there: %v", err)
			}
		}
	}
	const side = `"sidecars":[{"name":"side","image":"` + podmantest.WebReference + `","args":["-listen",":9090"]}]`
	return []specRow{
		{"disk", `"resources":{"disk":"1MiB"}`, func(s *seen) {
			s.want("what is set aside", fmt.Sprint(event[events.InstancePlaced](s).Reserved), "{5m 16MiB 1MiB}")
			fills("big", "its own files takes 2")(s)
		}},
		{"scratch", `"scratch":{"size":"1MiB"}`, func(s *seen) {
			placed := event[events.InstancePlaced](s)
			s.want("what is set aside", fmt.Sprint(placed.Reserved), "{5m 16MiB 1MiB}")
			s.online()
			s.mountAt("/scratch")
			fills("scratch/big", "its scratch disk takes 2MiB")(s)
			s.dropClean()
			for name := range strings.Lines(s.podman("volume", "ls", "--quiet")) {
				s.wantIn("a volume that is left", name, "rookery.")
			}
			s.Ensure(s.service, `{"image":"`+podmantest.WebReference+`"}`)
		}},
		{"scratch as it is by default", `"scratch":{},` + side, func(s *seen) {
			s.want("what is set aside", fmt.Sprint(event[events.InstancePlaced](s).Reserved), "{5m 16MiB 1GiB}")
			if err := s.write("scratch/shared", "by the main container"); err != nil {
				s.Error(err)
			}
			s.podman("exec", s.online().Sidecars[0], "/web", "-write", "/scratch/beside=by the sidecar", "-listen", ":0", "-exit-after", "1ms")
			s.want("the file of the sidecar", s.proc("root/scratch/beside"), "by the sidecar")
		}},
		{"scratch of another user", `"user":"1234","scratch":{"path":"/work"}`, func(s *seen) {
			info, err := os.Stat(s.root("work"))
			if err != nil {
				s.Fatal(err)
			}
			s.want("the user who has it", fmt.Sprint(info.Sys().(*syscall.Stat_t).Uid), "1234")
		}},
		{"scratch of no size", `"scratch":{"size":"0B"}`, func(s *seen) {
			s.want("what is set aside", fmt.Sprint(event[events.InstancePlaced](s).Reserved), "{5m 16MiB 0B}")
			if mounts := s.proc("mounts"); s.online().Handle == "" || strings.Contains(mounts, " /scratch ") {
				s.Errorf("it has scratch disk: %s", mounts)
			}
		}},
		{"scratch by the policy", `"env":{}`, func(s *seen) {
			s.online()
			ask(s.T, s.Cluster, "rookery.cmd.cluster.policy", `{"always_use_disk":true}`)
			s.revised(`"env":{"A":"1"}`)
			s.want("what is set aside", fmt.Sprint(event[events.InstancePlaced](s).Reserved), "{5m 16MiB 1GiB}")
			s.mountAt("/scratch")
			ask(s.T, s.Cluster, "rookery.cmd.cluster.policy", `{}`)
		}},
	}
}

// fill writes 2 MiB at the path below the root of the container's process.
func (s *seen) fill(path string) {
	s.Helper()
	if err := s.write(path, strings.Repeat("x", 2<<20)); err != nil {
		s.Error(err)
	}
}

// root returns where the path in the container is on the host.
func (s *seen) root(path string) string {
	s.Helper()
	return filepath.Join("/proc", s.inspect("{{.State.Pid}}"), "root", path)
}
