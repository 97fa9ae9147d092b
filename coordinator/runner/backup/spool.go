package backup

import (
	"crypto/sha256"
	"errors"
	"hash"
	"io"
	"os"

	"github.com/klauspost/compress/zstd"
)

func compressed(to io.Writer, write func(io.Writer) error) error {
	packed, err := zstd.NewWriter(to, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return err
	}
	return errors.Join(write(packed), packed.Close())
}

// spool is a file that is written before its name is known.
type spool struct {
	*os.File
	sum   hash.Hash
	bytes int64
}

// newSpool makes a file without a name, which goes with the process.
func newSpool() (*spool, error) {
	f, err := os.CreateTemp("", "rookery-backup-")
	if err != nil {
		return nil, err
	}
	return &spool{File: f, sum: sha256.New()}, os.Remove(f.Name())
}

// Write implements io.Writer.
func (s *spool) Write(p []byte) (int, error) {
	n, err := s.File.Write(p)
	s.sum.Write(p[:n])
	s.bytes += int64(n)
	return n, err
}

func (s *spool) rewind() error {
	_, err := s.Seek(0, io.SeekStart)
	return err
}
