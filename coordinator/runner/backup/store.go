package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Store keeps files by name. Its errors name the file.
type Store interface {
	// Put stores the content under the name as a whole, or not at all, and replaces what was there.
	Put(ctx context.Context, name string, content *os.File) error
	// Get reads a file. The error is ErrDamaged where there is none. The caller closes it, and reads it within ctx.
	Get(ctx context.Context, name string) (io.ReadCloser, error)
	// List returns all files, in no order.
	List(ctx context.Context) ([]Stored, error)
	// Delete removes a file, if there is one.
	Delete(ctx context.Context, name string) error
}

// Stored is a file in a store.
type Stored struct {
	Name  string
	Bytes int64
	// At is when it was stored, by the clock of the store.
	At time.Time
}

// Folder is a store in a folder of this machine. Only its owner may read it: configs are in it.
type Folder string

const (
	// partPrefix is that of a file that is not whole yet.
	partPrefix = ".part-"
	ownersOnly = 0o700
)

// NewFolder makes the folder, if it is missing. The folder in which it is must exist.
func NewFolder(path string) (Folder, error) {
	err := os.Mkdir(path, ownersOnly)
	if errors.Is(err, fs.ErrExist) {
		err = nil // it may be a file: the first call says so
	}
	return Folder(path), err
}

// Put implements Store.
func (f Folder) Put(_ context.Context, name string, content *os.File) (err error) {
	part, err := os.CreateTemp(string(f), partPrefix)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("store %s: %w", name, err), os.Remove(part.Name()))
		}
	}()
	if _, err = io.Copy(part, content); err == nil {
		err = part.Sync()
	}
	if err = errors.Join(err, part.Close()); err != nil {
		return err
	}
	if err = os.Rename(part.Name(), filepath.Join(string(f), name)); err != nil {
		return err
	}
	return f.Sync()
}

// Sync syncs the folder, so that the names of its files survive a power failure.
func (f Folder) Sync() error {
	opened, err := os.Open(string(f))
	if err != nil {
		return err
	}
	return errors.Join(opened.Sync(), opened.Close())
}

// Get implements Store.
func (f Folder) Get(_ context.Context, name string) (io.ReadCloser, error) {
	opened, err := os.Open(filepath.Join(string(f), name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s: %w", ErrDamaged, name, errMissing)
	}
	return opened, err
}

// List implements Store. It leaves out folders and hidden files, but for those that a Put which was killed has left.
func (f Folder) List(_ context.Context) ([]Stored, error) {
	entries, err := os.ReadDir(string(f))
	if err != nil {
		return nil, err
	}
	var all []Stored
	for _, e := range entries {
		if !e.Type().IsRegular() || (strings.HasPrefix(e.Name(), ".") && !strings.HasPrefix(e.Name(), partPrefix)) {
			continue
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, Stored{e.Name(), info.Size(), info.ModTime()})
	}
	return all, nil
}

// Delete implements Store.
func (f Folder) Delete(_ context.Context, name string) error {
	err := os.Remove(filepath.Join(string(f), name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
