package projections

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rookery-project/rookery/events"
)

const (
	// loopsFrom is how many ends in a row make a crash loop.
	loopsFrom = 3
	// maxEnds is how many ends of a slot the state remembers.
	maxEnds = 5
	// outputBucket keeps the last output of containers.
	outputBucket = "rookery_output"
)

// Crashes are the ends in a row of a slot's instances, none of which had served for events.SteadyAfter.
type Crashes struct {
	// Revision is the revision of the instances. The count starts again with another revision.
	Revision uint64
	// Row counts the ends in a row. Ends holds the last of them, oldest first.
	Row  uint32
	Ends []End
	// Generation and Attempt name the attempt that ended last. Output says that its last output was kept.
	Generation uint32
	Attempt    uint32
	Output     bool `json:",omitzero"`
	// Moves counts the instances in a row that used up their restarts. The last of them was on Node, and was retired at Moved. Waits
	// says that the slot has had no instance since.
	Moves uint32    `json:",omitzero"`
	Node  string    `json:",omitempty"`
	Moved time.Time `json:",omitzero"`
	Waits bool      `json:",omitzero"`
}

// End is how an attempt of an instance ended.
type End struct {
	Reason events.OfflineReason `json:"reason"`
	// ExitCode is absent where the process did not end by itself.
	ExitCode *int32 `json:"exit_code,omitzero"`
}

// noteEnd counts an attempt that ran and ended. The node may report one end twice: once more when nothing of the instance runs any
// longer, or from a later process of the node. The second report counts nothing.
func (s *Service) noteEnd(i *Instance, d events.InstanceSeen, now time.Time) {
	if s.Job != nil || i.Retired() != "" || !d.Reason.HasRun() {
		return
	}
	slot := s.Slots[i.ID.Ordinal]
	c := slot.Beside().Crashes
	if c != nil && c.Revision == i.Revision && c.Generation == i.ID.Generation && c.Attempt == d.Attempt && c.Row > 0 {
		c.Output = c.Output || d.Output != ""
		return
	}
	if c == nil || c.Revision != i.Revision || i.steady(now) {
		c = &Crashes{Revision: i.Revision}
		slot.aside(func(a *Aside) { a.Crashes = c })
	}
	c.Row++
	c.Ends = append(c.Ends[max(0, len(c.Ends)-maxEnds+1):], End{Reason: d.Reason, ExitCode: d.ExitCode})
	c.Generation, c.Attempt, c.Output = i.ID.Generation, d.Attempt, d.Output != ""
}

// noteRestarts counts the attempts since the attempt that the node reported last.
func (s *Service) noteRestarts(i *Instance, to events.Position) {
	if to.Attempt > i.Seen.Attempt && s.UpToDate(i) {
		s.Slots[i.ID.Ordinal].Restarts += to.Attempt - i.Seen.Attempt
	}
}

// crashed notes that an instance is retired because it used up its restarts.
func (s *Service) crashed(i *Instance, now time.Time) {
	slot := s.Slots[i.ID.Ordinal]
	c := slot.Beside().Crashes
	if c == nil || c.Revision != i.Revision {
		c = &Crashes{Revision: i.Revision, Generation: i.ID.Generation, Attempt: i.Seen.Attempt}
		slot.aside(func(a *Aside) { a.Crashes = c })
	}
	c.Moves, c.Node, c.Moved, c.Waits = c.Moves+1, i.Node, now, true
	s.mayWait = true
}

// waits returns how the slot's instances ended, if the slot waits because its last instance used up its restarts; nil otherwise.
func (s *Service) waits(ordinal uint32) *Crashes {
	if int(ordinal) >= len(s.Slots) {
		return nil
	}
	if c := s.Slots[ordinal].Beside().Crashes; c != nil && c.Waits && c.Revision == s.Target(ordinal) {
		return c
	}
	return nil
}

// anyWaits reports whether any slot of the service waits so. In most services no slot ever does.
func (s *Service) anyWaits() bool {
	return s.mayWait && slices.ContainsFunc(s.Slots, func(slot *Slot) bool {
		return slot.Aside != nil && slot.Aside.Crashes != nil && slot.Aside.Crashes.Waits
	})
}

// RetryAt returns when the slot may have its next instance, if the previous one used up its restarts; the zero time otherwise. The
// wait doubles with each instance in a row that does so.
func (s *Service) RetryAt(ordinal uint32) time.Time {
	c := s.waits(ordinal)
	if c == nil {
		return time.Time{}
	}
	return c.Moved.Add(s.Revisions[c.Revision].Spec.Restarts().Backoff(c.Moves))
}

// CrashedOn returns the node on which the slot's last instance used up its restarts, so that the scheduler avoids it for the next
// one; "" for none. An instance of a global service is replaced on the same node.
func (s *Service) CrashedOn(ordinal uint32) string {
	c := s.waits(ordinal)
	if c == nil || s.Current().Spec.Global() {
		return ""
	}
	return c.Node
}

// Loop returns how the slot's instances of a revision ended, if they are in a crash loop; nil otherwise.
func (s *Slot) Loop(revision uint64) *Crashes {
	if c := s.Beside().Crashes; c != nil && c.Revision == revision && (c.Row >= loopsFrom || c.Moves > 0) {
		return c
	}
	return nil
}

// Key returns the key under which outputBucket has the last output of the attempt that ended last; "" where it has none.
func (c *Crashes) Key(service events.ServiceID, ordinal uint32) string {
	if !c.Output {
		return ""
	}
	return events.OutputKey(events.InstanceID{Service: service, Ordinal: ordinal, Generation: c.Generation}, c.Attempt)
}

// String describes the crash loop to an operator.
func (c *Crashes) String() string {
	codes := make([]string, len(c.Ends))
	for n, end := range c.Ends {
		codes[n] = end.String()
	}
	text := "crash loop"
	switch {
	case c.Row == 1:
		text += ": ended once, exit code "
	case int(c.Row) == len(c.Ends):
		text += fmt.Sprintf(": ended %d times in a row, exit codes ", c.Row)
	default:
		text += fmt.Sprintf(": ended %d times in a row, the last exit codes ", c.Row)
	}
	return text + strings.Join(codes, " ")
}

// String returns the exit code, and adds the reason unless the process ended by itself.
func (e End) String() string {
	switch {
	case e.ExitCode == nil:
		return string(e.Reason)
	case e.Reason == events.OfflineExited:
		return fmt.Sprint(*e.ExitCode)
	}
	return fmt.Sprintf("%d (%s)", *e.ExitCode, e.Reason)
}

// CrashLoop tells an operator how the slot's instances of the revision end, and where their last output is. If the slot waits for the
// next try, it also says when that comes. It returns "" where the slot is in no crash loop.
func (s *Service) CrashLoop(ordinal uint32, revision uint64) string {
	if int(ordinal) >= len(s.Slots) {
		return ""
	}
	slot := s.Slots[ordinal]
	c := slot.Loop(revision)
	if c == nil {
		return ""
	}
	text := c.String()
	clears := slot.Remains() != nil && s.Alone(ordinal)
	if at := s.RetryAt(ordinal); !at.IsZero() && !clears && s.Pending == nil {
		text += "; next try at " + at.UTC().Format(time.RFC3339)
	}
	if key := c.Key(s.ID, ordinal); key != "" {
		text += "; last lines: nats kv get --raw " + outputBucket + " " + key
	}
	return text
}
