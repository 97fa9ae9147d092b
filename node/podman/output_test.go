package podman_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
	"github.com/rookery-project/rookery/node/podman"
)

// frames writes a log as Podman sends it.
func frames(parts ...string) []byte {
	var log []byte
	for i, part := range parts {
		log = append(log, byte(1+i%2), 0, 0, 0)
		log = binary.BigEndian.AppendUint32(log, uint32(len(part)))
		log = append(log, part...)
	}
	return log
}

func TestTheEndOfALogIsRead(t *testing.T) {
	long := strings.Repeat("x", 3*events.MaxOutput)
	for name, tt := range map[string]struct {
		log  []byte
		want string
		err  error
	}{
		"nothing":               {nil, "", nil},
		"parts of both streams": {frames("a\n", "b", "", "c\n"), "a\nbc\n", nil},
		"much":                  {frames(long, "end"), long[:2*events.MaxOutput-3] + "end", nil},
		"a part cut off":        {frames("abc")[:10], "", io.ErrUnexpectedEOF},
		"a header cut off":      {frames("a", "b")[:12], "", io.ErrUnexpectedEOF},
	} {
		got, err := podman.LastParts(bytes.NewReader(tt.log))
		if string(got) != tt.want || !errors.Is(err, tt.err) {
			t.Errorf("%s: got %d bytes, %v; want %d, %v", name, len(got), err, len(tt.want), tt.err)
		}
	}
	if _, err := podman.LastParts(strings.NewReader("\x01\x00\x00\x00\xff\xff\xff\xff")); err == nil {
		t.Error("a part that is longer than a log gives no error")
	}
}

// testOutput reads what a container has printed before its start, after its end, and after it was removed.
func testOutput(t *testing.T, b *bench) {
	plan := b.plan(t, "-print", "60")
	hints := b.watch(t)
	c := b.prepare(t, plan)
	if text, err := b.engine.Output(t.Context(), c); err != nil || len(text) > 0 {
		t.Errorf("before its start it has printed %q, %v", text, err)
	}
	b.start(t, c)
	var want strings.Builder
	for i := 60 - events.MaxOutputLines; i < 60; i++ {
		fmt.Fprintf(&want, "line %d of 60\n", i+1)
	}
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for deadline := time.After(time.Minute); ; {
		text, err := b.engine.Output(t.Context(), c)
		if err == nil && string(text) == want.String() {
			break
		}
		select {
		case <-again.C:
		case <-deadline:
			t.Fatalf("it has printed %q, %v", text, err)
		}
	}
	kill(t, b.pid(t, c))
	hints.wait(t, plan.Instance)
	if text, err := b.engine.Output(t.Context(), *b.inspect(t, plan)); err != nil || string(text) != want.String() {
		t.Errorf("it has printed %q, %v", text, err)
	}
	b.remove(t, c)
	if text, err := b.engine.Output(t.Context(), node.Container{Handle: c.Handle}); err == nil {
		t.Errorf("after its removal it has printed %q", text)
	}
}
