package bus_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
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
	o, large := b.Objects(bus.ObjectsVolumes), make([]byte, 400<<10)
	_, _ = rand.NewChaCha8([32]byte{}).Read(large) // so that it cannot be compressed
	if err := o.Put(ctx, "large", bytes.NewReader(large)); !errors.Is(err, bus.ErrFull) {
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

// TestAnObjectIsReadAsItWasPutOrNotAtAll reads an object that an operator put there with other tools, and one whose parts are others by now.
func TestAnObjectIsReadAsItWasPutOrNotAtAll(t *testing.T) {
	b, ctx := open(t), within(t)
	o, content := b.Objects(bus.ObjectsVolumes), bytes.Repeat([]byte("0123456789abcdef"), 64<<10)
	if err := o.Put(ctx, "ours", bytes.NewReader(content)); err != nil {
		t.Fatal(err)
	}
	store, err := api(t, b).ObjectStore(ctx, bus.ObjectsVolumes)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.PutBytes(ctx, "theirs", content); err != nil {
		t.Fatal(err)
	}
	read := func(name string) ([]byte, error) {
		t.Helper()
		found, err := o.Get(ctx, name)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(found)
		return body, errors.Join(err, found.Close())
	}
	for _, name := range []string{"ours", "theirs"} {
		if body, err := read(name); err != nil || !bytes.Equal(body, content) {
			t.Errorf("%s is read as %d bytes of %d: %v", name, len(body), len(content), err)
		}
	}
	info, err := store.GetInfo(ctx, "ours")
	if err != nil {
		t.Fatal(err)
	}
	if info.Size > uint64(len(content)/10) {
		t.Errorf("%d bytes are stored as %d", len(content), info.Size)
	}
	parts := "$O." + bus.ObjectsVolumes + ".C." + info.NUID
	below, err := api(t, b).Stream(ctx, "OBJ_"+bus.ObjectsVolumes)
	if err != nil {
		t.Fatal(err)
	}
	if err := below.Purge(ctx, jetstream.WithPurgeSubject(parts)); err != nil {
		t.Fatal(err)
	}
	for range info.Chunks {
		if _, err := api(t, b).Publish(ctx, parts, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	if body, err := read("ours"); !errors.Is(err, bus.ErrNoKey) {
		t.Errorf("other parts are read as %d bytes: %v", len(body), err)
	}
}
