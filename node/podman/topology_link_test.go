package podman

import (
	"os"
	"path/filepath"
	"testing"
)

// TestNoLinkLeadsOutOfTheFolder has an instance put links in the place of the file of its topology, and of the next one.
func TestNoLinkLeadsOutOfTheFolder(t *testing.T) {
	folder, outside := t.TempDir(), filepath.Join(t.TempDir(), "shadow")
	if err := os.WriteFile(outside, []byte("of the host"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"topology.json", "topology.json.next"} {
		if err := os.Symlink(outside, filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := replace(folder, "topology.json", []byte("{}")); err != nil {
		t.Fatal(err)
	}
	if body, err := os.ReadFile(outside); err != nil || string(body) != "of the host" {
		t.Errorf("the host's file is %q, %v", body, err)
	}
	info, err := os.Lstat(filepath.Join(folder, "topology.json"))
	if err != nil || !info.Mode().IsRegular() || info.Mode().Perm() != 0o644 {
		t.Errorf("the topology is %v, %v", info, err)
	}
}
