package conformance

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing/iotest"

	"github.com/rookery-project/rookery/events/bus"
)

var objects = []promise{
	{"an object is read as it was put, and a later one takes its place", objectPut},
	{"an object whose content cannot be read to its end is not stored", objectTorn},
	{"an object that is touched is as it was, and younger", objectTouched},
	{"what there is not is said so, and may be deleted", objectMissing},
	{"all objects are listed, without those deleted", objectsAll},
}

func (s *suite) wantObject(o bus.Objects, name, content string) {
	s.Helper()
	found, err := o.Stat(s.ctx, name)
	s.need(err)
	if found.Name != name || found.Size != int64(len(content)) || found.Stored.IsZero() {
		s.Fatalf("the object is %+v, want %s of %d bytes", found, name, len(content))
	}
	stored, err := o.Get(s.ctx, name)
	s.need(err)
	got, err := io.ReadAll(stored)
	s.need(errors.Join(err, stored.Close()))
	if string(got) != content {
		s.Fatalf("the object %s holds %d bytes, want others, %d", name, len(got), len(content))
	}
}

func objectPut(s *suite) {
	o := s.bus.Objects(bus.ObjectsVolumes)
	large := strings.Repeat("0123456789abcdef", 64<<10)
	for _, content := range []string{large, "short", ""} {
		s.need(o.Put(s.ctx, "one", strings.NewReader(content)))
		s.wantObject(s.bus.Objects(bus.ObjectsVolumes), "one", content)
	}
}

// readerFunc is an io.Reader.
type readerFunc func([]byte) (int, error)

// Read implements io.Reader.
func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func objectTorn(s *suite) {
	o, torn := s.bus.Objects(bus.ObjectsVolumes), errors.New("torn")
	content := bytes.Repeat([]byte("x"), 1<<20)
	s.wantError("put what cannot be read", o.Put(s.ctx, "one", io.MultiReader(bytes.NewReader(content), iotest.ErrReader(torn))), torn)
	_, err := o.Stat(s.ctx, "one")
	s.wantError("look at what was not stored", err, bus.ErrNoKey)
	ended, cancel := context.WithCancel(s.ctx)
	s.wantError("put as the time is over", o.Put(ended, "one", io.MultiReader(bytes.NewReader(content), readerFunc(func(p []byte) (int, error) {
		cancel()
		return 0, io.EOF
	}), bytes.NewReader(content))), context.Canceled)
	_, err = o.Stat(s.ctx, "one")
	s.wantError("look at what was not stored", err, bus.ErrNoKey)
	s.need(o.Put(s.ctx, "one", strings.NewReader("whole")))
	s.wantError("put what cannot be read", o.Put(s.ctx, "one", io.MultiReader(bytes.NewReader(content), iotest.ErrReader(torn))), torn)
	s.wantObject(o, "one", "whole")
}

func objectTouched(s *suite) {
	o := s.bus.Objects(bus.ObjectsVolumes)
	s.wantError("touch what there is not", o.Touch(s.ctx, "one"), bus.ErrNoKey)
	s.need(o.Put(s.ctx, "one", strings.NewReader("1")))
	before, err := o.Stat(s.ctx, "one")
	s.need(err)
	s.need(o.Touch(s.ctx, "one"))
	s.wantObject(o, "one", "1")
	if after, err := o.Stat(s.ctx, "one"); err != nil || !after.Stored.After(before.Stored) {
		s.Fatalf("touched it is %+v, %v, and was %+v", after, err, before)
	}
}

func objectMissing(s *suite) {
	o := s.bus.Objects(bus.ObjectsVolumes)
	missing := func() {
		s.Helper()
		_, err := o.Stat(s.ctx, "one")
		s.wantError("look at what there is not", err, bus.ErrNoKey)
		_, err = o.Get(s.ctx, "one")
		s.wantError("read what there is not", err, bus.ErrNoKey)
		s.need(o.Delete(s.ctx, "one"))
	}
	missing()
	s.need(o.Put(s.ctx, "one", strings.NewReader("1")))
	s.need(o.Delete(s.ctx, "one"))
	missing()
}

func objectsAll(s *suite) {
	o := s.bus.Objects(bus.ObjectsVolumes)
	names := func() (names []string) {
		all, err := o.All(s.ctx)
		s.need(err)
		for _, found := range all {
			names = append(names, found.Name)
		}
		slices.Sort(names)
		return names
	}
	if got := names(); len(got) > 0 {
		s.Fatalf("there are %v before anything was put", got)
	}
	for _, name := range []string{"a", "b", "c"} {
		s.need(o.Put(s.ctx, name, strings.NewReader(name)))
	}
	s.need(o.Delete(s.ctx, "b"))
	if got := names(); !slices.Equal(got, []string{"a", "c"}) {
		s.Fatalf("there are %v, want a and c", got)
	}
}
