package bus

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/synadia-io/orbit.go/jetstreamext"
)

// The server's codes that decide what happens next.
const (
	codeWrongLastSequence        = 10071
	codeWrongLastSequenceUnnamed = 10164
	codeStreamNotFound           = 10059
	codeMessageTooLarge          = 10054
	codeBatchTooLarge            = 10199
	codeNoResources              = 10023
	codeStorageExceeded          = 10047
	codeMemoryExceeded           = 10028
	codeStoreFailed              = 10077
	codeNotAvailable             = 10008 // no server leads JetStream
)

// translate puts the package's sentinel before an error of the server or the client, where there is one for it.
func translate(err error) error {
	var api *jetstream.APIError
	if errors.As(err, &api) {
		return translateCode(int(api.ErrorCode), api.Description)
	}
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return fmt.Errorf("%w: %w", ErrNoStream, err)
	case errors.Is(err, nats.ErrMaxPayload):
		return fmt.Errorf("%w: %w", ErrTooLarge, err)
	case errors.Is(err, jetstream.ErrKeyNotFound), errors.Is(err, jetstream.ErrKeyDeleted),
		errors.Is(err, jetstream.ErrBucketNotFound), errors.Is(err, jetstream.ErrObjectNotFound),
		errors.Is(err, jetstream.ErrUpdateMetaDeleted), errors.Is(err, jetstream.ErrDigestMismatch):
		return fmt.Errorf("%w: %w", ErrNoKey, err)
	case errors.Is(err, jetstream.ErrKeyExists):
		return fmt.Errorf("%w: %w", ErrPosition, err)
	case errors.Is(err, nats.ErrNoResponders), errors.Is(err, jetstream.ErrNoStreamResponse):
		return fmt.Errorf("%w: %w", ErrNoAnswer, err)
	case errors.Is(err, nats.ErrTimeout), errors.Is(err, context.DeadlineExceeded),
		errors.Is(err, jetstreamext.ErrInvalidResponse):
		return fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	return err
}

func translateCode(code int, description string) error {
	sentinel := ErrUnknown
	switch code {
	case codeWrongLastSequence, codeWrongLastSequenceUnnamed:
		sentinel = ErrPosition
	case codeStreamNotFound:
		sentinel = ErrNoStream
	case codeMessageTooLarge, codeBatchTooLarge:
		sentinel = ErrTooLarge
	case codeNoResources, codeStorageExceeded, codeMemoryExceeded, codeStoreFailed:
		sentinel = ErrFull
	}
	if code == codeNotAvailable {
		sentinel = fmt.Errorf("%w: %w", sentinel, ErrNoQuorum)
	}
	return fmt.Errorf("%w: the server says: %s (%d)", sentinel, description, code)
}
