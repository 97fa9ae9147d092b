package backup

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/klauspost/compress/zstd"

	"github.com/rookery-project/rookery/coordinator/archive"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// check reads a file to its end through a function, and returns ErrDamaged unless it is as it was written.
func check(ctx context.Context, s Store, f File, through func(io.Reader) error) (err error) {
	content, err := s.Get(ctx, f.Name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, content.Close()) }()
	sum := sha256.New()
	read := io.TeeReader(bounded{ctx, content}, sum)
	malformed := through(read)
	if _, err := io.Copy(io.Discard, read); err != nil { // what is left of a malformed file
		return fmt.Errorf("read %s: %w", f.Name, err)
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case hex.EncodeToString(sum.Sum(nil)) != f.Sum:
		return fmt.Errorf("%w: %s: it was changed since it was written", ErrDamaged, f.Name)
	case malformed != nil:
		return fmt.Errorf("%s: %w", f.Name, malformed)
	}
	return nil
}

// present returns ErrDamaged with the name of a file of the backup that is missing or has another size.
func present(ctx context.Context, s Store, m Manifest) error {
	stored, err := s.List(ctx)
	if err != nil {
		return err
	}
	sizes := map[string]int64{}
	for _, f := range stored {
		sizes[f.Name] = f.Bytes
	}
	for f := range m.files {
		switch size, has := sizes[f.Name]; {
		case !has:
			return fmt.Errorf("%w: %s: %w", ErrDamaged, f.Name, errMissing)
		case size != f.Bytes:
			return fmt.Errorf("%w: %s: it has %d bytes, and had %d", ErrDamaged, f.Name, size, f.Bytes)
		}
	}
	return nil
}

// bounded reads until the context ends.
type bounded struct {
	ctx context.Context
	io.Reader
}

// Read implements io.Reader.
func (b bounded) Read(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	return b.Reader.Read(p)
}

// unpacked reads a compressed file through a function.
func unpacked(through func(io.Reader) error) func(io.Reader) error {
	const most = 64 << 20
	return func(from io.Reader) error {
		content, err := zstd.NewReader(from, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(most))
		if err != nil {
			return err
		}
		defer content.Close()
		return through(content)
	}
}

// Verify reads all files of a backup, and returns its state: the fold of its log. each takes the messages of the log, and may be nil. Errors
// are ErrDamaged with the name of the file, those of a fold, and those of each.
func Verify(ctx context.Context, s Store, m Manifest, each func(events.Message) error) (*projections.Cluster, error) {
	fold := projections.NewFold()
	for _, part := range m.Rounds {
		take := func(from io.Reader) error {
			for message, err := range archive.Read(bufio.NewReaderSize(from, 1<<20), m.Log, archive.File{Name: part.Name, First: part.First, Last: part.Last}) {
				if err == nil {
					_, err = fold.Take(message)
				}
				if err == nil && each != nil {
					err = each(message)
				}
				if err != nil {
					return err
				}
			}
			return nil
		}
		if err := check(ctx, s, part.File, take); err != nil {
			return nil, err
		}
	}
	if c := fold.Cluster; c.Sequence != m.Sequence || c.Hash() != m.Hash {
		return nil, fmt.Errorf("%w: %s: its log ends at sequence %d with the state %.12s, and it names %d with %.12s", ErrDamaged, m.Name(),
			c.Sequence, c.Hash(), m.Sequence, m.Hash)
	}
	nothing := func(config) error { return nil }
	if err := readConfigs(ctx, s, m, nothing); err != nil {
		return nil, err
	}
	if _, err := readState(ctx, s, m); err != nil && !errors.Is(err, projections.ErrSnapshotVersion) {
		return nil, err
	}
	for _, v := range m.Volumes {
		if err := readVolume(ctx, s, v, io.Discard); err != nil {
			return nil, err
		}
	}
	return fold.Cluster, nil
}

// readConfigs reads all configs.
func readConfigs(ctx context.Context, s Store, m Manifest, each func(config) error) error {
	const longest = 1 << 20 // a config has 256 KiB, and base64 makes that a third longer
	return check(ctx, s, m.Configs, unpacked(func(from io.Reader) error {
		lines := bufio.NewScanner(from)
		lines.Buffer(nil, longest)
		for lines.Scan() {
			var c config
			if err := json.Unmarshal(lines.Bytes(), &c, json.RejectUnknownMembers(true)); err != nil {
				return err
			}
			if err := each(c); err != nil {
				return err
			}
		}
		return lines.Err()
	}))
}

// readState reads the snapshot of the fold. Errors are also those of a snapshot.
func readState(ctx context.Context, s Store, m Manifest) (cluster *projections.Cluster, err error) {
	err = check(ctx, s, m.State, unpacked(func(from io.Reader) error {
		cluster, err = projections.DecodeFold(from, m.Log, nil)
		return err
	}))
	if err == nil && (cluster.Sequence != m.Sequence || cluster.Hash() != m.Hash) {
		return nil, fmt.Errorf("%w: %s: it is the state at sequence %d, and the backup ends at %d", ErrDamaged, m.State.Name, cluster.Sequence, m.Sequence)
	}
	return cluster, err
}

// readVolume copies the content of a volume.
func readVolume(ctx context.Context, s Store, v Volume, to io.Writer) error {
	return check(ctx, s, v.File, unpacked(func(from io.Reader) error {
		sum := sha256.New()
		if _, err := io.Copy(io.MultiWriter(to, sum), from); err != nil {
			return err
		}
		if hex.EncodeToString(sum.Sum(nil)) != v.Digest {
			return fmt.Errorf("%w: its content is not that of %s", ErrDamaged, v.Digest)
		}
		return nil
	}))
}
