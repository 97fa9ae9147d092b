package bus

import (
	"errors"
	"time"
)

// leaveEvery is how often the client turns from one server to the next at most.
const leaveEvery = 5 * time.Second

// heard is translate for an error of a call that clients repeat. If a server says that there is no quorum, it may be cut off from others that
// have one. So the client turns to the next server. The client library does not do so, as its connection stands. If there is no stream, the
// error says which server was asked.
func (b *JetStream) heard(err error) error {
	err = b.placed(translate(err))
	if errors.Is(err, ErrNoQuorum) && len(b.conn.Servers()) > 1 {
		b.leave(time.Now())
	}
	return err
}

func (b *JetStream) leave(now time.Time) {
	last := b.left.Load()
	if last != nil && now.Sub(*last) < leaveEvery {
		return
	}
	if b.left.CompareAndSwap(last, &now) {
		_ = b.conn.ForceReconnect() // fails on a closed connection only
	}
}
