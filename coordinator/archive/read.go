package archive

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/go-json-experiment/json"
	"github.com/klauspost/compress/zstd"

	"github.com/rookery-project/rookery/events"
)

// ErrDamaged occurs when a file is not as it was written, or not of this log.
var ErrDamaged = errors.New("the archive is damaged")

const (
	// maxLine is the most bytes of a line: a message has up to a mebibyte, and escapes make that at most six times longer.
	maxLine = 8 << 20
	// maxWindow is the most memory of a reader in bytes.
	maxWindow = 64 << 20
)

// Read yields the messages of a file of this log, and an error if its content does not match its name and its last line.
func Read(from io.Reader, logID string, f File) iter.Seq2[events.Message, error] {
	return func(yield func(events.Message, error) bool) {
		decompressed, err := zstd.NewReader(from, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxWindow))
		if err != nil {
			yield(events.Message{}, err)
			return
		}
		defer decompressed.Close()
		if err := read(decompressed, logID, f, yield); err != nil {
			yield(events.Message{}, fmt.Errorf("%w: %s: %w", ErrDamaged, f.Name, err))
		}
	}
}

var errShort = errors.New("it ends too early")

// read also returns nil when yield stops it early.
func read(from io.Reader, logID string, f File, yield func(events.Message, error) bool) error {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, maxLine)
	sum, next := sha256.New(), f.First
	for began := false; lines.Scan(); began = true {
		if !began {
			var h head
			if err := json.Unmarshal(lines.Bytes(), &h); err != nil || h != (head{format, version, logID}) {
				return fmt.Errorf("its first line is not that of version %d of an archive of the log %s", version, logID)
			}
		} else {
			var l line
			if err := json.Unmarshal(lines.Bytes(), &l, json.RejectUnknownMembers(true)); err != nil {
				return err
			}
			switch {
			case l.Message == nil:
				if want := (end{f.First, next - 1, hex.EncodeToString(sum.Sum(nil))}); l.End == nil || *l.End != want || f.Last != want.Last {
					return errors.New("its last line does not match its content")
				}
				return nil
			case l.Message.Sequence != next:
				return fmt.Errorf("sequence %d is followed by %d", next-1, l.Message.Sequence)
			}
			next++
			if !yield(l.Message.Message(), nil) {
				return nil
			}
		}
		sum.Write(lines.Bytes())
		sum.Write([]byte{'\n'})
	}
	return errors.Join(lines.Err(), errShort)
}
