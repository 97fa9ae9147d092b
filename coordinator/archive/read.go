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

// ErrDamaged occurs when a file is not what was written, or not of the log.
var ErrDamaged = errors.New("the archive is damaged")

const (
	// maxLine bounds a line in bytes: a message has a mebibyte, and what is escaped in it takes six times as much at most.
	maxLine = 8 << 20
	// maxWindow bounds the memory of a reader in bytes.
	maxWindow = 64 << 20
)

// Read yields the messages of a file of this log, and an error where it does not hold what its name and its end say.
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

// read returns nil too where no more is wanted.
func read(from io.Reader, logID string, f File, yield func(events.Message, error) bool) error {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, maxLine)
	sum, next := sha256.New(), f.First
	for began := false; lines.Scan(); began = true {
		if !began {
			var h head
			if err := json.Unmarshal(lines.Bytes(), &h); err != nil || h != (head{format, version, logID}) {
				return fmt.Errorf("it does not begin as version %d of an archive of the log %s", version, logID)
			}
		} else {
			var l line
			if err := json.Unmarshal(lines.Bytes(), &l, json.RejectUnknownMembers(true)); err != nil {
				return err
			}
			switch {
			case l.Message == nil:
				if want := (end{f.First, next - 1, hex.EncodeToString(sum.Sum(nil))}); l.End == nil || *l.End != want || f.Last != want.Last {
					return errors.New("its end does not fit what it holds")
				}
				return nil
			case l.Message.Sequence != next:
				return fmt.Errorf("behind sequence %d is %d", next-1, l.Message.Sequence)
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
