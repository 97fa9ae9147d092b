package memory_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/events/bus/conformance"
	"github.com/rookery-project/rookery/events/bus/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	conformance.Test(t, func(*testing.T) bus.Bus { return memory.New(time.Now) })
}

func TestRemakeEndsReadersAndChangesTheIdentity(t *testing.T) {
	b, ctx := memory.New(time.Now), context.Background()
	before, err := b.State(ctx, bus.Log)
	if err != nil {
		t.Fatal(err)
	}
	r, err := b.Read(ctx, bus.Log, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Stop()
	if _, err := b.Append(ctx, bus.Log, 0, []events.Message{{Subject: "rookery.log.round"}}); err != nil {
		t.Fatal(err)
	}
	<-r.Messages()
	b.Remake(bus.Log)
	if m, ok := <-r.Messages(); ok {
		t.Fatalf("the reader of a removed stream delivers %v", m)
	}
	after, err := b.State(ctx, bus.Log)
	if err != nil {
		t.Fatal(err)
	}
	if after.Identity == before.Identity || after.Last != 0 {
		t.Fatalf("the stream is %+v after it was made again, and was %+v", after, before)
	}
}

func TestWhatReplacesAStreamHasAnotherIdentity(t *testing.T) {
	b, ctx := memory.New(time.Now), context.Background()
	before, err := b.State(ctx, bus.Statuses)
	if err == nil {
		err = b.Replace(ctx, string(bus.Statuses))
	}
	if err != nil {
		t.Fatal(err)
	}
	if after, err := b.State(ctx, bus.Statuses); err != nil || after.Identity == before.Identity {
		t.Errorf("the identity was %q, and is %q, %v, after the stream was replaced", before.Identity, after.Identity, err)
	}
}

func TestALeaseRunsOut(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	b, ctx := memory.New(func() time.Time { return now }), context.Background()
	lease, err := b.Bucket(ctx, bus.BucketLease)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lease.Put(ctx, "leader", []byte("a"), 0); err != nil {
		t.Fatal(err)
	}
	now = now.Add(bus.LeaseAge - 1)
	if _, err := lease.Get(ctx, "leader"); err != nil {
		t.Fatalf("the lease ended early: %v", err)
	}
	now = now.Add(1)
	if _, err := lease.Put(ctx, "leader", []byte("b"), 0); err != nil {
		t.Fatalf("the lease has not run out: %v", err)
	}
}

func TestOutputsRunOut(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	b, ctx := memory.New(func() time.Time { return now }), context.Background()
	outputs, err := b.Bucket(ctx, bus.BucketOutput)
	if err != nil {
		t.Fatal(err)
	}
	if err := outputs.Set(ctx, "demo.web.0.1.0", []byte("a")); err != nil {
		t.Fatal(err)
	}
	now = now.Add(bus.OutputAge - 1)
	if _, err := outputs.Get(ctx, "demo.web.0.1.0"); err != nil {
		t.Fatalf("the output ended early: %v", err)
	}
	now = now.Add(1)
	if _, err := outputs.Get(ctx, "demo.web.0.1.0"); !errors.Is(err, bus.ErrNoKey) {
		t.Fatalf("the output has not run out: %v", err)
	}
}

func TestARestartKeepsConfigsAlone(t *testing.T) {
	b, ctx := memory.New(time.Now), context.Background()
	for name, want := range map[string]error{bus.BucketConfigs: nil, bus.BucketServices: bus.ErrNoKey} {
		k, err := b.Bucket(ctx, name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := k.Put(ctx, "demo.web", []byte("a"), 0); err != nil {
			t.Fatal(err)
		}
		b.Restart()
		if _, err := k.Get(ctx, "demo.web"); !errors.Is(err, want) {
			t.Errorf("%s after a restart: %v, want %v", name, err, want)
		}
	}
}
