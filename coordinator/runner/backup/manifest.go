package backup

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Errors of a backup, wrapped with the name of the file.
var (
	// ErrDamaged occurs when a file is not as it was written, or is missing.
	ErrDamaged = errors.New("the backup is damaged")
	// ErrNone occurs when a store has no backup.
	ErrNone = errors.New("there is no backup")
	// errMissing occurs, beside ErrDamaged, when a file is missing.
	errMissing = errors.New("it is missing")
)

const (
	format  = "rookery-backup"
	version = 1
	// maxManifest is the most bytes of a manifest: it has about 200 for each file.
	maxManifest = 256 << 20
)

// Manifest is a backup: the state of a cluster at the end of a round, and the files that hold it.
type Manifest struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	// Taken is when the backup was taken, By the version of the program that took it.
	Taken time.Time `json:"taken"`
	By    string    `json:"by"`
	// Log is the identity of the log. Sequence is the end of the round, and Hash the canonical hash of the state there.
	Log      string `json:"log"`
	Sequence uint64 `json:"sequence"`
	Hash     string `json:"hash"`
	// Replicas is how many servers kept the log.
	Replicas int `json:"replicas"`
	// Rounds has the log from its first message to Sequence, Configs all configs, and State the snapshot of the fold at Sequence.
	Rounds  []Rounds `json:"rounds"`
	Configs File     `json:"configs"`
	State   File     `json:"state"`
	// Volumes has the contents that snapshots of volumes name. Missing are digests of contents that were no longer on the bus.
	Volumes []Volume `json:"volumes,omitempty"`
	Missing []string `json:"missing,omitempty"`
}

// File is a file of a backup.
type File struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
	// Sum is the SHA-256 of the file, in hexadecimal.
	Sum string `json:"sha256"`
}

// Rounds is a file with whole rounds of the log, in the format of an archive.
type Rounds struct {
	File
	First uint64 `json:"first"`
	Last  uint64 `json:"last"`
}

// Volume is a file with the content of a volume, compressed with zstd. Digest is the SHA-256 of the content.
type Volume struct {
	File
	Digest string `json:"digest"`
}

// files yields every file of the backup.
func (m Manifest) files(yield func(File) bool) {
	for _, r := range m.Rounds {
		if !yield(r.File) {
			return
		}
	}
	for _, v := range m.Volumes {
		if !yield(v.File) {
			return
		}
	}
	_ = yield(m.Configs) && yield(m.State)
}

// Bytes returns the size of all files.
func (m Manifest) Bytes() (sum int64) {
	for f := range m.files {
		sum += f.Bytes
	}
	return sum
}

const (
	manifestPrefix = "backup-"
	manifestSuffix = ".json"
	manifestTime   = "20060102T150405.000Z"
)

// Name returns the name of the manifest's file. Names sort by the time of the backup.
func (m Manifest) Name() string {
	return fmt.Sprintf("%s%s-%020d%s", manifestPrefix, m.Taken.UTC().Format(manifestTime), m.Sequence, manifestSuffix)
}

// parseName reads what the name of a manifest's file says; false for a file that is not one.
func parseName(name string) (m Manifest, is bool) {
	rest, ours := strings.CutPrefix(name, manifestPrefix)
	rest, ends := strings.CutSuffix(rest, manifestSuffix)
	taken, sequence, two := strings.Cut(rest, "-")
	var err, alsoErr error
	m.Taken, err = time.Parse(manifestTime, taken)
	m.Sequence, alsoErr = strconv.ParseUint(sequence, 10, 64)
	return m, ours && ends && two && err == nil && alsoErr == nil && m.Name() == name
}

// seal is the last line of a manifest's file: the SHA-256 of the line before it.
type seal struct {
	Sum string `json:"sha256"`
}

// encode returns the content of the manifest's file.
func (m Manifest) encode() ([]byte, error) {
	body, err := json.Marshal(m, json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(body)
	last, err := json.Marshal(seal{hex.EncodeToString(sum[:])})
	return slices.Concat(body, []byte("\n"), last, []byte("\n")), err
}

func decode(name string, content []byte) (Manifest, error) {
	var m Manifest
	body, last, _ := bytes.Cut(content, []byte("\n"))
	sum := sha256.Sum256(body)
	if want, err := json.Marshal(seal{hex.EncodeToString(sum[:])}); err != nil || string(last) != string(want)+"\n" {
		return m, fmt.Errorf("%w: %s: it does not match the digest in its last line", ErrDamaged, name)
	}
	if err := json.Unmarshal(body, &m, jsontext.AllowDuplicateNames(false)); err != nil {
		return m, fmt.Errorf("%w: %s: %w", ErrDamaged, name, err)
	}
	switch {
	case m.Format != format || m.Version != version:
		return m, fmt.Errorf("%w: %s: it has the format %q, version %d, and this program reads %q, version %d: use the version of Rookery that wrote it",
			ErrDamaged, name, m.Format, m.Version, format, version)
	case m.Name() != name:
		return m, fmt.Errorf("%w: %s: by its content its name is %s", ErrDamaged, name, m.Name())
	}
	return m, nil
}

// Backup is a backup in a store. If its manifest is damaged, Err says so, and of the manifest only Taken and Sequence are known, by its name.
type Backup struct {
	Manifest
	Err error
}

// List returns the backups in the store, the newest first.
func List(ctx context.Context, s Store) ([]Backup, error) {
	stored, err := s.List(ctx)
	if err != nil {
		return nil, err
	}
	var all []Backup
	for _, f := range stored {
		named, is := parseName(f.Name)
		if !is {
			continue
		}
		m, err := read(ctx, s, f.Name)
		switch {
		case errors.Is(err, errMissing): // another process has just removed it
			continue
		case errors.Is(err, ErrDamaged):
			m = named
		case err != nil:
			return nil, err
		}
		all = append(all, Backup{m, err})
	}
	slices.SortFunc(all, func(a, b Backup) int { return strings.Compare(b.Name(), a.Name()) })
	return all, nil
}

func read(ctx context.Context, s Store, name string) (m Manifest, err error) {
	content, err := s.Get(ctx, name)
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, content.Close()) }()
	body, err := io.ReadAll(io.LimitReader(content, maxManifest))
	if err != nil {
		return m, fmt.Errorf("read %s: %w", name, err)
	}
	return decode(name, body)
}

// At returns the newest backup that is of a place in the log, or of a time, or earlier; zero values leave that open. A damaged one is an error.
func At(all []Backup, sequence uint64, at time.Time) (Manifest, error) {
	for _, m := range all {
		if (sequence == 0 || m.Sequence <= sequence) && (at.IsZero() || !m.Taken.After(at)) {
			return m.Manifest, m.Err
		}
	}
	if len(all) == 0 {
		return Manifest{}, ErrNone
	}
	oldest := all[len(all)-1]
	return Manifest{}, fmt.Errorf("%w that early: the oldest one is of %s and ends at sequence %d", ErrNone,
		oldest.Taken.UTC().Format(time.RFC3339), oldest.Sequence)
}
