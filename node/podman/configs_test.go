package podman_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

// testConfigs covers a process that was killed while it created a container. The node removes its leftovers with the next container of
// the instance, or when the next process begins. It removes nothing of another owner.
func testConfigs(t *testing.T, b *bench) {
	plan := b.plan(t)
	plan.Order.Spec.Configs = []events.Config{{Name: "web-conf", Path: "/etc/web.conf", Mode: "0440"}, {Name: "web-conf", Path: "/copy", Mode: "0444"}}
	plan.Configs = map[string][]byte{"web-conf": []byte("listen 80\x00\n")}
	other := node.Owner{Cluster: owner.Cluster, Node: "two"}
	foreign := []string{"demo.web-conf", ofConfigs(other) + "left.0"}
	left := filepath.Join(t.TempDir(), "left")
	if err := os.WriteFile(left, []byte("left"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range append(foreign, ofConfigs(owner)+digits(plan.Instance.String())+".0", ofConfigs(owner)+"left.0") {
		b.podman(t, "secret", "create", name, left)
	}
	c := b.prepare(t, plan)
	b.wantSecrets(t, append(foreign, ofConfigs(owner)+"left.0"))
	b.start(t, c)
	for _, file := range []string{"etc/web.conf", "copy"} {
		if got, err := os.ReadFile(filepath.Join("/proc", b.podman(t, "inspect", "--format", "{{.State.Pid}}", c.Handle), "root", file)); string(got) != "listen 80\x00\n" {
			t.Errorf("the container has %q in %s: %v", got, file, err)
		}
	}
	if err := b.engine.Tidy(t.Context(), owner); err != nil {
		t.Fatal(err)
	}
	b.wantSecrets(t, foreign)
	b.podman(t, append([]string{"secret", "rm"}, foreign...)...)
	b.remove(t, c)
}

// ofConfigs is how the names of the secrets begin that the owner's configs are in.
func ofConfigs(o node.Owner) string {
	return "rookery." + digits(o.Cluster) + "." + digits(o.Node) + "."
}

func digits(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])[:12]
}

func (b *bench) wantSecrets(t *testing.T, want []string) {
	t.Helper()
	got := strings.Fields(b.podman(t, "secret", "ls", "--format", "{{.Name}}"))
	if len(got) != len(want) {
		t.Errorf("Podman has the secrets %q, want %q", got, want)
	}
	for _, name := range want {
		b.podman(t, "secret", "inspect", name)
	}
}
