package bus_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

// wire passes connections on to an address, once it has one and unless it is cut.
type wire struct {
	listener net.Listener
	passing  sync.WaitGroup
	// known is closed once the wire leads anywhere.
	known     chan struct{}
	knownOnce sync.Once

	mu    sync.Mutex
	to    string
	cut   bool
	conns map[net.Conn]bool
}

func newWire(t *testing.T) *wire {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{listener: listener, known: make(chan struct{}), conns: map[net.Conn]bool{}}
	ctx := t.Context()
	w.passing.Go(func() { w.accept(ctx) })
	t.Cleanup(func() {
		_ = listener.Close()
		w.set("", true)
		w.passing.Wait()
	})
	return w
}

func (w *wire) accept(ctx context.Context) {
	for {
		in, err := w.listener.Accept()
		if err != nil {
			return
		}
		<-w.known
		w.mu.Lock()
		to := w.to
		w.mu.Unlock()
		out, err := new(net.Dialer).DialContext(ctx, "tcp", to)
		if err != nil || !w.keep(in, out) {
			_ = in.Close()
			continue
		}
		for from, to := range map[net.Conn]net.Conn{in: out, out: in} {
			w.passing.Go(func() {
				_, _ = io.Copy(to, from) // the wire was cut
				_ = errors.Join(to.Close(), from.Close())
			})
		}
	}
}

// keep remembers both ends, unless the wire is cut.
func (w *wire) keep(in, out net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cut {
		_ = out.Close()
		return false
	}
	w.conns[in], w.conns[out] = true, true
	return true
}

// set says where the wire leads, and whether it is cut.
func (w *wire) set(to string, cut bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.to, w.cut = to, cut
	w.knownOnce.Do(func() { close(w.known) })
	for c := range w.conns {
		_ = c.Close()
	}
	clear(w.conns)
}

// trio is three NATS servers in a circle: the route of each to the next is a wire.
type trio struct {
	servers []*server.Server
	wires   []*wire
}

func newTrio(t *testing.T) *trio {
	t.Helper()
	const size = 3
	const nowhere = "127.0.0.1:1" // what the others are told; they know each other by the wires alone
	c := &trio{}
	for i := range size {
		w := newWire(t)
		c.wires = append(c.wires, w)
		route := &url.URL{Scheme: "nats-route", Host: w.listener.Addr().String()}
		s, err := server.NewServer(&server.Options{
			ServerName: fmt.Sprintf("s%d", i), Host: "127.0.0.1", Port: server.RANDOM_PORT, StoreDir: t.TempDir(),
			JetStream: true, SyncAlways: true, NoSigs: true, NoLog: true, Routes: []*url.URL{route},
			Cluster: server.ClusterOpts{Name: "trio", Host: "127.0.0.1", Port: server.RANDOM_PORT, PoolSize: -1, Advertise: nowhere},
		})
		if err != nil {
			t.Fatal(err)
		}
		s.Start()
		t.Cleanup(func() {
			s.Shutdown()
			s.WaitForShutdown()
		})
		c.servers = append(c.servers, s)
	}
	c.join(t)
	for i, s := range c.servers {
		if !s.ReadyForConnections(patience) {
			t.Fatalf("server %d is not ready", i)
		}
	}
	return c
}

// join lets every server reach the others.
func (c *trio) join(t *testing.T) {
	t.Helper()
	for i, w := range c.wires {
		next := c.servers[(i+1)%len(c.servers)]
		eventually(t, "the server listens for routes", func() bool { return next.ClusterAddr() != nil })
		w.set(next.ClusterAddr().String(), false)
	}
}

// cutOff cuts the server off from the others.
func (c *trio) cutOff(i int) {
	c.wires[i].set("", true)
	c.wires[(i+len(c.wires)-1)%len(c.wires)].set("", true)
}

// answers reports whether the server itself answers requests with this subject.
func (c *trio) answers(t *testing.T, i int, subject string) bool {
	t.Helper()
	known, err := c.servers[i].Subsz(&server.SubszOptions{Subscriptions: true, Test: subject})
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(known.Subs, func(s server.SubDetail) bool { return s.Subject == subject })
}

// open returns the bus by one of the servers alone.
func (c *trio) open(t *testing.T, i int) *bus.JetStream {
	t.Helper()
	conn, err := nats.Connect("", nats.InProcessServer(c.servers[i]), nats.MaxReconnects(-1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	b, err := bus.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// eventually waits until what is true.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); !is(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("not within %s: %s", patience, what)
		}
	}
}

// founded returns three servers that keep every stream, and the bus by each.
func founded(t *testing.T) (c *trio, buses []*bus.JetStream) {
	t.Helper()
	c = newTrio(t)
	for i := range c.servers {
		buses = append(buses, c.open(t, i))
	}
	eventually(t, "the streams are made", func() bool {
		const try = 2 * time.Second // a question that finds no leader gets no answer
		ctx, cancel := context.WithTimeout(t.Context(), try)
		defer cancel()
		return buses[0].Init(ctx, len(c.servers)) == nil
	})
	return c, buses
}

// TestTheLatestOrdersAreThoseOfTheStreamsLeader cuts off a server that keeps the orders and still answers reads.
func TestTheLatestOrdersAreThoseOfTheStreamsLeader(t *testing.T) {
	c, buses := founded(t)
	near, far := buses[0], buses[2]
	leads(t, near, string(bus.Orders))
	filter := events.NodeOrders(events.OrdersRoot, "n1")
	put := func(body string) (sequence uint64) {
		eventually(t, "an order is stored", func() bool {
			var err error
			sequence, err = near.Publish(within(t), events.Message{Subject: "rookery.orders.n1.demo.web.0.1", Header: events.Header{}, Body: []byte(body)})
			return err == nil
		})
		return sequence
	}
	first := put("first")
	eventually(t, "the last server has the first order", func() bool {
		read, err := far.Matching(within(t), bus.Orders, filter, 1)
		return err == nil && len(read) == 1 && read[0].Sequence == first
	})
	leases, err := far.Bucket(within(t), bus.BucketLease)
	if err != nil {
		t.Fatal(err)
	}
	leads(t, near, "KV_"+bus.BucketLease)
	eventually(t, "the last server answers although it is cut off", func() bool {
		if !c.answers(t, 2, "$JS.API.DIRECT.GET."+string(bus.Orders)) {
			return false
		}
		c.cutOff(2)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		read, err := far.Matching(ctx, bus.Orders, filter, 1)
		if err != nil || len(read) != 1 {
			c.join(t)
		}
		return err == nil && len(read) == 1
	})
	second := put("second")
	short, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := leases.Get(short, "leader"); err == nil || errors.Is(err, bus.ErrNoKey) {
		t.Errorf("the server that is cut off tells of the lease: %v", err)
	}
	if read, err := latestWithin(t, far, filter, time.Second); err == nil {
		t.Errorf("by the server that is cut off the latest order is %d of %d", read[0].Sequence, second)
	}
	c.join(t)
	eventually(t, "the second order is read by the last server", func() bool {
		read, err := latestWithin(t, far, filter, time.Second)
		if err == nil && read[0].Sequence != second {
			t.Errorf("the latest order is %d of %d", read[0].Sequence, second)
		}
		return err == nil
	})
}

// leads makes another server than the last lead the stream.
func leads(t *testing.T, b *bus.JetStream, stream string) {
	t.Helper()
	eventually(t, "another server than the last leads "+stream, func() bool {
		found, err := api(t, b).Stream(within(t), stream)
		if err != nil || found.CachedInfo().Cluster == nil {
			return false
		}
		leader := found.CachedInfo().Cluster.Leader
		if leader == "s2" {
			_, _ = b.Conn().Request("$JS.API.STREAM.LEADER.STEPDOWN."+stream, nil, time.Second) // another try follows
		}
		return leader == "s0" || leader == "s1"
	})
}

func latestWithin(t *testing.T, b *bus.JetStream, filter string, d time.Duration) ([]events.Message, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	return b.Latest(ctx, bus.Orders, filter)
}

// TestCopiesNameTheServerThatDoesNotAnswer stops one of three servers.
func TestCopiesNameTheServerThatDoesNotAnswer(t *testing.T) {
	c, buses := founded(t)
	kept := func() []bus.Copies {
		const try = 6 * time.Second // NATS waits four for the leaders that do not answer
		ctx, cancel := context.WithTimeout(t.Context(), try)
		defer cancel()
		all, err := buses[0].Copies(ctx)
		if err != nil {
			return nil
		}
		return all
	}
	healthy := func(c bus.Copies) bool { return c.Err() == nil && c.Lag == 0 && c.Replicas == 3 }
	eventually(t, "three servers keep every stream and bucket", func() bool {
		all := kept()
		return len(all) == len(bus.Streams)+2 && !slices.ContainsFunc(all, func(c bus.Copies) bool { return !healthy(c) })
	})
	c.servers[2].Shutdown()
	eventually(t, "the server that was stopped is named for each", func() bool {
		all := kept()
		return len(all) == len(bus.Streams)+2 && !slices.ContainsFunc(all, func(c bus.Copies) bool {
			return !slices.Equal(c.Offline, []string{"s2"}) || c.Err() == nil || c.Leader == ""
		})
	})
}
