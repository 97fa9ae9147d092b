package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/rookery-project/rookery/coordinator"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
)

// errLevel occurs when the cluster is at a level at which this program does not work.
var errLevel = errors.New("this program does not work at the level of the cluster")

// lookAgain is how long a coordinator waits for its upgrade until it looks whether it still has to. The level may have been raised to one of its
// own, and a log may have been restored.
const lookAgain = 10 * time.Minute

// outdated reports whether an error says that the log is that of a newer Rookery, or of one that is too old for this program.
func outdated(err error) bool {
	return errors.Is(err, errLevel) || errors.Is(err, projections.ErrUnknown)
}

// works returns errLevel, with what to do, if this program does not work at the level of the state.
func (c *Coordinator) works(at *projections.Cluster) error {
	if advice := c.Program.Levels.Advice(at.Level); advice != "" {
		return fmt.Errorf("%w: %s", errLevel, advice)
	}
	return nil
}

// awaitUpgrade does nothing for a while but say what is needed: the state is not known from where the log cannot be read. A process that ended
// instead would be started again and again. It answers no questions, and still says that it is there.
func (c *Coordinator) awaitUpgrade(ctx context.Context, why error) error {
	c.settled = false
	stop, err := c.Bus.Serve(c.self(), nil)
	if err != nil {
		return err
	}
	defer stop()
	c.meters.Outdated(true)
	defer c.meters.Outdated(false)
	c.Log.Error("waiting to be replaced by another version", "error", why, "version", c.Program.Version, "levels", c.Program.Levels.String())
	_ = c.rest(ctx, lookAgain) // it ends early only if ctx does
	return nil
}

// self is what the coordinator says of itself.
func (c *Coordinator) self() bus.Coordinator {
	return bus.Coordinator{Name: c.Name, Program: c.Program}
}

// runningFor returns the programs that take part, if one of the commands depends on them.
func (l *leader) runningFor(commands []events.Message) coordinator.Running {
	if !slices.ContainsFunc(commands, coordinator.NeedsRunning) {
		return coordinator.Running{}
	}
	return l.running()
}

// running returns the programs that take part.
func (l *leader) running() coordinator.Running {
	running := coordinator.Running{Leader: l.Program, Coordinators: map[string]events.Program{}}
	serving, err := l.Bus.Coordinators(l.ctx)
	if err != nil {
		running.Unknown = err.Error()
	}
	for _, c := range serving {
		running.Coordinators[c.Name] = c.Program
	}
	if _, answers := running.Coordinators[l.Name]; err == nil && !answers {
		running.Unknown = "this one, which leads, does not hear itself"
	}
	running.Nodes = l.heartbeats.processes()
	return running
}

// answerRunning answers on events.RunningSubject, beside the loop, as long as the lease rules out another leader. After that it is silent, and the
// other one answers.
func (l *leader) answerRunning(events.Message) (events.Message, error) {
	body, err := json.Marshal(l.running())
	if l.ctx.Err() != nil || l.lease.expired() {
		return events.Message{}, &bus.QuestionError{Code: 503, Reason: "another coordinator may lead by now: ask again"}
	}
	return events.Message{Header: events.Header{}, Body: body}, err
}

// processes returns those that sent a heartbeat in this term.
func (h *heartbeats) processes() map[string]coordinator.Process {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := map[string]coordinator.Process{}
	for name, b := range h.nodes {
		if b.program != nil {
			all[name] = coordinator.Process{Incarnation: b.incarnation, Program: *b.program}
		}
	}
	return all
}
