package rookerytest_test

import (
	"encoding/base64"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node/podman/podmantest"
)

// TestRegistryCredentialsOnPodman makes a node fetch an image from a registry that wants a password. The node runs with no file of
// credentials, with an empty one, with the wrong password and with the right one. The password must not appear on the bus, in any output or
// in the folder of Podman.
func TestRegistryCredentialsOnPodman(t *testing.T) {
	t.Parallel()
	const name, password, wrong = "heron", "s3cret-of-the-registry", "s3cret-of-yesterday"
	reg := podmantest.StartRegistry(t, podmantest.WebArchive(t), name, password)
	r := startReal(t)
	(&seen{T: t, realNode: r}).podman("rmi", podmantest.WebReference) // the registry's is the same image
	heard := r.overhear(">")
	s := r.publish(t, specRow{name: "private", fields: `"image":"` + reg.Image() + `","restart":{"delay":"100ms","max_delay":"500ms"}`})
	s.offlineUntil("start the node with --registry-auth")

	path := filepath.Join(t.TempDir(), "auth.json")
	r.node.kill()
	first := r.node.output
	r.flags = []string{"--registry-auth", path}
	r.startNode()
	s.offlineUntil(path + ": no such file")
	for _, step := range []struct{ auths, says string }{
		{`{"auths":{"other.example":{"auth":"` + encoded(name, password) + `"}}}`, path + " has none for it"},
		{`{"auths":{"` + reg.Host() + `":{"auth":"` + password + `"}}}`, "not base64"},
		{`{"auths":{"` + reg.Host() + `":{"auth":"` + encoded(name, wrong) + `"}}}`, "does not take the credentials for " + reg.Host() + " in " + path},
		{`{"auths":{"` + reg.Host() + `/team":{"auth":"` + encoded(name, password) + `"}}}`, ""},
	} {
		// Put in place as one: the node may read at any time.
		if err := os.WriteFile(path+".new", []byte(step.auths), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
		if step.says != "" {
			s.offlineUntil(step.says)
		}
	}
	s.want("the image of what runs", s.inspect("{{.ImageName}}"), reg.Resolved())

	s.wantIn("the names of the image", s.podman("images", "--format", "{{.Repository}}"), "localhost/rookery-pulled/")
	if !strings.Contains(heard.String(), path) {
		t.Errorf("what was heard on the bus does not have %s, which errors name", path)
	}
	kept := r.podmanKeeps()
	for _, secret := range []string{password, wrong, encoded(name, password), encoded(name, wrong)} {
		for where, text := range map[string]string{
			"the bus": heard.String(), "the node's output": first.String() + r.node.output.String(), "Podman's folder": kept,
		} {
			if strings.Contains(text, secret) {
				t.Errorf("%s has %q", where, secret)
			}
		}
	}
}

// encoded is how a file of credentials has a name and a password.
func encoded(name, password string) string {
	return base64.StdEncoding.EncodeToString([]byte(name + ":" + password))
}

// offlineUntil waits until the instance is offline for want of its image with these words. Attempts before may have
// failed for what was wrong then.
func (s *seen) offlineUntil(words string) {
	s.Helper()
	e := event[events.InstanceOffline](s)
	for ; !strings.Contains(e.Message, words); e = event[events.InstanceOffline](s) {
		if e.Reason != events.OfflineImagePull {
			s.Fatalf("the instance is offline as %s: %q; want %s: %q", e.Reason, e.Message, events.OfflineImagePull, words)
		}
	}
	s.Logf("told: %s", e.Message)
}

// overhear collects all that goes over the bus on these subjects from here on.
func (r *realNode) overhear(subjects string) *safeBuffer {
	r.t.Helper()
	conn, err := nats.Connect(r.URL)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(conn.Close)
	heard := &safeBuffer{}
	_, err = conn.Subscribe(subjects, func(m *nats.Msg) {
		fmt.Fprintf(heard, "%s %v %s\n", m.Subject, m.Header, m.Data)
	})
	if err != nil {
		r.t.Fatal(err)
	}
	if err := conn.Flush(); err != nil {
		r.t.Fatal(err)
	}
	return heard
}

// podmanKeeps returns all that stands in the files of the private Podman, its log among them.
func (r *realNode) podmanKeeps() string {
	r.t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(filepath.Dir(strings.TrimPrefix(r.uri, "unix://")), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		all.Write(text)
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return all.String()
}
