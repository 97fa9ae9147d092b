package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// fleet is the orchestrator's side, as far as instances see it: it writes their topology files, calls their hooks, starts
// and stops them. Its methods fail the test, and are for the test's goroutine; present is for any.
type fleet struct {
	*testing.T
	dir     string
	inForce shape
	last    uint64 // config version
	change  *change
	members map[uint32]*member
	client  http.Client

	mu        sync.Mutex
	addresses []string // of those that are there and of those that were
}

// member is an instance that runs.
type member struct {
	*instance
	address string
	stop    func()
}

// startFleet starts a service of this scale.
func startFleet(t *testing.T, scale uint32) *fleet {
	t.Helper()
	f := &fleet{
		T: t, dir: t.TempDir(), inForce: shape{ConfigVersion: 1, Scale: scale}, last: 1, members: map[uint32]*member{},
		client: http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{}},
	}
	t.Cleanup(func() {
		f.client.CloseIdleConnections()
		for _, m := range f.members {
			m.stop()
		}
	})
	f.grow(scale)
	return f
}

// grow starts what is missing up to the scale.
func (f *fleet) grow(scale uint32) {
	f.Helper()
	for ordinal := range scale {
		if f.members[ordinal] == nil {
			f.start(ordinal)
		}
	}
}

// start starts the instance of a slot, as the program does but for the address.
func (f *fleet) start(ordinal uint32) {
	f.Helper()
	listener, err := new(net.ListenConfig).Listen(f.Context(), "tcp", "127.0.0.1:0")
	must(f.T, err)
	m := &member{address: listener.Addr().String()}
	f.members[ordinal] = m
	f.publish()
	m.instance, err = newInstance(f.path(ordinal), slog.New(slog.DiscardHandler))
	must(f.T, err)
	m.patience = 0                                          // a peer that does not answer here has been stopped
	ctx, cancel := context.WithCancel(context.Background()) // the test's own context ends before its clean-up
	done := make(chan error, 1)
	go func() { done <- m.serve(ctx, listener, 5*time.Millisecond) }()
	m.stop = func() {
		cancel()
		if err := <-done; err != nil {
			f.Errorf("slot %d ended: %v", ordinal, err)
		}
	}
	f.mu.Lock()
	f.addresses = append(f.addresses, m.address)
	f.mu.Unlock()
}

// stop stops the instance of a slot. Clients keep its address.
func (f *fleet) stop(ordinal uint32) {
	f.members[ordinal].stop()
	delete(f.members, ordinal)
}

// present returns where instances are or were.
func (f *fleet) present() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.addresses)
}

func (f *fleet) path(ordinal uint32) string {
	return filepath.Join(f.dir, fmt.Sprint(ordinal, ".json"))
}

// publish writes the topology file of each instance.
func (f *fleet) publish() {
	f.Helper()
	var peers []peer
	for ordinal, m := range f.members {
		peers = append(peers, peerAt(f.T, ordinal, m.address))
	}
	for ordinal := range f.members {
		text, err := json.Marshal(topology{shape: f.inForce, Ordinal: ordinal, Peers: peers, Change: f.change})
		must(f.T, err)
		must(f.T, os.WriteFile(f.path(ordinal)+".new", text, 0o600))
		must(f.T, os.Rename(f.path(ordinal)+".new", f.path(ordinal)))
	}
}

// peerAt returns the peer that answers at the address.
func peerAt(t *testing.T, ordinal uint32, address string) peer {
	t.Helper()
	host, text, err := net.SplitHostPort(address)
	must(t, err)
	port, err := strconv.ParseUint(text, 10, 16)
	must(t, err)
	return peer{Ordinal: ordinal, Host: host, Ports: map[string]uint16{portName: uint16(port)}}
}

// enter writes the phase into the files.
func (f *fleet) enter(phase string) {
	f.Helper()
	f.change.Phase = phase
	f.publish()
}

// begin begins a change to the scale: it starts the new instances, and makes every instance release. The change then allows the acquire.
func (f *fleet) begin(scale uint32) {
	f.Helper()
	f.grow(scale)
	f.last++
	f.change = &change{shape: shape{ConfigVersion: f.last, Scale: scale}}
	f.enter(phaseRelease)
	f.call(phaseRelease, f.ordinals()...)
	f.enter(phaseAcquire)
}

// finish makes every instance acquire, puts the change into force and stops the removed instances.
func (f *fleet) finish() {
	f.Helper()
	f.call(phaseAcquire, f.ordinals()...)
	f.inForce, f.change = f.change.shape, nil
	f.publish()
	for _, ordinal := range f.ordinals() {
		if ordinal >= f.inForce.Scale {
			f.stop(ordinal)
		}
	}
	f.publish()
}

func (f *fleet) ordinals() []uint32 {
	var all []uint32
	for ordinal := range f.members {
		all = append(all, ordinal)
	}
	return all
}

// call calls a hook of these slots at once, twice each, and waits for all.
func (f *fleet) call(phase string, ordinals ...uint32) {
	f.Helper()
	var called sync.WaitGroup
	for _, ordinal := range ordinals {
		m := f.members[ordinal]
		called.Go(func() {
			for range 2 {
				if got := f.ask(http.MethodPost, m.address, "/hooks/"+phase, ""); got.status != http.StatusNoContent {
					f.Errorf("%s at slot %d: %d %s", phase, ordinal, got.status, got.body)
				}
			}
		})
	}
	called.Wait()
}

// answer is what an instance answers.
type answer struct {
	status int
	header http.Header
	body   string
}

// ask sends one request. Without an answer it fails the test.
func (f *fleet) ask(method, address, path, body string) answer {
	request, err := http.NewRequestWithContext(f.Context(), method, "http://"+address+path, strings.NewReader(body))
	if err != nil {
		f.Error(err)
		return answer{}
	}
	got, err := f.client.Do(request)
	if err != nil {
		f.Error(err)
		return answer{}
	}
	defer func() { _ = got.Body.Close() }()
	text, err := io.ReadAll(got.Body)
	if err != nil {
		f.Error(err)
	}
	return answer{got.StatusCode, got.Header, string(bytes.TrimSpace(text))}
}

// key asks the slot for the key, or puts it where there is a body.
func (f *fleet) key(method string, ordinal uint32, key, body string) answer {
	return f.ask(method, f.members[ordinal].address, "/keys/"+url.PathEscape(key), body)
}
