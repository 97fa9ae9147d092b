package supply

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

// ErrDigest occurs when the content of a volume has another digest than its name.
var ErrDigest = errors.New("the content has another digest")

// For returns the supply of a node by its connection: by questions to the leader where accounts are on, because the node may not read streams there.
// The user of the connection must have the node's name then.
func For(b *bus.JetStream, node string) (Supply, error) {
	switch user := b.User(); user {
	case "":
		return Direct(b, node), nil
	case node:
		return Ask(b, node), nil
	default:
		return nil, fmt.Errorf("these credentials are for node %s, and not for %s", user, node)
	}
}

// Supply is what a node reads from streams and stores in them. Calls that name an instance are refused with bus.ErrForbidden where the node's orders
// do not ask for what the call does, and not by Direct. Errors are those of package bus as well.
type Supply interface {
	// Orders returns the last order of each of the node's instances, in order of sequence.
	Orders(ctx context.Context) ([]events.Message, error)
	// Config returns the config of this name in the instance's namespace, or bus.ErrNoKey.
	Config(ctx context.Context, id events.InstanceID, name string) ([]byte, error)
	// KeepOutput stores the last lines of an attempt's container under events.OutputKey. Of too many it returns bus.ErrTooLarge.
	KeepOutput(ctx context.Context, id events.InstanceID, attempt uint32, lines []byte) error
	// HasVolume reports whether there is a content with this digest, a SHA-256 in hex. Then it stays for two hours at least.
	HasVolume(ctx context.Context, id events.InstanceID, digest string) (bool, error)
	// StoreVolume stores the content under its digest. Where it has another, nothing is stored, and the error is ErrDigest.
	StoreVolume(ctx context.Context, id events.InstanceID, digest string, content io.Reader) error
	// Volume reads the content with the digest. It, or reading, returns bus.ErrNoKey where there is none. The caller closes it, and checks the
	// digest.
	Volume(ctx context.Context, id events.InstanceID, digest string) (io.ReadCloser, error)
}
