package bus_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

func TestALargeAnswerComesInPartsAndWhole(t *testing.T) {
	t.Parallel()
	b := open(t)
	large := bytes.Repeat([]byte("0123456789"), 450_001) // five parts of 900,000 bytes, and ten bytes more
	stop, err := b.Serve(bus.Coordinator{}, map[string]bus.Question{
		"small": func(bus.Asked) (events.Message, error) { return events.Message{Body: []byte("{}")}, nil },
		"even":  func(bus.Asked) (events.Message, error) { return events.Message{Body: large[:1_800_000]}, nil },
		"large": func(bus.Asked) (events.Message, error) { return events.Message{Body: large}, nil },
		"too-large": func(bus.Asked) (events.Message, error) {
			return events.Message{Body: make([]byte, bus.MaxAnswer+1)}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for _, test := range []struct {
		name, code, parts string
		body              []byte
	}{
		{"small", "", "", []byte("{}")},
		{"even", "", "2", large[:1_800_000]},
		{"large", "", "6", large},
		{"too-large", "413", "", []byte(fmt.Sprintf(`{"code":413,"reason":"the answer has %d bytes, more than %d: ask for less"}`, bus.MaxAnswer+1, bus.MaxAnswer))},
	} {
		got, err := b.RequestWhole(ctx, events.Message{Subject: events.APIRoot + "." + test.name})
		if err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		code, parts := got.Header.Get(bus.HeaderErrorCode), got.Header.Get(bus.HeaderParts)
		if code != test.code || parts != test.parts || !bytes.Equal(got.Body, test.body) {
			t.Errorf("%s: code %q, %q parts, %d bytes; want code %q, %q parts, %d bytes",
				test.name, code, parts, len(got.Body), test.code, test.parts, len(test.body))
		}
	}
	if _, err := b.RequestWhole(ctx, events.Message{Subject: events.APIRoot + ".nobody"}); !errors.Is(err, bus.ErrNoAnswer) {
		t.Errorf("without an answer the error is %v, want ErrNoAnswer", err)
	}
}
