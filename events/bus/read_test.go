package bus_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

// consumers asks the server for the names of the stream's consumers.
func consumers(t *testing.T, b *bus.JetStream, stream bus.Stream) []string {
	t.Helper()
	answer, err := b.Conn().RequestWithContext(within(t), "$JS.API.CONSUMER.NAMES."+string(stream), nil)
	if err != nil {
		t.Fatal(err)
	}
	var found struct{ Consumers []string }
	if err := json.Unmarshal(answer.Data, &found); err != nil {
		t.Fatal(err)
	}
	return found.Consumers
}

// TestSeveralSubjectsKeepTheirOrder sends on two subjects in turn: the subscription hands over what is sent first first.
func TestSeveralSubjectsKeepTheirOrder(t *testing.T) {
	const count = 2000
	b := connect(t)
	seen, err := b.SubscribeAll("one.>", "two.>")
	if err != nil {
		t.Fatal(err)
	}
	defer seen.Stop()
	for i := range count {
		if err := b.Send(events.Message{Subject: fmt.Sprintf("%s.%d", []string{"one", "two"}[i%2], i), Header: events.Header{}}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range count {
		if m := <-seen.Messages(); !strings.HasSuffix(m.Subject, fmt.Sprintf(".%d", i)) {
			t.Fatalf("message %d is %s", i, m.Subject)
		}
	}
}

// TestAReaderGoesOnWithAnotherConsumer takes the consumer from a reader: it is deleted, as a server that ends does, or it stands and delivers
// nothing, as one does whose server lags behind.
func TestAReaderGoesOnWithAnotherConsumer(t *testing.T) {
	for name, body := range map[string]string{
		"DELETE": "",
		"PAUSE":  fmt.Sprintf(`{"pause_until":%q}`, time.Now().Add(time.Hour).UTC().Format(time.RFC3339)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := open(t)
			r, err := b.Read(within(t), bus.Statuses, 1)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Stop()
			for i := range uint64(4) {
				if i == 2 {
					for _, consumer := range consumers(t, b, bus.Statuses) {
						subject := "$JS.API.CONSUMER." + name + "." + string(bus.Statuses) + "." + consumer
						answer, err := b.Conn().RequestWithContext(within(t), subject, []byte(body))
						if err != nil || strings.Contains(string(answer.Data), `"error"`) {
							t.Fatalf("%s: %v: %s", subject, err, answer.Data)
						}
					}
				}
				if _, err := b.Publish(within(t), events.Message{Subject: events.EngineSubject("n1"), Header: events.Header{}, Body: []byte("{}")}); err != nil {
					t.Fatal(err)
				}
				select {
				case m := <-r.Messages():
					if m.Sequence != i+1 {
						t.Errorf("message %d is read after %d", m.Sequence, i)
					}
				case <-within(t).Done():
					t.Fatalf("message %d is not read", i+1)
				}
			}
		})
	}
}

// plainServer runs a server without JetStream, which a responder makes say that it has no quorum, and returns its URL.
func plainServer(t *testing.T) string {
	t.Helper()
	url, _ := serve(t, `listen: "127.0.0.1:-1"`)
	conn, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	_, err = conn.Subscribe("$JS.API.STREAM.INFO.*", func(m *nats.Msg) {
		_ = m.Respond([]byte(`{"error":{"code":503,"err_code":10008,"description":"JetStream system temporarily unavailable"}}`)) // else the test fails
	})
	if err := errors.Join(err, conn.Flush()); err != nil {
		t.Fatal(err)
	}
	return url
}

// TestAClientTurnsFromAServerWithoutAQuorum connects to two servers, of which none has a quorum.
func TestAClientTurnsFromAServerWithoutAQuorum(t *testing.T) {
	first, second := plainServer(t), plainServer(t)
	turned := make(chan string, 1)
	conn, err := nats.Connect(first+","+second, nats.DontRandomize(), nats.MaxReconnects(-1), nats.ReconnectHandler(func(c *nats.Conn) {
		select {
		case turned <- c.ConnectedUrl():
		default:
		}
	}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	b, err := bus.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time comes too soon
		if _, err := b.State(within(t), bus.Log); !errors.Is(err, bus.ErrNoQuorum) {
			t.Fatalf("the server says %v", err)
		}
	}
	select {
	case url := <-turned:
		if url != second {
			t.Errorf("it turned from %s to %s", first, url)
		}
	case <-within(t).Done():
		t.Fatal("it stays with a server without a quorum")
	}
	if got := conn.Stats().Reconnects; got != 1 {
		t.Errorf("it turned %d times", got)
	}
}

// TestACopyIsReadWhole reads the log as the only server has it.
func TestACopyIsReadWhole(t *testing.T) {
	b := open(t)
	const count = 3
	for i := range uint64(count) {
		m := events.Message{Subject: events.LogRoot + ".round", Header: events.Header{}, Body: []byte("{}")}
		if _, err := b.Append(within(t), bus.Log, i, []events.Message{m}); err != nil {
			t.Fatal(err)
		}
	}
	servers, err := b.Keepers(within(t), bus.Log)
	if err != nil || len(servers) != 1 {
		t.Fatalf("the log is kept by %v: %v", servers, err)
	}
	var read []uint64
	err = b.ReadCopy(within(t), bus.Log, servers[0], func(m events.Message) error {
		read = append(read, m.Sequence)
		return nil
	})
	if err != nil || !slices.Equal(read, []uint64{1, 2, 3}) {
		t.Errorf("%v are read: %v", read, err)
	}
	stop := errors.New("stop")
	if err := b.ReadCopy(within(t), bus.Log, servers[0], func(events.Message) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("it ends with %v, want the error of take", err)
	}
}

// TestACopyIsReadOnWhereItsConsumerIsGone deletes each consumer of the log before the first message that it brings is handed over, three times.
func TestACopyIsReadOnWhereItsConsumerIsGone(t *testing.T) {
	b := open(t)
	const count, times = 10_000, 3 // more than a client asks for at once
	for sequence := uint64(0); sequence < count; sequence += 1000 {
		batch := make([]events.Message, 1000)
		for i := range batch {
			batch[i] = events.Message{Subject: events.LogRoot + ".round", Header: events.Header{}, Body: []byte("{}")}
		}
		if _, err := b.Append(within(t), bus.Log, sequence, batch); err != nil {
			t.Fatal(err)
		}
	}
	servers, err := b.Keepers(within(t), bus.Log)
	if err != nil {
		t.Fatal(err)
	}
	next, deleted := uint64(1), 0
	err = b.ReadCopy(within(t), bus.Log, servers[0], func(m events.Message) error {
		if m.Sequence != next {
			t.Errorf("message %d comes instead of %d", m.Sequence, next)
		}
		next = m.Sequence + 1
		if deleted == times {
			return nil
		}
		deleted++
		for _, name := range consumers(t, b, bus.Log) {
			if _, err := b.Conn().RequestWithContext(within(t), "$JS.API.CONSUMER.DELETE."+string(bus.Log)+"."+name, nil); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || next != count+1 {
		t.Errorf("the copy is read to %d of %d: %v", next-1, count, err)
	}
}

// TestCopiesOfObjectsAreVerified adds a part to an object that was not put there.
func TestCopiesOfObjectsAreVerified(t *testing.T) {
	b := open(t)
	for _, name := range []string{"whole", "broken"} {
		if err := b.Objects(bus.ObjectsVolumes).Put(within(t), name, strings.NewReader("what "+name+" holds")); err != nil {
			t.Fatal(err)
		}
	}
	servers, err := b.Keepers(within(t), bus.ObjectStream(bus.ObjectsVolumes))
	if err != nil || len(servers) != 1 {
		t.Fatalf("the objects are kept by %v: %v", servers, err)
	}
	if count, err := b.VerifyObjects(within(t), bus.ObjectsVolumes, servers[0]); count != 2 || err != nil {
		t.Fatalf("there are %d objects: %v", count, err)
	}
	last := ""
	err = b.ReadCopy(within(t), bus.ObjectStream(bus.ObjectsVolumes), servers[0], func(m events.Message) error {
		if strings.Contains(m.Subject, ".C.") {
			last = m.Subject
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Publish(within(t), events.Message{Subject: last, Header: events.Header{}, Body: []byte("more")}); err != nil {
		t.Fatal(err)
	}
	_, err = b.VerifyObjects(within(t), bus.ObjectsVolumes, servers[0])
	if !errors.Is(err, bus.ErrDamaged) || !strings.HasSuffix(err.Error(), " broken") {
		t.Errorf("the check says %v", err)
	}
}
