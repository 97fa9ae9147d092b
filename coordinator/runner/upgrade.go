package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rookery-project/rookery/coordinator"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// errLevel occurs when the cluster is at a level at which this program does not work.
var errLevel = errors.New("this program does not work at the level of the cluster")

// sayAgain is how often a coordinator that waits for its upgrade says so.
const sayAgain = 10 * time.Minute

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

// awaitUpgrade does nothing but say what is needed until ctx ends: the state is not known from where the log cannot be read. A process that ended
// instead would be started again and again.
func (c *Coordinator) awaitUpgrade(ctx context.Context, err error) error {
	c.settled = false
	c.meters.Outdated()
	for ctx.Err() == nil {
		c.Log.Error("waiting to be replaced by another version", "error", err, "version", c.Program.Version, "levels", c.Program.Levels.String())
		if c.rest(ctx, sayAgain) != nil {
			break
		}
	}
	return nil
}

// running returns the programs that take part, if one of the commands depends on them.
func (l *leader) running(commands []events.Message) coordinator.Running {
	running := coordinator.Running{Leader: l.Program}
	depends := func(m events.Message) bool {
		_, finishes := events.ParseRequest(m).Command.(events.ClusterFinishUpgrade)
		return finishes
	}
	if !slices.ContainsFunc(commands, depends) {
		return running
	}
	serving, err := l.Bus.Coordinators(l.ctx)
	if err != nil {
		running.Unknown = err.Error()
	}
	running.Coordinators = map[string]events.Program{}
	for _, c := range serving {
		running.Coordinators[c.Name] = c.Program
	}
	running.Nodes = l.heartbeats.processes()
	return running
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
