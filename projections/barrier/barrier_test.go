package barrier_test

import (
	"reflect"
	"testing"

	"github.com/rookery-project/rookery/projections/barrier"
)

var (
	done    = barrier.Participant{Ordinal: 0, Reached: true}
	ahead   = barrier.Participant{Ordinal: 1, Reached: true, Broken: "it went away afterwards"}
	coming  = barrier.Participant{Ordinal: 2, Missing: "it does not serve"}
	another = barrier.Participant{Ordinal: 3}
	lost    = barrier.Participant{Ordinal: 4, Broken: "it is lost"}
)

func TestVerdicts(t *testing.T) {
	for name, tt := range map[string]struct {
		of   []barrier.Participant
		want barrier.Verdict
	}{
		"no participants":           {nil, barrier.Verdict{State: barrier.Passed}},
		"all are done":              {[]barrier.Participant{done, ahead}, barrier.Verdict{State: barrier.Passed}},
		"some are not":              {[]barrier.Participant{done, coming, another}, barrier.Verdict{State: barrier.Waiting, Waits: []barrier.Participant{coming, another}}},
		"one never will be":         {[]barrier.Participant{done, lost}, barrier.Verdict{State: barrier.Broken, Broken: []barrier.Participant{lost}}},
		"one is not, another never": {[]barrier.Participant{lost, coming}, barrier.Verdict{State: barrier.Waiting, Waits: []barrier.Participant{coming}, Broken: []barrier.Participant{lost}}},
	} {
		if got := barrier.Judge(tt.of); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
	}
}
