package api

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/events/bus/memory"
	"github.com/rookery-project/rookery/events/bus/session"
)

// TestLogsAreBounded reads instances that print much, little and without end. The answer has the last lines that fit, names the instances
// whose lines are left out, and arrives in time.
func TestLogsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memory.New(time.Now)
		const much, instances = 800, 100
		stop, err := session.Serve(b, plainly(events.SessionSubjects("node-0", events.SessionLogs)), instances, func(ctx context.Context, c *session.Conn, m events.Message) ([]byte, error) {
			_, _, id, _ := events.ParseSessionSubject(m.Subject)
			count := 1
			if id.Ordinal%2 == 0 {
				count = much
			}
			// As JSON, such a line takes six times its size.
			l := events.LogLine{Time: time.Now(), Stream: events.Stdout, Text: strings.Repeat("\x01", 400)}
			for i := range count {
				l.Time = time.Unix(int64(i), 0)
				if err := c.Send(ctx, events.FrameLines, l.AppendTo(nil)); err != nil {
					return nil, err
				}
			}
			if id.Ordinal == 0 {
				<-ctx.Done()
			}
			return nil, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		defer stop()
		var there []found
		for i := range uint32(instances) {
			there = append(there, found{id: events.InstanceID{Service: events.ServiceID{Namespace: "demo", Name: "web"}, Ordinal: i, Generation: 1}, node: "node-0"})
		}
		began := time.Now()
		a := readAll(t.Context(), b, there, []byte("{}"))
		if took := time.Since(began); took > readTimeout {
			t.Errorf("it took %s", took)
		}
		held := 0
		for _, l := range a.Lines {
			held += len(l.Text)
		}
		if held > mostHeld+instances*session.MaxFrame {
			t.Errorf("%d bytes were held", held)
		}
		a.bound(mostLines)
		body, err := json.Marshal(a)
		if err != nil || len(body) > mostLines+64<<10 || len(body) < mostLines/2 || len(body) > bus.MaxMessage {
			t.Errorf("the answer has %d bytes: %v", len(body), err)
		}
		if !a.Truncated || len(a.TruncatedInstances) != instances || len(a.Missing) != 1 || a.Missing[0].Ordinal != 0 {
			t.Errorf("%d instances are truncated, and %v missing", len(a.TruncatedInstances), a.Missing)
		}
		if last := a.Lines[len(a.Lines)-1]; !last.Time.Equal(time.Unix(much-1, 0)) {
			t.Errorf("the last line is of %s", last.Time)
		}
	})
}

// plainly is where sessions are opened where accounts are off.
func plainly(_, plain string) []string { return []string{plain} }
