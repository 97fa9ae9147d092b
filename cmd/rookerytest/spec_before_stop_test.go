package rookerytest_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node/podman/podmantest"
)

// beforeStopRows are the hooks that a node calls before it stops an instance. The hook and the stopping program each add a word to a file
// in the volume of the instance. The file stays after the instance has stopped.
func beforeStopRows() []specRow {
	within := func(grace, hook string) string {
		return fmt.Sprintf(`"args":["-last","/data/marks=stopped"],"ports":[{"name":"http","port":8080}],"volumes":[{"name":"data","path":"/data"}],`+
			`"stop_grace":%q,"hooks":{"before_stop":%s}`, grace, hook)
	}
	// asked leaves the hook time to answer, however slow this machine is.
	asked := func(hook string) string { return within("10s", hook) }
	const marks = `{"exec":["/web","-append","/data/marks=before"]}`
	// warned stops the instance although its hook fails, and reads the outcome of the hook in the log of the node.
	warned := func(words string) func(*seen) {
		return func(s *seen) {
			instance := s.online().Instance.String()
			s.Command(s.service, "scale", `{"scale":0}`)
			s.want("what was done", s.marks(), "stopped")
			s.wantIn("what the node has logged", s.node.output.String(), `instance=`+instance+` error="its before_stop hook`+words)
		}
	}
	return []specRow{
		{"hooks before_stop", asked(marks), func(s *seen) {
			s.online()
			s.revised(`"env":{"A":"1"},` + asked(marks))
			s.want("what the next one finds", s.proc("root/data/marks"), "before\nstopped\n")
			s.Command(s.service, "scale", `{"scale":0}`)
			s.want("what was done", s.marks(), "before stopped before stopped")
		}},
		{"hooks before_stop of a job", `"mode":"job",` + asked(marks), func(s *seen) {
			event[events.InstanceOnline](s)
			s.dropClean()
			s.want("what was done", s.marks(), "before stopped")
			s.Ensure(s.service, `{"image":"`+podmantest.WebReference+`"}`)
		}},
		{"hooks before_stop with the phase", asked(`{"exec":["/web","-env","ROOKERY_PHASE=before_stop"]}`), func(s *seen) {
			s.online()
			s.Command(s.service, "scale", `{"scale":0}`)
			s.want("what was done", s.marks(), "stopped")
			if log := s.node.output.String(); strings.Contains(log, s.service) {
				s.Errorf("the node has logged %s", log)
			}
		}},
		// A program that is killed cannot do anything more when it stops.
		{"hooks before_stop signal", asked(`{"signal":"SIGKILL"}`), func(s *seen) {
			s.online()
			s.Command(s.service, "scale", `{"scale":0}`)
			s.want("what was done", s.marks(), "")
		}},
		{"hooks before_stop http", asked(`{"http":{"port":"http","path":"/health"}}`), func(s *seen) {
			if err := s.write("sick", ""); err != nil {
				s.Error(err)
			}
			warned(`: POST /health answered 503`)(s)
		}},
		{"hooks before_stop that fails", asked(`{"exec":["/web","-env","NEVER=1"]}`), warned(`: /web ended with exit code 1`)},
		{"hooks before_stop that hangs", within("1s", `{"exec":["/web","-listen",":9090"]}`), warned(` gave no answer within 1s`)},
	}
}

// marks returns the lines of the file in the volume of the service's first slot, which has no instance any more.
func (s *seen) marks() string {
	s.Helper()
	_, name, _ := strings.Cut(s.service, "/")
	volume := "rookery." + s.owner.Cluster[:12] + ".demo." + name + ".0.data"
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(s.podman("volume", "inspect", "--format", "{{.Mountpoint}}", volume)), "marks"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.Error(err)
	}
	s.podman("volume", "rm", volume)
	return strings.Join(strings.Fields(string(text)), " ")
}
