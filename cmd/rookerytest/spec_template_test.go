package rookerytest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
	"github.com/rookery-project/rookery/node/podman/podmantest"
)

// templateRows are the templates over addresses: rendered for each instance, and refused at admission.
func templateRows() []specRow {
	const ports = `"scale":2,"ports":[{"name":"http","port":8080},{"name":"side","port":9090}],`
	const fields = ports + `"args":["-listen",":8080","-write","/dev/shm/peers={{join (.Peers \"side\") \",\"}}"],` +
		`"env":{"ME":"{{.Service}}-{{.Ordinal}} at {{.Address \"http\"}}",` +
		`"OTHERS":"{{range $i, $peer := .Peers \"http\"}}{{if ne $i $.Ordinal}}<{{$peer}}>{{end}}{{end}}",` +
		`"FIRST":"{{.Peer \"http\" 0}}","LITERAL":"{{\"{{\"}}.ID}} \"; x"},` +
		`"sidecars":[{"name":"side","image":"%s","args":["-listen",":9090","-write","/dev/shm/me={{.Address \"side\"}}"]}]`
	return []specRow{
		{"templates", fmt.Sprintf(fields, podmantest.WebReference), seeTemplates},
		{"templates of a port that is not", ports + `"args":["a","{{.Address \"htpp\"}}"]`, func(s *seen) {
			rejected := event[events.CommandRejected](s)
			if rejected.Code != events.CodeInvalidValue || rejected.Field != "args[1]" {
				s.Errorf("it is rejected as %+v", rejected)
			}
			s.wantIn("the reason", rejected.Reason, `did you mean "http"?`)
			s.Ensure(s.service, `{"image":"`+podmantest.WebReference+`"}`)
		}},
	}
}

// seeTemplates looks at both instances from the host: at the arguments and variables of their processes, and at what
// these made of them.
func seeTemplates(s *seen) {
	event[events.CommandSucceeded](s)
	var all []node.Container
	for id, c := range s.running() {
		if id.Service.String() == s.service {
			all = append(all, c)
		}
	}
	if len(all) != 2 {
		s.Fatalf("%d containers run, want 2", len(all))
	}
	slices.SortFunc(all, func(a, b node.Container) int { return a.Instance.Compare(b.Instance) })
	at := func(ordinal, port int) string { return fmt.Sprintf("127.0.0.1:%d", all[ordinal].Ports[port].HostPort) }
	for ordinal, c := range all {
		proc := func(handle, name string) string {
			text, err := os.ReadFile(filepath.Join("/proc", s.podman("inspect", "--format", "{{.State.Pid}}", handle), name))
			if err != nil {
				s.Error(err)
			}
			return string(text)
		}
		peers := at(0, 1) + "," + at(1, 1)
		s.want("the arguments", proc(c.Handle, "cmdline"), strings.Join([]string{"/web", "-listen", ":8080", "-write", "/dev/shm/peers=" + peers, ""}, "\x00"))
		s.want("the file of the peers", proc(c.Handle, "root/dev/shm/peers"), peers)
		s.want("the sidecar's file", proc(c.Sidecars[0], "root/dev/shm/me"), at(ordinal, 1))
		variables := strings.Split(proc(c.Handle, "environ"), "\x00")
		for _, want := range []string{
			fmt.Sprintf("ME=templates-%d at %s", ordinal, at(ordinal, 0)), "OTHERS=<" + at(1-ordinal, 0) + ">", "FIRST=" + at(0, 0), `LITERAL={{.ID}} "; x`,
		} {
			if !slices.Contains(variables, want) {
				s.Errorf("the variables of slot %d are %q, want %q among them", ordinal, variables, want)
			}
		}
		s.wantIn("the answer at its address", s.visit(c.Ports[0].HostPort), fmt.Sprintf("demo/templates ordinal %d ", ordinal))
	}
}
