package archive

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/klauspost/compress/zstd"

	"github.com/rookery-project/rookery/coordinator/capsule"
	"github.com/rookery-project/rookery/events"
)

const (
	format  = "rookery-archive"
	version = 1
)

// head is the first line of a file.
type head struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	// Log is the identity of the log.
	Log string `json:"log"`
}

// line is any other line: a message, or the end.
type line struct {
	Message *capsule.Message `json:"message,omitempty"`
	End     *end             `json:"end,omitempty"`
}

// end is the last line of a file.
type end struct {
	First uint64 `json:"first"`
	Last  uint64 `json:"last"`
	// Sum is the SHA-256 of all lines before.
	Sum string `json:"sha256"`
}

// Writer writes a file.
type Writer struct {
	compressed *zstd.Encoder
	sum        hash.Hash
	end        end
}

// NewWriter begins a file of this log.
func NewWriter(to io.Writer, logID string) (*Writer, error) {
	compressed, err := zstd.NewWriter(to, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	w := &Writer{compressed: compressed, sum: sha256.New()}
	return w, w.put(head{format, version, logID})
}

// Add adds the next message.
func (w *Writer) Add(m events.Message) error {
	if w.end.First == 0 {
		w.end.First = m.Sequence
	}
	w.end.Last = m.Sequence
	kept := capsule.Keep(m)
	return w.put(line{Message: &kept})
}

// Close writes the last line.
func (w *Writer) Close() error {
	w.end.Sum = hex.EncodeToString(w.sum.Sum(nil))
	if err := w.put(line{End: &w.end}); err != nil {
		return err
	}
	return w.compressed.Close()
}

func (w *Writer) put(v any) error {
	body, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return fmt.Errorf("write an archive: %w", err)
	}
	body = append(body, '\n')
	w.sum.Write(body)
	_, err = w.compressed.Write(body)
	return err
}
