package bus

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"strconv"

	"github.com/klauspost/compress/zstd"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
)

// The metadata of an object whose parts are compressed. The server does not compress stores itself: blocks that it had compressed could not
// be read any more after all servers were killed several times.
const (
	metadataCoding = "rookery.coding"
	metadataSize   = "rookery.size"
	codingZstd     = "zstd"
)

// putParts compresses the content and stores it part by part, each once the one before is stored: the library sends thousands at once, and
// all else on the connection waits behind them. The returned info names the stored parts, also with an error.
func (o objects) putParts(ctx context.Context, content io.Reader) (jetstream.ObjectInfo, error) {
	w := &parts{objects: o, ctx: ctx, sum: sha256.New(), info: jetstream.ObjectInfo{Bucket: o.name, NUID: nuid.Next()}}
	packer, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		return w.info, err
	}
	size, err := io.Copy(packer, within{ctx, content})
	if err == nil {
		err = packer.Close()
	}
	if err == nil {
		err = w.flush()
	}
	w.info.Digest = jetstream.GetObjectDigestValue(w.sum)
	w.info.Metadata = map[string]string{metadataCoding: codingZstd, metadataSize: strconv.FormatInt(size, 10)}
	return w.info, err
}

// within is a reader that fails once ctx has ended.
type within struct {
	ctx     context.Context
	content io.Reader
}

// Read implements io.Reader.
func (w within) Read(p []byte) (int, error) {
	n, err := w.content.Read(p)
	if ended := w.ctx.Err(); ended != nil {
		return n, ended
	}
	return n, err
}

// parts stores what is written as the parts of an object.
type parts struct {
	objects
	ctx  context.Context
	info jetstream.ObjectInfo
	sum  hash.Hash
	part []byte
}

// Write implements io.Writer.
func (w *parts) Write(p []byte) (int, error) {
	all := len(p)
	for len(p) > 0 {
		n := min(partBytes-len(w.part), len(p))
		w.part, p = append(w.part, p[:n]...), p[n:]
		if len(w.part) < partBytes {
			break
		}
		if err := w.flush(); err != nil {
			return 0, err
		}
	}
	return all, nil
}

// flush stores the part that has come together.
func (w *parts) flush() error {
	if len(w.part) == 0 {
		return nil
	}
	w.sum.Write(w.part)
	w.info.Chunks, w.info.Size = w.info.Chunks+1, w.info.Size+uint64(len(w.part))
	err := w.store(w.ctx, &nats.Msg{Subject: w.partsOf(w.info.NUID), Data: w.part})
	w.part = w.part[:0]
	return err
}

// contentSize returns the size of the object's content in bytes.
func contentSize(info *jetstream.ObjectInfo) int64 {
	if size, err := strconv.ParseInt(info.Metadata[metadataSize], 10, 64); err == nil {
		return size
	}
	return int64(info.Size) //nolint:gosec // no object has 8 EiB
}

// stored is what the store has of an object. It reads to its end only if it is what was put. failed is the error that ended the reading.
type stored struct {
	jetstream.ObjectResult
	failed error
}

// Read implements io.Reader.
func (s *stored) Read(p []byte) (int, error) {
	n, err := s.ObjectResult.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.failed = translate(err)
		return n, s.failed
	}
	return n, err
}

// unpack returns the content of an object. An object that an operator put there may be without compression.
func unpack(object jetstream.ObjectResult) (io.ReadCloser, error) {
	s := &stored{ObjectResult: object}
	info, err := object.Info()
	if err != nil {
		return nil, errors.Join(translate(err), object.Close())
	}
	if info.Metadata[metadataCoding] != codingZstd {
		return s, nil
	}
	unpacker, err := zstd.NewReader(s, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, errors.Join(err, object.Close())
	}
	return &unpacked{unpacker, s}, nil
}

// unpacked is the content of a compressed object.
type unpacked struct {
	unpacker *zstd.Decoder
	stored   *stored
}

// Read implements io.Reader.
func (u *unpacked) Read(p []byte) (int, error) {
	n, err := u.unpacker.Read(p)
	if err != nil && !errors.Is(err, io.EOF) && u.stored.failed == nil {
		return n, fmt.Errorf("%w: it is not what was put: %w", ErrNoKey, err)
	}
	return n, err
}

// Close implements io.Closer.
func (u *unpacked) Close() error {
	u.unpacker.Close()
	return u.stored.Close()
}
