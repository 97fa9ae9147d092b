package runner

import (
	"fmt"
	"testing"
	"time"

	"github.com/rookery-project/rookery/events"
)

// TestSessionsThatAreAlikeAreRecordedOnceAMinute opens sessions again and again, by one user and by many.
func TestSessionsThatAreAlikeAreRecordedOnceAMinute(t *testing.T) {
	var r recorded
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	ann := opener{user: "ann", kind: events.SessionLogs}
	r.note(ann, began)
	for o, row := range map[opener]struct {
		after time.Duration
		want  bool
	}{
		ann:                                     {recordAgain - 1, false},
		{user: "ann", kind: events.SessionExec}: {0, true},
		{user: "ben", kind: events.SessionLogs}: {0, true},
	} {
		if got := r.due(o, began.Add(row.after)); got != row.want {
			t.Errorf("a session of %+v must be recorded after %s: %t", o, row.after, got)
		}
	}
	if !r.due(ann, began.Add(recordAgain)) {
		t.Error("a session is not recorded again after a minute")
	}
	for i := range 3 * mostRecorded {
		r.note(opener{user: fmt.Sprint(i)}, began)
	}
	if len(r.last) > mostRecorded {
		t.Errorf("%d sessions are remembered, more than %d", len(r.last), mostRecorded)
	}
}
