package rookerytest_test

import (
	"context"
	"fmt"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
)

// followed is the log, folded from its first message up to where the test has read it.
type followed struct {
	fold    *projections.Fold
	history history
	removed int // instances
	reader  bus.Reader
	each    func() // is called after each round; nil for nothing
}

func newFollowed() *followed {
	return &followed{fold: projections.NewFold(), history: history{outcomes: map[uint64][]string{}, ends: map[uint64][]string{}}}
}

// follow folds the log to its end. A gap, a fork or a broken hash is an error.
func (l *followed) follow(ctx context.Context, b bus.Bus) error {
	const patience = 5 * time.Second
	call, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	state, err := b.State(call, bus.Log)
	if err != nil {
		return err
	}
	for l.fold.Last() < state.Last {
		if l.reader == nil {
			if l.reader, err = b.Read(ctx, bus.Log, l.fold.Last()+1); err != nil {
				return err
			}
		}
		select {
		case m, ok := <-l.reader.Messages():
			if !ok {
				l.stop()
				continue
			}
			records, err := l.fold.Take(m)
			if err != nil {
				return fmt.Errorf("the log does not replay: %w", err)
			}
			for _, r := range records {
				l.history.note(r)
				if _, gone := r.Data.(events.InstanceRemoved); gone {
					l.removed++
				}
			}
			if l.each != nil && len(records) > 0 {
				l.each()
			}
		case <-call.Done():
			l.stop() // what it reads by may be lost with a server
			return fmt.Errorf("the log is not read beyond %d", l.fold.Last())
		}
	}
	return nil
}

func (l *followed) stop() {
	if l.reader != nil {
		l.reader.Stop()
		l.reader = nil
	}
}
