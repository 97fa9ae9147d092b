package rookerytest_test

import (
	"bytes"
	"errors"
	"net"
	"sync"
	"testing"
	"time"
)

// wire is a link that a test can break. It connects each client onward, and passes on the bytes of both directions while it is whole.
type wire struct {
	listener net.Listener
	onward   func() (net.Conn, error)
	passing  sync.WaitGroup

	mu    sync.Mutex
	pairs map[*pair]struct{}
	// mute makes new connections mute: the wire passes nothing on.
	mute  bool
	delay time.Duration
	// awaited is the text that the test waits for. The wire calls found once, as soon as it has passed that text on.
	awaited []byte
	found   func()
	closed  bool
}

// pair are the two ends of one connection.
type pair struct {
	near, far net.Conn
	mute      bool // nothing is passed on any more, and neither end is told
}

// newWire begins to listen. The wire ends with the test.
func newWire(t testing.TB, network, address, onNetwork, onAddress string) *wire {
	t.Helper()
	l, err := net.Listen(network, address) //nolint:noctx // it opens at once
	if err != nil {
		t.Fatal(err)
	}
	return newWireFrom(t, l, onNetwork, onAddress)
}

// newWireFrom is newWire for who listens already.
func newWireFrom(t testing.TB, l net.Listener, onNetwork, onAddress string) *wire {
	w := &wire{listener: l, pairs: map[*pair]struct{}{}, onward: func() (net.Conn, error) {
		return (&net.Dialer{Timeout: time.Second}).Dial(onNetwork, onAddress)
	}}
	w.passing.Go(w.accept)
	t.Cleanup(w.close)
	return w
}

func (w *wire) address() string { return w.listener.Addr().String() }

func (w *wire) close() {
	w.mu.Lock()
	w.closed = true
	for p := range w.pairs {
		p.close()
	}
	w.mu.Unlock()
	_ = w.listener.Close() // nothing was written
	w.passing.Wait()
}

func (p *pair) close() { _ = errors.Join(p.near.Close(), p.far.Close()) }

func (w *wire) accept() {
	for {
		near, err := w.listener.Accept()
		if err != nil {
			return
		}
		far, err := w.onward()
		if err != nil {
			_ = near.Close()
			continue
		}
		p := &pair{near: near, far: far}
		w.mu.Lock()
		p.mute = w.mute
		w.pairs[p] = struct{}{}
		if w.closed {
			p.close()
		}
		w.mu.Unlock()
		w.passing.Go(func() { w.pass(p, near, far, true) })
		w.passing.Go(func() { w.pass(p, far, near, false) })
	}
}

// pass passes on what one end says until an end is closed, and closes the other.
func (w *wire) pass(p *pair, from, to net.Conn, asked bool) {
	defer func() {
		w.mu.Lock()
		delete(w.pairs, p)
		w.mu.Unlock()
		p.close()
	}()
	const chunk = 64 << 10
	buffer := make([]byte, chunk)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		w.mu.Lock()
		mute, delay := p.mute, w.delay
		var found func()
		if asked && w.found != nil && bytes.Contains(buffer[:n], w.awaited) {
			found, w.found = w.found, nil
		}
		w.mu.Unlock()
		if mute {
			continue
		}
		<-time.After(delay)
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
		if found != nil {
			found()
		}
	}
}

// reset breaks every connection so that both ends are told at once. New ones are whole.
func (w *wire) reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for p := range w.pairs {
		for _, end := range []net.Conn{p.near, p.far} {
			if tcp, ok := end.(*net.TCPConn); ok {
				_ = tcp.SetLinger(0)
			}
		}
		p.close()
	}
}

// halfOpen makes every connection and every new one mute, without closing them. The function that it returns makes later connections whole.
// Connections that are mute by then stay mute for ever.
func (w *wire) halfOpen() (mend func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mute = true
	for p := range w.pairs {
		p.mute = true
	}
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.mute = false
	}
}

// slow delays everything that is passed on by so long.
func (w *wire) slow(delay time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.delay = delay
}

// once calls found as soon as the wire has passed on this text from an end that connected to it.
func (w *wire) once(said string, found func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.awaited, w.found = []byte(said), found
}
