package podman_test

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

// restoring is a slot whose volume "data" is filled from what a container of another one held.
type restoring struct {
	*testing.T
	b    *bench
	kept []byte
	plan node.Plan
}

// errContent is what is wrong with content.
var errContent = errors.New("it has another digest")

func (b *bench) restoring(t *testing.T) *restoring {
	r := &restoring{T: t, b: b}
	of := r.slot()
	c := b.prepare(t, of)
	b.start(t, c)
	r.lay(of)
	content, err := b.engine.Export(t.Context(), c, "/data")
	if err == nil {
		r.kept, err = io.ReadAll(content)
		err = errors.Join(err, content.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	r.plan = r.slot()
	r.resume(7, r.kept)
	return r
}

// slot plans an instance with two volumes, of which nothing is left after the test.
func (r *restoring) slot() node.Plan {
	plan := r.b.plan(r.T, "-listen", "127.0.0.1:0")
	plan.Order.Spec.Volumes = []events.Volume{
		{Kind: events.VolumeNamed, Name: "data", Path: "/data", State: true}, {Kind: events.VolumeNamed, Name: "data2", Path: "/cache"},
	}
	r.Cleanup(func() {
		ctx := context.Background()
		for _, v := range []string{"data", "data2"} {
			r.b.podmanIn(ctx, r.T, "volume", "rm", "-f", plan.VolumeName(v))
		}
	})
	return plan
}

// resume has the plan's volume be filled with the content because of another resume.
func (r *restoring) resume(resumed uint64, content []byte) {
	sum := sha256.Sum256(content)
	r.plan.Order.Restore = &events.Restore{Resumed: resumed, Snapshot: 3, Volumes: []events.Export{
		{Volume: "data", Digest: hex.EncodeToString(sum[:]), Size: int64(len(content))}, {Volume: "gone", Digest: "of a volume that the spec has dropped"},
	}}
	r.give(func() io.Reader { return bytes.NewReader(content) })
}

func (r *restoring) give(content func() io.Reader) {
	r.plan.Content = func(_ context.Context, e events.Export) (io.ReadCloser, error) {
		if e != r.plan.Order.Restore.Volumes[0] {
			return nil, fmt.Errorf("content of %+v is read", e)
		}
		return io.NopCloser(content()), nil
	}
}

// never makes each opening of content fail.
func (r *restoring) never() {
	r.plan.Content = func(context.Context, events.Export) (io.ReadCloser, error) { return nil, errContent }
}

// folder is where the host has the volume; "" where there is none.
func (r *restoring) folder(plan node.Plan, name string) string {
	return r.b.podman(r.T, "volume", "ls", "--filter", "name=^"+plan.VolumeName(name)+"$", "--format", "{{.Mountpoint}}")
}

// lay has the volume hold what is hard to keep.
func (r *restoring) lay(plan node.Plan) {
	at := r.folder(plan, "data")
	long := filepath.Join(at, "deep", strings.Repeat("n", 120))
	err := errors.Join(
		os.MkdirAll(filepath.Dir(long), 0o700), os.WriteFile(long, bytes.Repeat([]byte("content"), 100_000), 0o600),
		os.WriteFile(filepath.Join(at, "tool"), []byte("#!"), 0o600),
		os.Chown(filepath.Join(at, "tool"), 77, 78), os.Chown(long, 999, 999), os.Chmod(filepath.Join(at, "tool"), 0o755|os.ModeSetuid),
		os.Symlink("deep/../tool", filepath.Join(at, "link")), os.Lchown(filepath.Join(at, "link"), 77, 77), os.Link(filepath.Join(at, "tool"), filepath.Join(at, "hard")),
		os.Mkdir(filepath.Join(at, "empty"), 0o711), os.Chown(at, 999, 0), os.Chmod(at, 0o770|os.ModeSticky),
		os.Mkdir(filepath.Join(at, "caf\xe9"), 0o700), os.WriteFile(filepath.Join(at, "caf\xe9", "\xff"), []byte("of any bytes"), 0o600),
		unix.Setxattr(long, "user.told", []byte("kept"), 0), unix.Setxattr(long, "user.a=b", []byte("has no name in archives"), 0), unix.Mkfifo(filepath.Join(at, "pipe"), 0o600),
		os.Chtimes(long, time.Unix(1e9, 5), time.Unix(1e9, 5)), os.Chtimes(at, time.Unix(1e9, 0), time.Unix(1e9, 0)),
	)
	if err != nil {
		r.Fatal(err)
	}
}

// list says what the folder holds.
func (r *restoring) list(at string) []string {
	var lines []string
	err := filepath.WalkDir(at, func(name string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := os.Lstat(name)
		if err != nil {
			return err
		}
		stat := info.Sys().(*syscall.Stat_t)
		target, _ := os.Readlink(name)
		var sum [sha256.Size]byte
		if info.Mode().IsRegular() {
			content, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			sum = sha256.Sum256(content)
		}
		told := make([]byte, 16)
		n, _ := unix.Lgetxattr(name, "user.told", told)
		lines = append(lines, fmt.Sprintf("%s %v %d:%d %q %x %q %v", strings.TrimPrefix(name, at), info.Mode(), stat.Uid, stat.Gid, target, sum[:3], told[:max(n, 0)],
			info.Mode()&os.ModeSymlink != 0 || info.ModTime().Unix() == 1e9))
		return nil
	})
	if err != nil {
		r.Fatal(err)
	}
	return lines
}

// left returns the names of what a fill that did not come to its end has left.
func (r *restoring) left() []string {
	return slices.Concat(
		strings.Fields(r.b.podman(r.T, "volume", "ls", "--filter", "label="+node.LabelFills, "--format", "{{.Name}}")),
		strings.Fields(r.b.podman(r.T, "ps", "-a", "--filter", "label="+node.LabelFills, "--format", "{{.Names}}")))
}

func (r *restoring) wantNothingLeft() {
	r.Helper()
	if left := r.left(); len(left) > 0 {
		r.Errorf("%q are left", left)
	}
}

// refused prepares a container, which must not come to be, and returns why.
func (r *restoring) refused(words string) {
	r.Helper()
	_, err := r.b.engine.Prepare(r.Context(), r.plan)
	wantFailure(r.T, err, events.OfflineCreateFailed, words)
	wantFailure(r.T, err, events.OfflineCreateFailed, "volume data cannot be filled from snapshot 3: ")
	if c := r.b.inspect(r.T, r.plan); c != nil {
		r.Errorf("there is a container: %+v", c)
	}
}

func testRestore(t *testing.T, b *bench) {
	r := b.restoring(t)
	of := r.plan
	of.Instance.Ordinal--
	want := r.list(r.folder(of, "data"))
	r.plan.Order.Restore = nil
	first := b.prepare(t, r.plan) // of before the service was suspended
	for _, v := range []string{"data", "data2"} {
		if err := os.WriteFile(filepath.Join(r.folder(r.plan, v), "before"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b.remove(t, first)
	r.resume(7, r.kept)
	c := b.prepare(t, r.plan)
	r.wantNothingLeft()
	b.start(t, c)
	if got := r.list(r.folder(r.plan, "data")); !slices.Equal(got, want) {
		t.Errorf("the volume holds\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if got := r.list(r.folder(r.plan, "data2")); len(got) != 2 {
		t.Errorf("the volume that is not restored holds %q", got)
	}
	// The volume keeps what the container writes, whatever the node does next.
	written := filepath.Join("/proc", b.podman(t, "inspect", "--format", "{{.State.Pid}}", c.Handle), "root/data/written")
	if err := os.WriteFile(written, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r.never()
	if err := b.engine.Tidy(t.Context(), owner); err != nil {
		t.Fatal(err)
	}
	b.podman(t, "volume", "prune", "-f") // a mark that stood for a full volume would be gone now
	for r.plan.Attempt = 1; r.plan.Attempt < 3; r.plan.Attempt++ {
		b.remove(t, c)
		c = b.prepare(t, r.plan)
		b.start(t, c)
	}
	b.remove(t, c)
	r.plan.Instance.Generation, r.plan.Order.Restore = 2, nil
	b.remove(t, b.prepare(t, r.plan))
	if _, err := os.Stat(filepath.Join(r.folder(r.plan, "data"), "written")); err != nil {
		t.Error(err)
	}
	b.podman(t, "volume", "rm", r.plan.VolumeName("data")) // Podman takes its name for that of the other one now
	r.resume(8, r.kept)
	b.remove(t, b.prepare(t, r.plan))
	if got := r.list(r.folder(r.plan, "data2")); len(got) != 2 {
		t.Errorf("because of another resume the volume that is not restored holds %q", got)
	}
	if got := r.list(r.folder(r.plan, "data")); !slices.Equal(got, want) {
		t.Errorf("because of another resume the volume holds\n%s", strings.Join(got, "\n"))
	}
}

// testRestoreEmpty restores a volume that held nothing, of an image that has something in its place.
func testRestoreEmpty(t *testing.T, b *bench) {
	var image, empty bytes.Buffer
	for into, names := range map[*bytes.Buffer][]string{&image: {"data/", "data/image"}, &empty: {"data/"}} {
		archive := tar.NewWriter(into)
		for _, name := range names {
			if err := archive.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Uid: 33, ModTime: time.Unix(1e9, 0)}); err != nil {
				t.Fatal(err)
			}
		}
		if err := archive.Close(); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(t.TempDir(), "image")
	if err := os.WriteFile(file, image.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	b.podman(t, "import", file, "localhost/seeded:1")
	r := &restoring{T: t, b: b}
	r.plan = r.slot()
	r.plan.Order.Spec.Image = "localhost/seeded:1"
	r.resume(7, empty.Bytes())
	if err := b.engine.Start(t.Context(), b.prepare(t, r.plan)); err == nil {
		t.Error("an image without a program has started")
	}
	if got, want := r.list(r.folder(r.plan, "data")), []string{` drwxr-xr-x 33:0 "" 000000 "" true`}; !slices.Equal(got, want) {
		t.Errorf("the volume holds %q, want %q", got, want)
	}
}

func testRestoreRefused(t *testing.T, b *bench) {
	r := b.restoring(t)
	r.give(func() io.Reader { return io.MultiReader(bytes.NewReader(r.kept), &broken{}) })
	r.refused(errContent.Error())
	r.give(func() io.Reader { return io.MultiReader(bytes.NewReader(r.kept[:len(r.kept)/2]), &broken{}) })
	r.refused(errContent.Error())
	r.never()
	r.refused(errContent.Error())
	r.give(func() io.Reader { return strings.NewReader("no archive") })
	r.refused("unexpected EOF")
	if at := r.folder(r.plan, "data"); at != "" {
		t.Errorf("a volume that is filled in part is left: %s", at)
	}
	r.wantNothingLeft()
	b.podman(t, "create", "--name", "uses", "-v", r.plan.VolumeName("data")+":/x", b.image)
	r.give(func() io.Reader { return bytes.NewReader(r.kept) })
	r.refused("is being used by the following container(s)")
	b.podman(t, "rm", "uses")
	r.wantNothingLeft()
	b.remove(t, b.prepare(t, r.plan))
}

// broken is the end of content that is not what it must be.
type broken struct{}

func (*broken) Read([]byte) (int, error) { return 0, errContent }

// testRestoreCut ends the node, and Podman with it, in the middle of the content. The next process must not take the rest for a full volume.
func testRestoreCut(t *testing.T, b *bench) {
	r := b.restoring(t)
	ctx, cancel := context.WithCancel(t.Context())
	r.give(func() io.Reader { return io.MultiReader(bytes.NewReader(r.kept[:len(r.kept)/2]), &ending{cancel, ctx}) })
	if _, err := b.engine.Prepare(ctx, r.plan); err == nil {
		t.Fatal("a container was made without the content")
	}
	r.wantNothingLeft()
	mark := r.cut()
	r.resume(7, r.kept)
	b.remove(t, b.prepare(t, r.plan))
	r.wantNothingLeft()
	if _, err := os.Stat(filepath.Join(r.folder(r.plan, "data"), "tool")); err != nil {
		t.Error(err)
	}
	b.podman(t, "volume", "rm", r.plan.VolumeName("data"))
	if again := r.cut(); again == mark {
		t.Errorf("two fills have the mark %s", mark)
	}
	other := node.Owner{Cluster: owner.Cluster, Node: "two"}
	if err := b.engine.Tidy(t.Context(), other); err != nil || len(r.left()) != 2 {
		t.Errorf("after another tidied there are %q: %v", r.left(), err)
	}
	if listed, err := b.engine.List(t.Context(), owner); err != nil || one(t, listed, r.plan.Instance) != nil {
		t.Errorf("what fills a volume is listed: %+v, %v", listed, err)
	}
	if err := b.engine.Tidy(t.Context(), owner); err != nil {
		t.Fatal(err)
	}
	r.wantNothingLeft()
	if at := r.folder(r.plan, "data"); at != "" {
		t.Errorf("a volume that is filled in part is left: %s", at)
	}
}

// cut leaves what a process leaves that is killed as it fills the volume, and returns the mark.
func (r *restoring) cut() string {
	fill := r.plan.Fills()[0]
	mark := r.b.podman(r.T, "volume", "create", "--label", node.LabelCluster+"="+owner.Cluster, "--label", node.LabelNode+"="+owner.Node,
		"--label", node.LabelFills+"="+fill.Volume)
	args := []string{"volume", "create"}
	for name, value := range fill.Labels(r.plan, mark) {
		args = append(args, "--label", name+"="+value)
	}
	r.b.podman(r.T, append(args, fill.Volume)...)
	r.b.podman(r.T, "create", "--label", node.LabelCluster+"="+owner.Cluster,
		"--label", node.LabelNode+"="+owner.Node, "--label", node.LabelFills+"="+fill.Volume, "-v", fill.Volume+":"+fill.Path, r.b.image)
	if err := os.WriteFile(filepath.Join(r.folder(r.plan, "data"), "half"), nil, 0o600); err != nil {
		r.Fatal(err)
	}
	return mark
}

// ending is content in whose middle the process ends.
type ending struct {
	end context.CancelFunc
	ctx context.Context //nolint:containedctx // as content has it
}

func (e *ending) Read([]byte) (int, error) {
	e.end()
	return 0, e.ctx.Err()
}
