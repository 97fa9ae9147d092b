package bus_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/rookery-project/rookery/events/bus"
)

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// TestPartsOfNoObjectAreTidiedAway leaves what a process leaves that ends as it stores an object, beside one that is whole.
func TestPartsOfNoObjectAreTidiedAway(t *testing.T) {
	b, ctx := open(t), within(t)
	o, content := b.Objects(bus.ObjectsVolumes), bytes.Repeat([]byte("x"), 300<<10)
	if err := o.Put(ctx, "whole", bytes.NewReader(content)); err != nil {
		t.Fatal(err)
	}
	js, err := jetstream.New(b.Conn())
	if err != nil {
		t.Fatal(err)
	}
	parts := func() uint64 {
		t.Helper()
		below, err := js.Stream(ctx, "OBJ_"+bus.ObjectsVolumes)
		if err != nil {
			t.Fatal(err)
		}
		info, err := below.Info(ctx, jetstream.WithSubjectFilter("$O."+bus.ObjectsVolumes+".C.>"))
		if err != nil {
			t.Fatal(err)
		}
		sum := uint64(0)
		for _, n := range info.State.Subjects {
			sum += n
		}
		return sum
	}
	whole := parts()
	ended, cancel := context.WithCancel(ctx)
	given := io.MultiReader(bytes.NewReader(content), readerFunc(func([]byte) (int, error) { cancel(); return 0, io.EOF }), bytes.NewReader(content))
	if err := o.Put(ended, "given up", given); !errors.Is(err, context.Canceled) {
		t.Errorf("putting what is given up: %v", err)
	}
	if got := parts(); got != whole {
		t.Errorf("there are %d parts after one was given up, want %d", got, whole)
	}
	for range 2 {
		if _, err := js.Publish(ctx, "$O."+bus.ObjectsVolumes+".C.left", content[:100]); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		before time.Time
		left   uint64
	}{
		{time.Now().Add(-time.Hour), whole + 2}, // its writer may still store the rest
		{time.Now().Add(time.Hour), whole},
	} {
		if err := o.Tidy(ctx, tt.before); err != nil {
			t.Fatal(err)
		}
		if got := parts(); got != tt.left {
			t.Errorf("there are %d parts, want %d", got, tt.left)
		}
	}
	if found, err := o.Stat(ctx, "whole"); err != nil || found.Size != int64(len(content)) {
		t.Errorf("the whole object is %+v, %v", found, err)
	}
	if err := b.Objects("rookery_none").Tidy(ctx, time.Now()); err != nil {
		t.Errorf("tidying what there is not: %v", err)
	}
}

// TestWhatAFullStoreTakesAPartOfIsNoObject fills the store in the middle of an object, whose entry it has room for all the same.
func TestWhatAFullStoreTakesAPartOfIsNoObject(t *testing.T) {
	b, ctx := open(t), within(t)
	js, err := jetstream.New(b.Conn())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: bus.ObjectsVolumes, MaxBytes: 300 << 10}); err != nil {
		t.Fatal(err)
	}
	o := b.Objects(bus.ObjectsVolumes)
	if err := o.Put(ctx, "large", bytes.NewReader(bytes.Repeat([]byte("x"), 400<<10))); !errors.Is(err, bus.ErrFull) {
		t.Errorf("putting what the store has no room for: %v", err)
	}
	if found, err := o.Stat(ctx, "large"); !errors.Is(err, bus.ErrNoKey) {
		t.Errorf("of what there was no room for there is %+v, %v", found, err)
	}
	if err := o.Put(ctx, "large", bytes.NewReader([]byte("small"))); err != nil {
		t.Fatal(err)
	}
	if found, err := o.Stat(ctx, "large"); err != nil || found.Size != 5 {
		t.Errorf("what there is room for is %+v, %v", found, err)
	}
}
