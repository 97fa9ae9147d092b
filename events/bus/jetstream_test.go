package bus_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/events/bus/conformance"
	"github.com/rookery-project/rookery/events/bus/embedded"
)

// patience bounds every wait of a test.
const patience = 20 * time.Second

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	conformance.Test(t, func(t *testing.T) bus.Bus { return open(t) })
}

// open returns the bus on a server of its own, with all streams.
func open(t *testing.T) *bus.JetStream {
	t.Helper()
	b := connect(t)
	if err := b.Init(within(t), 1); err != nil {
		t.Fatal(err)
	}
	return b
}

// connect returns the bus on a server of its own, without streams.
func connect(t *testing.T) *bus.JetStream {
	t.Helper()
	b, _ := start(t, t.TempDir())
	return b
}

// start returns the bus on a server that has its store in the folder, and what ends that.
func start(t *testing.T, dir string) (b *bus.JetStream, stop func()) {
	t.Helper()
	server, err := embedded.Start(dir, "127.0.0.1", embedded.AnyPort)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	conn, err := server.Connect("test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	b, err = bus.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	return b, func() {
		conn.Close()
		server.Stop()
	}
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// api is JetStream itself, for what an operator may do behind the bus's back.
func api(t *testing.T, b *bus.JetStream) jetstream.JetStream {
	t.Helper()
	js, err := jetstream.New(b.Conn())
	if err != nil {
		t.Fatal(err)
	}
	return js
}

func check(t *testing.T, b *bus.JetStream) map[bus.Stream]bus.Finding {
	t.Helper()
	findings, err := b.Check(within(t))
	if err != nil {
		t.Fatal(err)
	}
	byStream := make(map[bus.Stream]bus.Finding, len(findings))
	for i, f := range findings {
		if f.Stream != bus.Streams[i] {
			t.Errorf("finding %d is of %s, want %s", i, f.Stream, bus.Streams[i])
		}
		byStream[f.Stream] = f
	}
	return byStream
}

func TestCheckNamesMissingStreams(t *testing.T) {
	b := connect(t)
	for stream, f := range check(t, b) {
		if !f.Missing || !errors.Is(f.Err(), bus.ErrNoStream) {
			t.Errorf("%s is missing, and the finding is %+v: %v", stream, f, f.Err())
		}
	}
}

func TestInitMakesWhatIsMissingAndLeavesTheRest(t *testing.T) {
	b := open(t)
	before := check(t, b)
	if err := api(t, b).DeleteStream(within(t), string(bus.Orders)); err != nil {
		t.Fatal(err)
	}
	if err := b.Init(within(t), 1); err != nil {
		t.Fatal(err)
	}
	for stream, f := range check(t, b) {
		if f.Err() != nil || f.Identity == "" {
			t.Errorf("%s after Init: %+v: %v", stream, f, f.Err())
		}
		if same := f.Identity == before[stream].Identity; same != (stream != bus.Orders) {
			t.Errorf("%s had identity %s and has %s", stream, before[stream].Identity, f.Identity)
		}
	}
}

func TestCheckNamesChangedSettings(t *testing.T) {
	for name, change := range map[string]struct {
		stream bus.Stream
		edit   func(*jetstream.StreamConfig)
		want   string
	}{
		"max message size": {
			bus.Commands, func(c *jetstream.StreamConfig) { c.MaxMsgSize = 1 << 20 },
			"max message size is 1048576 and must be 65536",
		},
		"max bytes": {
			bus.Commands, func(c *jetstream.StreamConfig) { c.MaxBytes = -1 }, "max bytes is unlimited and must be 67108864",
		},
		"republish": {bus.Log, func(c *jetstream.StreamConfig) { c.RePublish = nil }, "republish is off and must be rookery.log.> to rookery.event.>"},
		"max age":   {bus.Log, func(c *jetstream.StreamConfig) { c.MaxAge = time.Hour }, "max age is 1h0m0s and must be 0s"},
		"de-duplication": {
			bus.Commands, func(c *jetstream.StreamConfig) { c.Duplicates = time.Minute },
			"de-duplication window is 1m0s and must be 100ms",
		},
		"subjects": {
			bus.Statuses, func(c *jetstream.StreamConfig) { c.Subjects = append(c.Subjects, "other.>") },
			"subjects is rookery.status.> other.> and must be rookery.status.>",
		},
		"schema": {
			bus.Orders, func(c *jetstream.StreamConfig) { c.Metadata["rookery.schema"] = "2" }, "schema version is 2 and must be 1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := open(t)
			edit(t, b, change.stream, change.edit)
			for stream, f := range check(t, b) {
				switch {
				case stream != change.stream && f.Err() != nil:
					t.Errorf("%s was left alone, and is found to differ: %v", stream, f.Err())
				case stream == change.stream && (len(f.Differences) != 1 || f.Differences[0] != change.want):
					t.Errorf("the differences are %q, want %q", f.Differences, change.want)
				}
			}
			err := b.Init(within(t), 1)
			if !errors.Is(err, bus.ErrSettings) || !strings.Contains(err.Error(), change.want) {
				t.Errorf("Init: %v", err)
			}
		})
	}
}

func edit(t *testing.T, b *bus.JetStream, stream bus.Stream, change func(*jetstream.StreamConfig)) {
	t.Helper()
	js := api(t, b)
	handle, err := js.Stream(within(t), string(stream))
	if err != nil {
		t.Fatal(err)
	}
	config := handle.CachedInfo().Config
	change(&config)
	if _, err := js.UpdateStream(within(t), config); err != nil {
		t.Fatal(err)
	}
}

func TestCheckKnowsAStreamThatIsNotOurs(t *testing.T) {
	b := open(t)
	edit(t, b, bus.Log, func(c *jetstream.StreamConfig) { delete(c.Metadata, "rookery.id") })
	err := check(t, b)[bus.Log].Err()
	if !errors.Is(err, bus.ErrSettings) || !strings.Contains(err.Error(), "so Rookery did not make it") {
		t.Errorf("the finding is %v", err)
	}
}

func TestADeletedStreamIsNamed(t *testing.T) {
	b := open(t)
	if err := api(t, b).DeleteStream(within(t), string(bus.Log)); err != nil {
		t.Fatal(err)
	}
	ctx := within(t)
	calls := map[string]func() error{
		"State": func() error { _, err := b.State(ctx, bus.Log); return err },
		"Last":  func() error { _, _, err := b.Last(ctx, bus.Log); return err },
		"Read":  func() error { _, err := b.Read(ctx, bus.Log, 1); return err },
		"Purge": func() error { return b.Purge(ctx, bus.Log, 1) },
	}
	for name, call := range calls {
		if err := call(); !errors.Is(err, bus.ErrNoStream) {
			t.Errorf("%s: %v, want ErrNoStream", name, err)
		}
	}
	_, err := b.Latest(ctx, bus.Log, events.LogRoot+".>")
	if !errors.Is(err, bus.ErrNoStream) && !errors.Is(err, bus.ErrNoAnswer) {
		t.Errorf("Latest: %v, want ErrNoStream or ErrNoAnswer", err)
	}
	_, err = b.Append(ctx, bus.Log, 0, []events.Message{{Subject: events.LogRoot + ".round", Header: events.Header{}}})
	if !errors.Is(err, bus.ErrUnknown) && !errors.Is(err, bus.ErrNoAnswer) {
		t.Errorf("Append: %v, want ErrUnknown or ErrNoAnswer", err)
	}
}

// TestConfigsOutliveTheServer puts configs as an operator does, with NATS's own means, and restarts the server.
func TestConfigsOutliveTheServer(t *testing.T) {
	dir := t.TempDir()
	b, stop := start(t, dir)
	if err := b.Init(within(t), 1); err != nil {
		t.Fatal(err)
	}
	kv, err := api(t, b).KeyValue(within(t), bus.BucketConfigs)
	if err != nil {
		t.Fatal(err)
	}
	for i := range byte(10) {
		if _, err := kv.Put(within(t), "demo.web-conf", bytes.Repeat([]byte{'0' + i}, bus.MaxConfig)); err != nil {
			t.Fatal(err)
		}
	}
	history, err := kv.History(within(t), "demo.web-conf")
	if err != nil || len(history) != 5 {
		t.Errorf("%d values are kept of one config, %v", len(history), err)
	}
	stop()
	b, _ = start(t, dir)
	k, err := b.Bucket(within(t), bus.BucketConfigs)
	if err != nil {
		t.Fatal(err)
	}
	e, err := k.Get(within(t), "demo.web-conf")
	if err != nil || len(e.Value) != bus.MaxConfig || e.Value[0] != '9' {
		t.Errorf("the config after the restart has %d bytes: %v", len(e.Value), err)
	}
}

// TestOutputsAreKeptInMemoryForADay looks at the stream below the bucket: its oldest values go, and none is on a disk.
func TestOutputsAreKeptInMemoryForADay(t *testing.T) {
	b := open(t)
	stream, err := api(t, b).Stream(within(t), "KV_"+bus.BucketOutput)
	if err != nil {
		t.Fatal(err)
	}
	c := stream.CachedInfo().Config
	if c.Storage != jetstream.MemoryStorage || c.MaxAge != 24*time.Hour || c.MaxBytes != 32<<20 || c.Discard != jetstream.DiscardOld ||
		c.MaxMsgsPerSubject != 1 {
		t.Errorf("outputs are kept in %s for %s, %d bytes at most, %s, %d values of a key", c.Storage, c.MaxAge, c.MaxBytes, c.Discard, c.MaxMsgsPerSubject)
	}
}

// TestTheServerSoonForgetsAReaderThatStopped looks at the consumer below a reader. A stream takes 1,000 at most.
func TestTheServerSoonForgetsAReaderThatStopped(t *testing.T) {
	b := open(t)
	r, err := b.Read(within(t), bus.Log, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Stop()
	below, err := api(t, b).Stream(within(t), string(bus.Log))
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for info := range below.ListConsumers(within(t)).Info() {
		if count++; info.Config.InactiveThreshold > 10*time.Second {
			t.Errorf("the consumer stays for %s", info.Config.InactiveThreshold)
		}
	}
	if count != 1 {
		t.Errorf("the log has %d consumers, want 1", count)
	}
}

// answerLate answers direct gets of the statuses, which no server answers, as if the stream had so many messages at the first, second and
// further requests. whole says that the end of the batch follows.
func answerLate(t *testing.T, b *bus.JetStream, whole bool, counts ...int) {
	t.Helper()
	sub, err := b.Conn().Subscribe("$JS.API.DIRECT.GET."+string(bus.Statuses), func(m *nats.Msg) {
		count := counts[0]
		counts = counts[min(1, len(counts)-1):]
		var asks struct {
			From int `json:"seq"`
		}
		if err := json.Unmarshal(m.Data, &asks); err != nil || asks.From > count {
			_ = m.RespondMsg(&nats.Msg{Header: nats.Header{"Status": {"404"}, "Description": {"Message Not Found"}}})
			return
		}
		for i := max(asks.From, 1); i <= count; i++ {
			_ = m.RespondMsg(&nats.Msg{Data: []byte("{}"), Header: nats.Header{ // the request waits in vain, and fails the test
				"Nats-Stream": {string(bus.Statuses)}, "Nats-Subject": {events.EngineSubject("n1")}, "Nats-Sequence": {strconv.Itoa(i)},
				"Nats-Time-Stamp": {time.Now().UTC().Format(time.RFC3339Nano)}, "Nats-Num-Pending": {strconv.Itoa(count - i)},
			}})
		}
		if whole {
			_ = m.RespondMsg(&nats.Msg{Header: nats.Header{"Status": {"204"}, "Description": {"EOB"}}})
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sub.Unsubscribe() })
}

// TestTheLatestMessagesAreThoseOfTheStreamsLeader reads by a server that lags behind the stream's leader once.
func TestTheLatestMessagesAreThoseOfTheStreamsLeader(t *testing.T) {
	b := open(t)
	for range 2 {
		if _, err := b.Publish(within(t), events.Message{Subject: events.EngineSubject("n1"), Header: events.Header{}, Body: []byte("{}")}); err != nil {
			t.Fatal(err)
		}
	}
	answerLate(t, b, true, 1, 2)
	if read, err := b.Latest(within(t), bus.Statuses, events.EngineSubject("n1")); err != nil || len(read) != 2 {
		t.Errorf("%d messages are read, want both: %v", len(read), err)
	}
}

// TestAPartOfABatchIsNoAnswer reads by a server that ends in the middle of its answer.
func TestAPartOfABatchIsNoAnswer(t *testing.T) {
	b := open(t)
	answerLate(t, b, false, 1)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if read, err := b.Matching(ctx, bus.Statuses, events.EngineSubject("n1"), 1); !errors.Is(err, bus.ErrNoAnswer) {
		t.Errorf("%d messages are read: %v", len(read), err)
	}
}

func TestCopiesNameWhatTheServerKeeps(t *testing.T) {
	b := open(t)
	all, err := b.Copies(within(t))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range all {
		names = append(names, c.Name)
		if c.Err() != nil || c.Replicas != 1 || c.Leader == "" {
			t.Errorf("it is kept as %+v: %v", c, c.Err())
		}
	}
	want := []string{"ROOKERY_COMMANDS", "ROOKERY_LOG", "ROOKERY_METRICS", "ROOKERY_ORDERS", "ROOKERY_STATUS", bus.BucketConfigs, bus.BucketOutput}
	if !slices.Equal(names, want) {
		t.Errorf("kept are %v, want %v", names, want)
	}
	for _, c := range []bus.Copies{{Name: "a"}, {Name: "a", Leader: "s0", Replicas: 3, Offline: []string{"s2"}}} {
		if c.Err() == nil {
			t.Errorf("%+v counts as kept well", c)
		}
	}
	if err := (bus.Copies{Name: bus.BucketNodes}).Err(); err == nil || errors.Is(err, bus.ErrNoQuorum) {
		t.Errorf("a view without a leader: %v, want that a coordinator makes it again", err)
	}
}
