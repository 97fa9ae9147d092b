package rookerytest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rookery-project/rookery/node/podman/podmantest"
)

// TestASecureClusterFromNothingOnPodman runs the commands of the guide of security that make a cluster of three servers, three coordinators and three
// nodes on one machine, and then a service on it.
func TestASecureClusterFromNothingOnPodman(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile("../../deploy/docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	var commands []string
	for _, b := range blocksOf(string(guide)) {
		if b.kind == "sh" && b.file == "three" {
			commands = strings.Split(strings.TrimSpace(b.body), "\n")
		}
	}
	const most = 5
	if len(commands) == 0 || len(commands) > most {
		t.Fatalf("the guide has %d commands, want 1 to %d", len(commands), most)
	}
	f := newField(t)
	machine := f.network.newMachine("alone", "")
	server, err := natsServer()
	if err != nil {
		t.Fatal(err)
	}
	folder, podman := t.TempDir(), podmantest.Start(t)
	podmantest.LoadWeb(t, podman)
	words := []string{"--chdir", folder, "CONTAINER_HOST=" + podman, "PATH=" + strings.Join([]string{filepath.Dir(f.path), filepath.Dir(server), os.Getenv("PATH")}, ":")}
	began := time.Now()
	// In a namespace of processes, which ends with its first one.
	all := f.launch(machine, "/usr/bin/env", append(words, "unshare", "--pid", "--fork", "--kill-child", "bash", "-c", strings.Join(commands, "\n")+"\nwait")...)
	t.Cleanup(all.kill)
	does := func(args ...string) (string, bool) {
		p := f.launch(machine, "/usr/bin/env", append(words, append(append([]string{"rookery"}, args...), "--context", "keys/users/operator.json")...)...)
		<-p.ended
		return p.output.String(), p.cmd.ProcessState.ExitCode() == 0
	}
	var out string
	if !f.within(2*time.Minute, func() bool {
		out, _ = does("nodes")
		return strings.Count(out, "ready") == 3
	}) {
		all.kill()
		logs, err := filepath.Glob(filepath.Join(folder, "*.log"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range logs {
			text, err := os.ReadFile(name)
			t.Logf("%s: %v\n%s", filepath.Base(name), err, text)
		}
		t.Fatalf("three nodes are not ready: %s\n%s", out, all.output)
	}
	took := time.Since(began)
	if out, ok := does("ensure", "demo/web", "--image", podmantest.WebReference, "--scale", "3"); !ok {
		t.Errorf("a service does not run: %s", out)
	}
	fmt.Printf("secure cluster: commands %d, ready after %.1f s\n", len(commands), took.Seconds())
}
