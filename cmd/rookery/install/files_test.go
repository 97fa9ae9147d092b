package install

import (
	"errors"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"testing"
)

// TestAFileLeavesItsFolderByNoLink lets another user, who owns what is below the folder, lead root elsewhere by symbolic links.
func TestAFileLeavesItsFolderByNoLink(t *testing.T) {
	self, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	top, outside := t.TempDir(), filepath.Join(t.TempDir(), "theirs")
	for _, link := range []string{"nats.conf.new", "nats.conf"} {
		if err := errors.Join(os.WriteFile(outside, []byte("before"), ours), os.Symlink(outside, filepath.Join(top, link))); err != nil {
			t.Fatal(err)
		}
		f := file{top, "nats.conf", []byte("listen"), ours, self.Username}
		if has, err := f.has(t.Context()); has {
			t.Errorf("behind the link %s it is there: %v", link, err)
		}
		if err := f.write(); err != nil {
			t.Fatalf("behind the link %s: %v", link, err)
		}
		if has, err := f.has(t.Context()); !has || err != nil {
			t.Errorf("it was written, and is there: %v, %v", has, err)
		}
		if content, err := os.ReadFile(outside); err != nil || string(content) != "before" {
			t.Errorf("by the link %s root has written %q elsewhere, %v", link, content, err)
		}
		if err := os.Remove(f.path()); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(t.TempDir(), filepath.Join(top, "server")); err != nil {
		t.Fatal(err)
	}
	if err := (file{top, "server/nats.conf", []byte("listen"), ours, self.Username}).write(); err == nil {
		t.Error("root has written into a folder elsewhere")
	}
	d := folder{top, "server", private, self.Username}
	if has, err := d.has(t.Context()); has || err == nil {
		t.Errorf("a link counts as the folder: %v, %v", has, err)
	}
	if err := (file{top, "other", nil, ours, "unknown-user"}).write(); !errors.As(err, new(user.UnknownUserError)) {
		t.Errorf("a file of an unknown user: %v", err)
	}
	if _, err := os.Stat(filepath.Join(top, "other")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file of an unknown user is there: %v", err)
	}
}
