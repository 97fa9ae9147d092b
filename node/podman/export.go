package podman

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rookery-project/rookery/node"
)

// Export returns the content of the folder in the container, in the order of names, with owners and modification times, but without
// access times. It does not use Podman's own archive, in which the container's user owns everything, and which ends early without an
// error if a file cannot be read. Instead it reads the volume on this host.
func (e *Engine) Export(ctx context.Context, c node.Container, folder string) (io.ReadCloser, error) {
	source, err := e.mounted(ctx, c, folder)
	if err != nil {
		return nil, fmt.Errorf("archiving %s: %w", folder, err)
	}
	root, err := os.OpenRoot(source) // links in the volume lead nowhere else
	if err != nil {
		return nil, fmt.Errorf("archiving %s: the node cannot open the volume on the host: run the node on the host: %w", folder, err)
	}
	reader, writer := io.Pipe()
	a := &archiver{root: root, to: tar.NewWriter(writer), linked: map[inode]string{}}
	exported := &exported{PipeReader: reader, over: make(chan struct{})}
	go func() {
		defer close(exported.over)
		writer.CloseWithError(errors.Join(a.archive(ctx), root.Close()))
	}()
	return exported, nil
}

// mounted returns the host's path of what is mounted into the container at this path.
func (e *Engine) mounted(ctx context.Context, c node.Container, at string) (string, error) {
	var found struct {
		Mounts []struct{ Destination, Source string }
	}
	if err := e.do(ctx, request{method: http.MethodGet, path: containerPath(c.Handle, "/json")}, &found); err != nil {
		return "", fmt.Errorf("looking for the volume at %s: %w", at, err)
	}
	for _, m := range found.Mounts {
		if m.Destination == at {
			return m.Source, nil
		}
	}
	return "", fmt.Errorf("container %s has no volume at %s", c.Handle, at)
}

// exported is an archive that is written while the caller reads it.
type exported struct {
	*io.PipeReader
	over chan struct{}
}

// Close ends the writing, and waits for that.
func (e *exported) Close() error {
	err := e.PipeReader.Close()
	<-e.over
	return err
}

// inode identifies a file of a host that may have several names.
type inode struct{ device, number uint64 }

// archiver writes the content of a folder.
type archiver struct {
	root   *os.Root
	to     *tar.Writer
	linked map[inode]string // the first names of files that have several
}

func (a *archiver) archive(ctx context.Context) error {
	if err := a.entry(ctx, "."); err != nil {
		return err
	}
	return a.to.Close()
}

// folder writes the content of a folder. Names may contain any bytes.
func (a *archiver) folder(ctx context.Context, name string) error {
	folder, err := a.root.OpenFile(name, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	names, err := folder.Readdirnames(-1)
	if err = errors.Join(err, folder.Close()); err != nil {
		return err
	}
	slices.Sort(names)
	for _, one := range names {
		if err := a.entry(ctx, path.Join(name, one)); err != nil {
			return err
		}
	}
	return nil
}

// entry writes the file or folder of this name, with its content. It omits sockets, which are useless without their process.
func (a *archiver) entry(ctx context.Context, name string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	info, err := a.root.Lstat(name)
	if err != nil {
		return err
	}
	target := ""
	switch {
	case info.Mode()&fs.ModeSocket != 0:
		return nil
	case info.Mode()&fs.ModeSymlink != 0:
		if target, err = a.root.Readlink(name); err != nil {
			return err
		}
	}
	header, err := tar.FileInfoHeader(info, target)
	if err != nil {
		return err
	}
	header.Name = "./" + name
	if info.IsDir() {
		header.Name = path.Clean(header.Name) + "/"
	}
	header.Format, header.Uname, header.Gname, header.AccessTime, header.ChangeTime = tar.FormatPAX, "", "", time.Time{}, time.Time{}
	if first := a.first(name, info); first != "" {
		header.Typeflag, header.Linkname, header.Size = tar.TypeLink, "./"+first, 0
	}
	if header.Typeflag != tar.TypeReg && header.Typeflag != tar.TypeDir {
		return a.to.WriteHeader(header)
	}
	if err := a.opened(name, info, header); err != nil || !info.IsDir() {
		return err
	}
	return a.folder(ctx, name)
}

// first returns the name under which a file with several names was already written; "" if it was not.
func (a *archiver) first(name string, info fs.FileInfo) string {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || info.IsDir() || stat.Nlink < 2 {
		return ""
	}
	file := inode{stat.Dev, stat.Ino}
	first := a.linked[file]
	if first == "" {
		a.linked[file] = name
	}
	return first
}

// opened opens and writes a file or folder, with its extended attributes. If something has replaced it since, opened fails; it does not
// follow a link and does not wait for a pipe.
func (a *archiver) opened(name string, info fs.FileInfo, header *tar.Header) error {
	file, err := a.root.OpenFile(name, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it was only read
	now, err := file.Stat()
	if err != nil {
		return err
	}
	if !os.SameFile(info, now) {
		return fmt.Errorf("%s was replaced during the snapshot: let hooks.snapshot make the service pause its writes", name)
	}
	if header.PAXRecords, err = attributes(file); err != nil {
		return err
	}
	if err := a.to.WriteHeader(header); err != nil || header.Typeflag == tar.TypeDir {
		return err
	}
	_, err = io.CopyN(a.to, file, header.Size) // the header has the size of before: omit what was added since
	return err
}

// maxAttribute bounds an extended attribute, as the kernel does.
const maxAttribute = 64 << 10

// attributes returns the service's own extended attributes, under their names in archives. These are the ones that Podman restores;
// access control lists do not belong to them.
func attributes(file *os.File) (map[string]string, error) {
	fd := int(file.Fd())
	names := make([]byte, maxAttribute)
	n, err := unix.Flistxattr(fd, names)
	if errors.Is(err, unix.ENOTSUP) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("attributes of %s: %w", file.Name(), err)
	}
	var records map[string]string
	value := make([]byte, maxAttribute)
	for name := range strings.SplitSeq(strings.TrimRight(string(names[:n]), "\x00"), "\x00") {
		if (!strings.HasPrefix(name, "user.") && name != "security.capability") || strings.Contains(name, "=") {
			continue // an archive cannot contain a name with "="
		}
		n, err := unix.Fgetxattr(fd, name, value)
		if err != nil {
			return nil, fmt.Errorf("attribute %s of %s: %w", name, file.Name(), err)
		}
		if records == nil {
			records = map[string]string{}
		}
		records["SCHILY.xattr."+name] = string(value[:n])
	}
	return records, nil
}
