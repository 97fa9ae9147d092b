package supply_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/events/bus/memory"
	"github.com/rookery-project/rookery/events/bus/session"
	"github.com/rookery-project/rookery/events/bus/supply"
)

const node = "edge-1"

var (
	web   = events.ServiceID{Namespace: "demo", Name: "web"}
	runs  = events.InstanceID{Service: web, Ordinal: 0, Generation: 1} // has a config and restores a volume
	asked = events.InstanceID{Service: web, Ordinal: 1, Generation: 1} // is asked to export volumes
	gone  = events.InstanceID{Service: web, Ordinal: 2, Generation: 1}
	other = events.InstanceID{Service: web, Ordinal: 3, Generation: 1} // of another node
)

// content is larger than the window of a session.
var content = bytes.Repeat([]byte("0123456789abcdef"), 20_000)

func digestOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// stocked is a bus with a config and the orders of two nodes.
func stocked(t testing.TB) bus.Bus {
	t.Helper()
	b := memory.New(time.Now)
	configs, err := b.Bucket(t.Context(), bus.BucketConfigs)
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range map[string]string{"demo.words": "some words", "demo.secret": "others"} {
		if _, err := configs.Put(t.Context(), key, []byte(value), 0); err != nil {
			t.Fatal(err)
		}
	}
	spec := &events.Spec{}
	spec.Configs = []events.Config{{Name: "words", Path: "/words", Mode: "0444"}, {Name: "missing", Path: "/missing", Mode: "0444"}}
	spec.Labels = map[string]string{"long": strings.Repeat("x", 100_000)} // more than a frame, and with many orders than a message
	restore := &events.Restore{Volumes: []events.Export{{Volume: "data", Digest: digestOf(content), Size: int64(len(content))}, {Volume: "lost", Digest: digestOf(nil)}}}
	order(t, b, node, runs, events.Order{Action: events.ActionRun, Spec: spec, Restore: restore})
	order(t, b, node, asked, events.Order{Action: events.ActionRun, Spec: spec, Ask: &events.Ask{Phase: events.OperationExport}})
	order(t, b, node, gone, events.Order{Action: events.ActionForget})
	for ordinal := uint32(10); ordinal < 30; ordinal++ {
		order(t, b, node, events.InstanceID{Service: web, Ordinal: ordinal, Generation: 1}, events.Order{Action: events.ActionRun, Spec: spec})
	}
	order(t, b, "edge-2", other, events.Order{Action: events.ActionRun, Spec: spec, Restore: restore, Ask: &events.Ask{Phase: events.OperationExport}})
	return b
}

func order(t testing.TB, b bus.Bus, node string, id events.InstanceID, o events.Order) {
	t.Helper()
	m, err := events.Encode(events.OrderSubject(node, id), o, events.Attributes{ID: "1", Source: "/test", Time: time.Now()})
	if err == nil {
		_, err = b.Publish(t.Context(), m)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// served is a supply that the leader gives.
func served(t testing.TB, b bus.Bus) supply.Supply {
	t.Helper()
	stop, err := supply.Serve(b, func() bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return supply.Ask(b, node)
}

// TestALeaderSuppliesWhatTheBusHas holds both kinds of supply to the same.
func TestALeaderSuppliesWhatTheBusHas(t *testing.T) {
	for name, of := range map[string]func(*testing.T, bus.Bus) supply.Supply{
		"direct": func(_ *testing.T, b bus.Bus) supply.Supply { return supply.Direct(b, node) }, "asked": func(t *testing.T, b bus.Bus) supply.Supply { return served(t, b) },
	} {
		t.Run(name, func(t *testing.T) {
			b := stocked(t)
			s := of(t, b)
			wantOrders(t, b, s)
			if got, err := s.Config(t.Context(), runs, "words"); string(got) != "some words" || err != nil {
				t.Errorf("the config is %q: %v", got, err)
			}
			if _, err := s.Config(t.Context(), runs, "missing"); !errors.Is(err, bus.ErrNoKey) {
				t.Errorf("a config that is missing: %v", err)
			}
			wantOutput(t, b, s)
			wantVolume(t, s)
		})
	}
}

func wantOrders(t *testing.T, b bus.Bus, s supply.Supply) {
	t.Helper()
	got, err := s.Orders(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want, err := b.Latest(t.Context(), bus.Orders, "rookery.orders.edge-1.>")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.EqualFunc(got, want, func(a, b events.Message) bool {
		return a.Subject == b.Subject && a.Sequence == b.Sequence && a.Time.Equal(b.Time) && bytes.Equal(a.Body, b.Body) && fmt.Sprint(a.Header) == fmt.Sprint(b.Header)
	}) || len(got) != 23 {
		t.Errorf("got %d orders, and the bus has %d: %.500v", len(got), len(want), got)
	}
}

func wantOutput(t *testing.T, b bus.Bus, s supply.Supply) {
	t.Helper()
	if err := s.KeepOutput(t.Context(), runs, 7, []byte("it failed\n")); err != nil {
		t.Error(err)
	}
	outputs, err := b.Bucket(t.Context(), bus.BucketOutput)
	if err != nil {
		t.Fatal(err)
	}
	if e, err := outputs.Get(t.Context(), "demo.web.0.1.7"); string(e.Value) != "it failed\n" || err != nil {
		t.Errorf("the output is %q: %v", e.Value, err)
	}
}

func wantVolume(t *testing.T, s supply.Supply) {
	t.Helper()
	digest := digestOf(content)
	if has, err := s.HasVolume(t.Context(), asked, digest); has || err != nil {
		t.Errorf("before: %v, %v", has, err)
	}
	if _, err := read(t, s, runs, digest); !errors.Is(err, bus.ErrNoKey) {
		t.Errorf("reading what is not there: %v", err)
	}
	if err := s.StoreVolume(t.Context(), asked, digest, bytes.NewReader(content[1:])); !errors.Is(err, supply.ErrDigest) {
		t.Errorf("storing another content: %v", err)
	}
	broken := errors.New("broken")
	if err := s.StoreVolume(t.Context(), asked, digest, io.MultiReader(bytes.NewReader(content[1:]), failing{broken})); !errors.Is(err, broken) {
		t.Errorf("storing what cannot be read: %v", err)
	}
	if has, err := s.HasVolume(t.Context(), asked, digest); has || err != nil {
		t.Errorf("after other contents: %v, %v", has, err)
	}
	if err := s.StoreVolume(t.Context(), asked, digest, bytes.NewReader(content)); err != nil {
		t.Error(err)
	}
	if has, err := s.HasVolume(t.Context(), asked, digest); !has || err != nil {
		t.Errorf("afterwards: %v, %v", has, err)
	}
	if got, err := read(t, s, runs, digest); !bytes.Equal(got, content) || err != nil {
		t.Errorf("read %d bytes: %v", len(got), err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func read(t *testing.T, s supply.Supply, id events.InstanceID, digest string) ([]byte, error) {
	t.Helper()
	r, err := s.Volume(t.Context(), id, digest)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}()
	return io.ReadAll(r)
}

// TestANodeGetsOnlyWhatItsOrdersAskFor asks for more.
func TestANodeGetsOnlyWhatItsOrdersAskFor(t *testing.T) {
	b := stocked(t)
	s := served(t, b)
	digest := digestOf(content)
	if err := supply.Direct(b, node).StoreVolume(t.Context(), asked, digest, bytes.NewReader(content)); err != nil {
		t.Fatal(err)
	}
	config := func(id events.InstanceID, name string) error { _, err := s.Config(t.Context(), id, name); return err }
	volume := func(id events.InstanceID, digest string) error { _, err := read(t, s, id, digest); return err }
	has := func(id events.InstanceID) error { _, err := s.HasVolume(t.Context(), id, digest); return err }
	for what, err := range map[string]error{
		"a config that no order names":            config(runs, "secret"),
		"a config for an instance of another":     config(other, "words"),
		"a config for an instance that is gone":   config(gone, "words"),
		"a config for an instance without order":  config(events.InstanceID{Service: web, Ordinal: 9, Generation: 1}, "words"),
		"output of an instance of another":        s.KeepOutput(t.Context(), other, 1, []byte("x")),
		"output of an instance that is gone":      s.KeepOutput(t.Context(), gone, 1, []byte("x")),
		"a volume that no order names":            volume(runs, digestOf([]byte("x"))),
		"a volume for an instance of another":     volume(other, digest),
		"a volume for one that is not to restore": volume(asked, digest),
		"to look for a volume, unasked":           has(runs),
		"to look for a volume for another":        has(other),
		"to store a volume, unasked":              s.StoreVolume(t.Context(), runs, digest, bytes.NewReader(content)),
		"to store a volume for another":           s.StoreVolume(t.Context(), other, digest, bytes.NewReader(content)),
	} {
		if !errors.Is(err, bus.ErrForbidden) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := s.KeepOutput(t.Context(), runs, 1, make([]byte, events.MaxOutput+1)); !errors.Is(err, bus.ErrTooLarge) {
		t.Errorf("much output: %v", err)
	}
}

// TestQuestionsThatCannotBeRead are refused, and the next is answered.
func TestQuestionsThatCannotBeRead(t *testing.T) {
	b := stocked(t)
	s := served(t, b)
	for _, body := range []string{"", "x", `{"instance":"web"}`, `{"instance":7}`, `{"instance":"demo/web.0.1","lines":"?"}`} {
		answer, err := b.Request(t.Context(), events.Message{Subject: "rookery.supply.config.edge-1", Header: events.Header{}, Body: []byte(body)})
		if err == nil {
			err = bus.Refused(answer)
		}
		var refused *bus.QuestionError
		if !errors.As(err, &refused) || refused.Code != 400 {
			t.Errorf("%q: %v", body, err)
		}
	}
	if _, err := s.Config(t.Context(), runs, "words"); err != nil {
		t.Error(err)
	}
}

func TestWithoutALeaderThereIsNoSupply(t *testing.T) {
	s := supply.Ask(memory.New(time.Now), node)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := s.Orders(ctx); !errors.Is(err, bus.ErrNoAnswer) {
		t.Errorf("orders: %v", err)
	}
	if err := s.KeepOutput(t.Context(), runs, 1, nil); !errors.Is(err, bus.ErrNoAnswer) {
		t.Errorf("output: %v", err)
	}
}

// TestALeaderSpeaksToTheNodeAlone asks for the orders of a node where another client would hear them.
func TestALeaderSpeaksToTheNodeAlone(t *testing.T) {
	b := stocked(t)
	served(t, b)
	for _, reply := range []string{"rookery.session.operator.edge-1.1", "rookery.session.edge-2._.1", "rookery.session.edge-1", "rookery.session.edge-1.>", ""} {
		answer, err := b.Request(t.Context(), events.Message{Subject: "rookery.supply.orders.edge-1", Header: events.Header{"Rookery-Reply": {reply}}})
		if err == nil {
			err = bus.Refused(answer)
		}
		var refused *bus.QuestionError
		if !errors.As(err, &refused) || refused.Code != 400 {
			t.Errorf("%q: %v", reply, err)
		}
	}
}

// TestACoordinatorThatMayNotLeadSuppliesNothing asks one whose lease has expired.
func TestACoordinatorThatMayNotLeadSuppliesNothing(t *testing.T) {
	b := stocked(t)
	stop, err := supply.Serve(b, func() bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	s := supply.Ask(b, node)
	_, orders := s.Orders(t.Context())
	_, config := s.Config(t.Context(), runs, "words")
	_, volume := read(t, s, runs, digestOf(content))
	for what, err := range map[string]error{
		"orders": orders, "config": config, "volume": volume, "output": s.KeepOutput(t.Context(), runs, 1, []byte("x")),
		"store": s.StoreVolume(t.Context(), asked, digestOf(content), bytes.NewReader(content)),
	} {
		var refused *bus.QuestionError
		if !errors.As(err, &refused) || refused.Code != 503 {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestANodeThatSendsNothingHoldsNoPlace begins to store contents and sends none of them. Another session of the node waits until one ends.
func TestANodeThatSendsNothingHoldsNoPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := stocked(t)
		stop, err := supply.Serve(b, func() bool { return true })
		if err != nil {
			t.Fatal(err)
		}
		defer stop()
		body := fmt.Appendf(nil, `{"instance":%q,"digest":%q}`, asked, digestOf(content))
		const of = 8 // one node
		for range of {
			c, err := session.OpenAs(t.Context(), b, node, "rookery.supply.store-volume."+node, body)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close(nil, nil)
		}
		began := time.Now()
		if err := supply.Ask(b, node).StoreVolume(t.Context(), asked, digestOf(content), bytes.NewReader(content)); err != nil {
			t.Error(err)
		}
		if waited := time.Since(began); waited < 29*time.Second || waited > 31*time.Second {
			t.Errorf("it waited for %s", waited)
		}
	})
}

// FuzzQuestions asks for a config with any body. A node gets the one that its orders name, or a refusal.
func FuzzQuestions(f *testing.F) {
	b := stocked(f)
	served(f, b)
	f.Add([]byte(`{"instance":"demo/web.0.1","config":"words"}`))
	f.Add([]byte(`{"instance":"demo/web.3.1","config":"words"}`))
	f.Add([]byte(`{"instance":"demo/web.0.1","config":"secret","digest":"x","attempt":1,"lines":"eA=="}`))
	f.Add([]byte(`{"instance":">.0.1"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		answer, err := b.Request(t.Context(), events.Message{Subject: "rookery.supply.config.edge-1", Header: events.Header{}, Body: body})
		if err != nil {
			t.Fatal(err)
		}
		if bus.Refused(answer) == nil && string(answer.Body) != "some words" {
			t.Fatalf("%q is answered with %q", body, answer.Body)
		}
	})
}
