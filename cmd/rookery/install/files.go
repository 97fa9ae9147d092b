package install

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// Account is the user that servers and coordinators run as, and the name of its group.
	Account = "rookery"
	// State is the folder of what servers and coordinators keep. It belongs to Account.
	State = "/var/lib/rookery"
	// Settings is the folder of the configuration files. It belongs to root.
	Settings = "/etc/rookery"

	ours, readable, runnable = 0o600, 0o644, 0o755
)

// file is a file that a host has.
type file struct {
	// folder is where no symbolic link leads out of. Its parent belongs to root; it and its folders may belong to another user, who must not lead
	// root elsewhere.
	folder, name string
	content      []byte
	mode         fs.FileMode
	owner        string
}

func (f file) path() string { return filepath.Join(f.folder, f.name) }

func (f file) step() Step {
	return Step{f.path(), f.has, func(context.Context) error { return f.write() }}
}

func (f file) has(context.Context) (bool, error) {
	root, err := os.OpenRoot(f.folder)
	if err != nil {
		return missing(err)
	}
	defer root.Close()                                                                      //nolint:errcheck // nothing was written
	now, err := root.OpenFile(f.name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0) // a pipe in its place would not open
	if errors.Is(err, syscall.ELOOP) {
		return false, nil
	}
	if err != nil {
		return missing(err)
	}
	defer now.Close() //nolint:errcheck // nothing was written
	info, err := now.Stat()
	if err != nil || info.Mode() != f.mode || info.Size() != int64(len(f.content)) || !owned(info, f.owner) {
		return false, err
	}
	content, err := io.ReadAll(now)
	return bytes.Equal(content, f.content), err
}

// write writes the file whole, or leaves the one of before.
func (f file) write() error {
	uid, gid, err := ids(f.owner)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(f.folder)
	if err != nil {
		return err
	}
	begun := f.name + ".new"
	err = root.Remove(begun)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	var to *os.File
	if err == nil {
		to, err = root.OpenFile(begun, os.O_CREATE|os.O_EXCL|os.O_WRONLY, ours)
	}
	if err != nil {
		return errors.Join(err, root.Close())
	}
	_, err = to.Write(f.content)
	if err = errors.Join(err, to.Chown(uid, gid), to.Chmod(f.mode), to.Sync(), to.Close()); err == nil {
		err = root.Rename(begun, f.name)
	}
	return errors.Join(err, root.Close())
}

// folder is a folder that a host has.
type folder struct {
	above, name string // as of a file
	mode        fs.FileMode
	owner       string
}

func (d folder) step() Step { return Step{filepath.Join(d.above, d.name), d.has, d.create} }

func (d folder) has(context.Context) (bool, error) {
	root, err := os.OpenRoot(d.above)
	if err != nil {
		return missing(err)
	}
	defer root.Close() //nolint:errcheck // nothing was written
	info, err := root.Lstat(d.name)
	if err != nil {
		return missing(err)
	}
	if !info.IsDir() {
		return false, errors.New("this is not a folder: move it away")
	}
	return info.Mode().Perm() == d.mode && owned(info, d.owner), nil
}

func (d folder) create(context.Context) error {
	uid, gid, err := ids(d.owner)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(d.above)
	if err != nil {
		return err
	}
	err = root.Mkdir(d.name, d.mode)
	if errors.Is(err, fs.ErrExist) {
		err = nil
	}
	if err == nil {
		err = errors.Join(root.Lchown(d.name, uid, gid), root.Chmod(d.name, d.mode))
	}
	return errors.Join(err, root.Close())
}

// gone is the step after which there is no such file.
func gone(path string) Step {
	return Step{
		path + " is removed",
		func(ctx context.Context) (bool, error) {
			_, err := os.Lstat(path)
			if errors.Is(err, fs.ErrNotExist) {
				return true, nil
			}
			return false, err
		},
		func(context.Context) error { return os.Remove(path) },
	}
}

// missing turns the error that a file is not there into the answer that it is not.
func missing(err error) (bool, error) {
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return false, err
}

// owned reports whether a file belongs to the user and the group of this name.
func owned(info fs.FileInfo, owner string) bool {
	uid, gid, err := ids(owner)
	if err != nil {
		return false // there is no such user yet
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == uid && int(stat.Gid) == gid
}

func ids(owner string) (uid, gid int, err error) {
	u, err := user.Lookup(owner)
	if err != nil {
		return 0, 0, err
	}
	if uid, err = strconv.Atoi(u.Uid); err != nil {
		return 0, 0, err
	}
	gid, err = strconv.Atoi(u.Gid)
	return uid, gid, err
}

// account is the step after which the host has the user that servers and coordinators run as.
func account() Step {
	return Step{
		"the user " + Account,
		func(ctx context.Context) (bool, error) {
			_, err := user.Lookup(Account)
			var unknown user.UnknownUserError
			if errors.As(err, &unknown) {
				return false, nil
			}
			return err == nil, err
		},
		func(ctx context.Context) error {
			return command(ctx, "useradd", "--system", "--user-group", "--no-log-init", "--no-create-home", "--home-dir", State, "--shell", "/usr/sbin/nologin", Account)
		},
	}
}

// longest is how long a program of the host may take: longer than a server that first moves its clients to the others.
const longest = 3 * time.Minute

// command runs a program of the host to its end.
func command(ctx context.Context, name string, args ...string) error {
	_, err := output(ctx, name, args...)
	return err
}

func output(ctx context.Context, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	told, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) {
		return "", needs(err, packageOf[name])
	}
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(string(told)))
	}
	return string(told), nil
}

// packageOf is the package of each program of the host that this needs, on Debian.
var packageOf = map[string]string{"useradd": "passwd", "systemctl": "systemd", "journalctl": "systemd", "podman": "podman"}

// needs adds to an error the package whose lack is the cause.
func needs(err error, debian string) error {
	return fmt.Errorf("%w: install the package that Debian calls %s", err, debian)
}
