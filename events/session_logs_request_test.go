package events_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/rookery-project/rookery/events"
)

func TestLogsRequestsRead(t *testing.T) {
	r, err := events.ParseLogsRequest([]byte(`{"since":"2026-11-01T12:00:00Z","tail":20,"follow":true}`))
	if err != nil || !r.Since.Equal(time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)) || r.Tail == nil || *r.Tail != 20 || !r.Follow {
		t.Errorf("it reads as %+v, %v", r, err)
	}
	if r, err := events.ParseLogsRequest([]byte(`{}`)); err != nil || r.Tail != nil || r.Follow || !r.Since.IsZero() {
		t.Errorf("a request for all lines reads as %+v, %v", r, err)
	}
	for body, taken := range map[string]bool{
		`{"tail":0}`: true, fmt.Sprintf(`{"tail":%d}`, events.MaxTail): true,
		`{"tail":-1}`: false, fmt.Sprintf(`{"tail":%d}`, events.MaxTail+1): false, `{"lines":1}`: false, `{`: false,
	} {
		if _, err := events.ParseLogsRequest([]byte(body)); (err == nil) != taken {
			t.Errorf("%s: %v, want it taken: %t", body, err, taken)
		}
	}
}

func TestSessionSubjectsReadBack(t *testing.T) {
	id := events.InstanceID{Service: events.ServiceID{Namespace: "demo", Name: "web"}, Ordinal: 4, Generation: 1}
	for user, want := range map[string]string{"": "rookery.node.n1.logs.demo.web.4.1", "ann": "rookery.node.n1.logs.by.ann.demo.web.4.1"} {
		subject := events.SessionSubject(user, "n1", events.SessionLogs, id)
		if subject != want {
			t.Fatalf("a session is opened at %s, want %s", subject, want)
		}
		if by, kind, got, ok := events.ParseSessionSubject(subject); !ok || got != id || by != user || kind != events.SessionLogs {
			t.Errorf("%s reads as %s of %q with %v, %t", subject, kind, by, got, ok)
		}
	}
	by, plain := events.SessionSubjects("n1", events.SessionExec)
	if by != "rookery.node.n1.exec.by.*.*.*.*.*" || plain != "rookery.node.n1.exec.*.*.*.*" {
		t.Errorf("a node listens to %s and %s", by, plain)
	}
	for _, other := range []string{
		"", "rookery.node.n1.logs.demo.web.4", "rookery.node.n1.logs.demo.web.4.1.stdin", "other.node.n1.logs.demo.web.4.1",
		"rookery.node.n1.logs.by.Ann.demo.web.4.1", "rookery.node.n1.logs.as.ann.demo.web.4.1",
	} {
		if _, _, id, ok := events.ParseSessionSubject(other); ok {
			t.Errorf("%q reads as %v", other, id)
		}
	}
}
