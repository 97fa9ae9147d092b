package bus_test

import (
	"context"
	"net/url"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/events/bus/embedded"
)

// watching is a watch of two buckets.
type watching struct {
	*testing.T
	*bus.JetStream
	told chan bus.Sight
	// lists has what is done after the next list, before the watch gets it.
	lists chan func()
}

// watch begins a watch that ends with the test.
func watch(t *testing.T, server *embedded.Server) watching {
	t.Helper()
	conn, err := nats.Connect(server.URL(), nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	b, err := bus.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	w := watching{t, b, make(chan bus.Sight, 100), make(chan func(), 1)}
	w.put(bus.BucketNodes, "a", "1")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		b.Watch(ctx, []string{bus.BucketNodes, bus.BucketServices}, w.list, func(s bus.Sight) { w.told <- s })
	}()
	t.Cleanup(func() { cancel(); <-ended })
	w.next("what there is", has(true, bus.BucketNodes, "a", "1"))
	return w
}

// list returns what a bucket has.
func (w watching) list(ctx context.Context, name string) ([]bus.Change, error) {
	k, err := w.Bucket(ctx, name)
	if err != nil {
		return nil, err
	}
	entries, err := k.All(ctx)
	var all []bus.Change
	for _, e := range entries {
		all = append(all, bus.Change{Bucket: name, Key: e.Key, Value: e.Value})
	}
	if name == bus.BucketServices { // the last of them
		select {
		case meanwhile := <-w.lists:
			meanwhile()
		default:
		}
	}
	return all, err
}

func (w watching) put(name, key, value string) {
	w.Helper()
	k, err := w.Bucket(within(w.T), name)
	if err == nil {
		err = k.Set(within(w.T), key, []byte(value))
	}
	if err != nil {
		w.Fatal(err)
	}
}

// next waits until something is told that is so.
func (w watching) next(what string, is func(bus.Sight) bool) {
	w.Helper()
	late := time.After(patience)
	for {
		select {
		case s := <-w.told:
			if is(s) {
				return
			}
		case <-late:
			w.Fatalf("%s is not told", what)
		}
	}
}

// has tells a sight of one change alone; without a value the key is gone.
func has(whole bool, bucket, key, value string) func(bus.Sight) bool {
	return func(s bus.Sight) bool {
		return s.Lost == nil && s.Whole == whole && len(s.Changes) == 1 && s.Changes[0].Bucket == bucket && s.Changes[0].Key == key &&
			string(s.Changes[0].Value) == value && (s.Changes[0].Value == nil) == (value == "")
	}
}

// TestAWatchTellsOfChanges puts and deletes keys.
func TestAWatchTellsOfChanges(t *testing.T) {
	server, err := embedded.Start(t.TempDir(), "127.0.0.1", embedded.AnyPort)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	w := watch(t, server)
	w.put(bus.BucketServices, "b", "2")
	w.next("what comes", has(false, bus.BucketServices, "b", "2"))
	js, err := jetstream.New(w.Conn())
	if err != nil {
		t.Fatal(err)
	}
	kv, err := js.KeyValue(within(t), bus.BucketServices)
	if err == nil {
		err = kv.Delete(within(t), "b")
	}
	if err != nil {
		t.Fatal(err)
	}
	w.next("what goes", has(false, bus.BucketServices, "b", ""))
}

// TestAWatchListsAgain has a watch list what it did not hear, and tell a change that comes while it lists after the list, which has it not.
func TestAWatchListsAgain(t *testing.T) {
	t.Parallel()
	server, err := embedded.Start(t.TempDir(), "127.0.0.1", embedded.AnyPort)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	w := watch(t, server)
	js, err := jetstream.New(w.Conn())
	if err != nil {
		t.Fatal(err)
	}
	if err := js.DeleteKeyValue(within(t), bus.BucketNodes); err != nil { // the server does not publish that
		t.Fatal(err)
	}
	w.lists <- func() { w.put(bus.BucketServices, "b", "2") }
	w.next("that the key is gone", func(s bus.Sight) bool { return s.Lost == nil && s.Whole && len(s.Changes) == 0 })
	w.next("what came while it listed", has(false, bus.BucketServices, "b", "2"))
}

// TestAWatchOutlivesTheServer ends the server and starts it again.
func TestAWatchOutlivesTheServer(t *testing.T) {
	dir := t.TempDir()
	server, err := embedded.Start(dir, "127.0.0.1", embedded.AnyPort)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Stop() })
	w := watch(t, server)
	at, err := url.Parse(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(at.Port())
	if err != nil {
		t.Fatal(err)
	}
	server.Stop()
	w.next("that the bus is lost", func(s bus.Sight) bool { return s.Lost != nil })
	if server, err = embedded.Start(dir, "127.0.0.1", port); err != nil {
		t.Fatal(err)
	}
	w.next("that it is back, with what was in its memory gone", func(s bus.Sight) bool { return s.Lost == nil && s.Whole && len(s.Changes) == 0 })
}
