package bus

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
)

// denials ends calls to subjects to which the server does not let this connection publish. The server says so apart from the call, which itself
// would end without an answer.
type denials struct {
	mu    sync.Mutex
	calls map[*call]struct{}
}

// call is one that waits for an answer.
type call struct {
	subject string
	end     context.CancelCauseFunc
}

// watchDenials takes over what the server says of a connection. The handler before gets the errors that are about no call.
func watchDenials(conn *nats.Conn) *denials {
	d := &denials{calls: map[*call]struct{}{}}
	before := conn.ErrorHandler()
	conn.SetErrorHandler(func(c *nats.Conn, sub *nats.Subscription, err error) {
		if !d.denied(err) && before != nil {
			before(c, sub, err)
		}
	})
	return d
}

// denied ends the calls that the error is about, and reports whether there were any.
func (d *denials) denied(err error) (known bool) {
	if !errors.Is(err, nats.ErrPermissionViolation) {
		return false
	}
	said := strings.ToLower(err.Error())
	d.mu.Lock()
	defer d.mu.Unlock()
	for c := range d.calls {
		if strings.Contains(said, `publish to "`+strings.ToLower(c.subject)+`"`) {
			c.end(ErrForbidden)
			known = true
		}
	}
	return known
}

// until returns a context for a call to the subject. It ends with ErrForbidden as its cause if the server does not allow the call. The caller must
// call done at the end of the call.
func (d *denials) until(ctx context.Context, subject string) (_ context.Context, done func()) {
	ctx, end := context.WithCancelCause(ctx)
	c := &call{subject, end}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls[c] = struct{}{}
	return ctx, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.calls, c)
		end(nil)
	}
}

// forbidden reports whether the server did not allow the call with this context.
func forbidden(ctx context.Context) bool { return errors.Is(context.Cause(ctx), ErrForbidden) }
