package events

import (
	"errors"
	"strings"
	"testing"
)

// painted stands for a kind that is in its third version.
type painted struct {
	Colours []string `json:"colours"`
}

func (painted) Kind() Kind { return Kind{Thing: "wall", Version: 3, Name: "painted"} }

func paintedAt(version int) Kind { return Kind{Thing: "wall", Version: version, Name: "painted"} }

func lifting(from, to string) func([]byte) ([]byte, error) {
	return func(body []byte) ([]byte, error) {
		if !strings.Contains(string(body), from) {
			return nil, errors.New("it has no " + from)
		}
		return []byte(strings.ReplaceAll(string(body), from, to)), nil
	}
}

func TestOlderVersionsAreLifted(t *testing.T) {
	r := newRegistry(nil, map[Kind]upcast{
		paintedAt(1): {to: paintedAt(2), lift: lifting(`"color"`, `"colour"`)},
		paintedAt(2): {to: paintedAt(3), lift: lifting(`"colour":"red"`, `"colours":["red"]`)},
	}, of[painted]())
	for _, tt := range []struct {
		version int
		body    string
		want    error
	}{
		{1, `{"color":"red"}`, nil},
		{2, `{"colour":"red"}`, nil},
		{3, `{"colours":["red"]}`, nil},
		{1, `{"colour":"red"}`, ErrMalformed},
		{2, `{"color":"red"}`, ErrMalformed},
		{3, `{"colours":["red"],"gloss":"matt"}`, nil},
		{3, `{"colours":"red"}`, ErrMalformed},
		{4, `{"colours":["red"]}`, ErrUnknownType},
	} {
		data, err := r.decode(paintedAt(tt.version).String(), []byte(tt.body))
		if !errors.Is(err, tt.want) {
			t.Errorf("version %d: %s: %v, want %v", tt.version, tt.body, err, tt.want)
		}
		if tt.want != nil {
			continue
		}
		if p, ok := data.(painted); !ok || len(p.Colours) != 1 || p.Colours[0] != "red" {
			t.Errorf("version %d: %s reads as %+v", tt.version, tt.body, data)
		}
	}
}

func TestUpcastsLeadToKindsThatAreKnown(t *testing.T) {
	for from, up := range standard.upcasts {
		if up.to.Thing != from.Thing || up.to.Name != from.Name || up.to.Version != from.Version+1 {
			t.Errorf("%s is lifted to %s", from, up.to)
		}
		if _, ok := standard.kinds[from]; ok {
			t.Errorf("%s is both lifted and read as it is", from)
		}
	}
}

func TestSamplesAreInOrder(t *testing.T) {
	samples := Samples()
	if len(samples) != len(standard.kinds) {
		t.Errorf("%d samples of %d kinds", len(samples), len(standard.kinds))
	}
	for i := 1; i < len(samples); i++ {
		if a, b := samples[i-1].Kind().String(), samples[i].Kind().String(); a >= b {
			t.Errorf("%s stands before %s", a, b)
		}
	}
}
