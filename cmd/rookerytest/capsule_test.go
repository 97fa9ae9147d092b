package rookerytest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rookery-project/rookery/cmd/rookerytest"
	"github.com/rookery-project/rookery/coordinator/capsule"
)

// TestACapsuleOfALiveClusterIsDecidedAgain writes what a cluster has recorded, and checks that.
func TestACapsuleOfALiveClusterIsDecidedAgain(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t, rookerytest.WithNodes(3))
	cluster.Ensure("demo/web", `{"image":"localhost/web:1","scale":3}`)
	half := cluster.State().Sequence
	cluster.Ensure("demo/web", `{"image":"localhost/web:2","scale":2}`)
	state := cluster.State()
	file := filepath.Join(t.TempDir(), "bug.json")
	if out, code := rookery(t, "capsule", "--to", fmt.Sprint(state.Sequence), "--out", file, "--server", cluster.URL); code != 0 ||
		!strings.Contains(out, "read it before you share it") {
		t.Fatalf("capsule: exit %d: %s", code, out)
	}
	found := check(t, file)
	if found.Differs != nil || found.Hash != state.Hash || found.Commands != 2 || found.Placements < 5 || found.Missing != 0 {
		t.Errorf("the whole of it is found to be %+v, and the state has hash %s", found, state.Hash)
	}
	if out, code := rookery(t, "capsule", "--from", fmt.Sprint(half+1), "--to", fmt.Sprint(state.Sequence), "-o", file, "--server", cluster.URL); code != 0 {
		t.Fatalf("capsule: exit %d: %s", code, out)
	}
	if part := check(t, file); part.Differs != nil || part.Hash != state.Hash || part.Commands != 1 || part.Decided >= found.Decided {
		t.Errorf("the second half is found to be %+v", part)
	}
	for _, args := range [][]string{{}, {"-o", file, "--from", "noon"}} {
		if out, code := rookery(t, append([]string{"capsule", "--server", cluster.URL}, args...)...); code != 2 {
			t.Errorf("capsule %v: exit %d: %s", args, code, out)
		}
	}
	if out, code := rookery(t, "capsule", "-o", file, "--from", "1000000", "--server", cluster.URL); code != 1 || !strings.Contains(out, "no complete round between") {
		t.Errorf("a part that is not there: exit %d: %s", code, out)
	}
}

func check(t *testing.T, file string) capsule.Found {
	t.Helper()
	body, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	c, err := capsule.Read(body)
	if err != nil {
		t.Fatal(err)
	}
	return capsule.Check(*c.Recorded)
}
