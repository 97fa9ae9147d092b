package podman_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rookery-project/rookery/node"
	"github.com/rookery-project/rookery/node/podman"
	"github.com/rookery-project/rookery/node/podman/podmantest"
)

// pruning is an engine that pulls from a registry, and removes what it has pulled.
type pruning struct {
	*testing.T
	uri    string
	reg    *podmantest.Registry
	engine *podman.Engine
	now    time.Time
}

// day is how long images may be unused here.
const day = 24 * time.Hour

// TestPruneRemovesWhatWasPulledAndIsUnused checks that a node removes an image that it has pulled once that is unused for a day, even
// across processes of the node, and that it removes no other image.
func TestPruneRemovesWhatWasPulledAndIsUnused(t *testing.T) {
	archive := podmantest.WebArchive(t)
	p := &pruning{T: t, uri: podmantest.Start(t), reg: podmantest.StartRegistry(t, archive, "me", "hunter22"), now: time.Unix(1_800_000_000, 0)}
	p.again()
	c := p.pull()
	mark := "localhost/rookery-pulled/" + owner.Cluster + "/" + owner.Node
	if names := strings.Fields(p.podman("images", "--format", "{{.Repository}}")); !slices.Contains(names, mark) {
		t.Errorf("the names of the image are %q, want %s among them", names, mark)
	}
	p.prune(0)
	p.prune(2 * day)
	p.want(true, "a container is of it")
	p.drop(c)
	p.prune(0)
	p.again() // what one process found counts for the next
	p.prune(day - time.Second)
	p.want(true, "it was used less than a day ago")
	p.prune(2*day, p.reg.Resolved()) // as orders name it once the tag is resolved
	p.want(true, "an order names it")
	p.prune(day)
	p.prune(day - time.Second)
	p.want(true, "an order named it less than a day ago")
	p.podman("tag", p.reg.Image(), "localhost/mine:1")
	p.prune(2 * day)
	p.want(true, "it has another name")
	p.podman("untag", p.reg.Image(), "localhost/mine:1")
	if err := p.engine.Prune(t.Context(), node.Owner{Cluster: owner.Cluster, Node: "two"}, nil, p.now); err != nil {
		t.Fatal(err)
	}
	p.want(true, "another node has not pulled it")
	p.prune(0)
	p.want(false, "it was unused for days")
	if left := p.podman("images", "--all", "--quiet"); left != "" {
		t.Errorf("there are images left: %s", left)
	}

	p.drop(p.pull())
	p.podman("untag", p.reg.Image(), p.reg.Image()) // as where another image has come to be of this name
	p.prune(0)
	p.prune(2 * day)
	p.want(false, "it was unused for days, and has lost its name")

	p.podman("load", "--input", p.saved(archive))
	p.podman("untag", podmantest.WebReference)
	p.drop(p.pull()) // brings a name, and no image
	p.prune(0)
	p.prune(2 * day)
	p.want(true, "it was there before")
}

// again has another process be the node.
func (p *pruning) again() {
	p.engine = connect(p.T, p.uri)
	auth := filepath.Join(p.TempDir(), "auth.json")
	content := `{"auths":{"` + p.reg.Host() + `":{"auth":"bWU6aHVudGVyMjI="}}}`
	if err := os.WriteFile(auth, []byte(content), 0o600); err != nil {
		p.Fatal(err)
	}
	p.engine.RegistryAuth(auth)
	p.engine.PruneImages(day)
}

func (p *pruning) pull() node.Container {
	p.Helper()
	c, err := p.engine.Prepare(p.Context(), planOf(p.reg.Image()))
	if err != nil {
		p.Fatal(err)
	}
	return c
}

func (p *pruning) drop(c node.Container) {
	p.Helper()
	if err := p.engine.Remove(p.Context(), c); err != nil {
		p.Fatal(err)
	}
}

// prune prunes as much later than the last time.
func (p *pruning) prune(later time.Duration, needed ...string) {
	p.Helper()
	p.now = p.now.Add(later)
	if err := p.engine.Prune(p.Context(), owner, needed, p.now); err != nil {
		p.Fatal(err)
	}
}

// want fails the test unless the image is there, or not.
func (p *pruning) want(there bool, why string) {
	p.Helper()
	if is := p.podman("images", "--all", "--quiet") != ""; is != there {
		p.Errorf("the host has the image: %t, want %t: %s", is, there, why)
	}
}

func (p *pruning) podman(args ...string) string {
	p.Helper()
	path := filepath.Join(filepath.Dir(strings.TrimPrefix(p.uri, "unix://")), "podman")
	out, err := exec.CommandContext(p.Context(), path, args...).CombinedOutput()
	if err != nil {
		p.Fatalf("podman %q: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (p *pruning) saved(archive []byte) string {
	p.Helper()
	path := filepath.Join(p.TempDir(), "image.tar")
	if err := os.WriteFile(path, archive, 0o600); err != nil {
		p.Fatal(err)
	}
	return path
}
