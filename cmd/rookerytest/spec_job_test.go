package rookerytest_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/rookery-project/rookery/events"
)

// jobRows are jobs. Each ends by itself: what ran is seen in Podman's own list and in `rookery ps`.
func jobRows() []specRow {
	return []specRow{
		{"job", `"args":["-exit-after","300ms"],"mode":"job","job":{"completions":3,"parallelism":2}`, func(s *seen) {
			slots, generation := map[uint32]bool{}, event[events.InstancePlaced](s).Generation
			for range 3 {
				e := event[events.InstanceCompleted](s)
				if slots[e.Ordinal] || e.Generation != generation || e.ExitCode == nil || *e.ExitCode != 0 {
					s.Errorf("what completed is %+v, want each slot once", e)
				}
				slots[e.Ordinal] = true
			}
			event[events.CommandSucceeded](s)
			s.left("completed", "completed", "completed")
		}},
		{"job that fails", `"args":["-exit-code","3"],"mode":"job","job":{"backoff_limit":1},"restart":{"delay":"10ms"}`, func(s *seen) {
			for range 2 {
				generation := event[events.InstancePlaced](s).Generation
				if e := s.offline(events.OfflineExited, ""); e.Generation != generation || e.Attempt != 0 || e.ExitCode == nil || *e.ExitCode != 3 {
					s.Errorf("the end is %+v, want that of generation %d with exit code 3", e, generation)
				}
			}
			e := event[events.CommandFailed](s)
			s.want("the reason", string(e.Reason), string(events.ReasonBackoffLimit))
			s.wantIn("the message", e.Message, "exit code 3")
			s.left("failed (exited with 3)")
		}},
		{"job that ends while the node is down", `"args":["-exit-after","1s"],"mode":"job"`, func(s *seen) {
			generation := event[events.InstancePlaced](s).Generation
			id := s.online().Handle
			s.node.kill()
			s.want("the exit code", s.podman("wait", id), "0")
			s.startNode()
			if e := event[events.InstanceCompleted](s); e.Generation != generation || e.Attempt != 0 {
				s.Errorf("what completed is %+v, want generation %d in its first attempt", e, generation)
			}
			event[events.CommandSucceeded](s)
			s.left("completed")
		}},
		{"job with a schedule", `"args":["-exit-after","300ms"],"mode":"job","job":{"schedule":"* * * * *","time_zone":"Asia/Kolkata"}`, func(s *seen) {
			s.scheduled()
			event[events.InstanceCompleted](s)
			s.left("completed")
		}},
	}
}

// left waits until none of the service's containers is left, and holds its slots to have these statuses.
func (s *seen) left(statuses ...string) {
	s.Helper()
	s.Until("no container of "+s.service+" is left", func() bool { return s.listed("{{.ID}}") == "" })
	s.Until(fmt.Sprintf("the slots are %q", statuses), func() bool {
		out, _ := rookery(s, "ps", s.service, "--server", s.URL)
		rows := strings.Split(strings.TrimSpace(out), "\n")[1:]
		if len(rows) != len(statuses) {
			return false
		}
		for i, row := range rows {
			if !strings.Contains(row, " "+statuses[i]+" ") {
				return false
			}
		}
		return true
	})
}

// scheduled waits for the next run of a job that is due every minute.
func (s *seen) scheduled() {
	s.Helper()
	event[events.CommandSucceeded](s)
	s.want("what runs before it is due", s.listed("{{.ID}}"), "")
	for deadline := time.After(90 * time.Second); ; {
		select {
		case m := <-s.events.Messages():
			data, _, err := events.Decode(m)
			if err != nil {
				s.Fatal(err)
			}
			if fired, ok := data.(events.ServiceFired); ok {
				if late := time.Since(fired.Scheduled); fired.Run != 1 || late < 0 || late > 10*time.Second {
					s.Errorf("run %d begins %s after it was due, want run 1 at once", fired.Run, late)
				}
				return
			}
		case <-deadline:
			s.Fatal("no run was due")
		}
	}
}
