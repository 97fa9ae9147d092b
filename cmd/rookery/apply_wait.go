package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
)

// worst lists the exit codes of commands, the worst first.
var worst = []int{exitSignal, exitError, exitFailed, exitRejected, exitSuperseded, exitTimeout}

// carryOut publishes the plan's commands and waits until they end. It first sets the policy, then sends all commands that create and
// change services, and sends the drops once all of these have succeeded. It returns all errors, with the worst exit code.
func (p *plan) carryOut(ctx context.Context, b *bus.JetStream, progress *progress) error {
	if err := p.Policy.carryOut(ctx, b, progress); err != nil {
		return err
	}
	err := p.ensure(ctx, b, progress, p.ensures())
	drops := slices.DeleteFunc(slices.Clone(p.Steps), func(s *step) bool { return s.Action != actionDrop })
	if err == nil {
		return together(ctx, b, progress, drops)
	}
	for _, s := range drops {
		s.Note = "not dropped: another service's command did not succeed"
		folded(progress, s.Service.String()+": "+s.Note, 0)
	}
	return err
}

// together publishes the commands of the steps in order, and waits until all have ended or the context has.
func together(ctx context.Context, b *bus.JetStream, progress *progress, steps []*step) error {
	problems := make([]error, len(steps))
	var waits sync.WaitGroup
	for i, s := range steps {
		w := &waiter{bus: b, progress: progress, scope: scopeOf(s.Service), waves: waves{}}
		seen, err := s.publish(ctx, w)
		if err != nil {
			problems[i] = fmt.Errorf("%s: %w", s.Service, err)
			break // the others would fail for the same reason
		}
		waits.Go(func() { problems[i] = s.wait(ctx, w, seen) })
	}
	waits.Wait()
	return worstOf(steps, problems)
}

func (s *step) publish(ctx context.Context, w *waiter) (bus.Subscription, error) {
	m, err := commandMessage(scopeOf(s.Service), s.ask)
	if err != nil {
		return nil, err
	}
	seen, err := w.publish(ctx, m)
	if err != nil {
		return nil, err
	}
	s.Command = w.sequence
	fmt.Fprintf(w.progress, "%s: command %d is stored\n", s.Service, s.Command)
	return seen, nil
}

func (s *step) wait(ctx context.Context, w *waiter, seen bus.Subscription) error {
	outcome, err := w.follow(ctx, seen)
	if err != nil {
		return fmt.Errorf("%s: %w", s.Service, err)
	}
	s.Outcome = &outcome
	if err := failureOf(outcome); err != nil {
		return fmt.Errorf("%s: %w", s.Service, err)
	}
	w.succeeded(ctx, s.Service.String())
	return nil
}

// worstOf joins the problems into one error with the worst exit code. After Ctrl-C the error lists the commands that continue.
func worstOf(steps []*step, problems []error) error {
	canceled := func(err error) bool { return errors.Is(err, context.Canceled) }
	if slices.ContainsFunc(problems, canceled) {
		problems = append(slices.DeleteFunc(problems, canceled), stopped(steps))
	}
	problems = slices.DeleteFunc(problems, func(err error) bool { return err == nil })
	if len(problems) == 0 {
		return nil
	}
	code := len(worst) - 1
	for _, err := range problems {
		code = min(code, max(0, slices.Index(worst, codeOf(err))))
	}
	return &codedError{worst[code], errors.Join(problems...)}
}

func codeOf(err error) int {
	var coded *codedError
	if errors.As(err, &coded) {
		return coded.code
	}
	return exitError
}

// stopped lists the commands that the cluster still carries out after Ctrl-C has ended the wait.
func stopped(steps []*step) error {
	var going []string
	for _, s := range steps {
		if s.Command > 0 && (s.Outcome == nil || s.Outcome.Outcome == projections.Accepted) {
			going = append(going, fmt.Sprintf("%d (%s)", s.Command, s.Service))
		}
	}
	if len(going) == 0 {
		return &codedError{exitSignal, errors.New("interrupted: no command is in progress")}
	}
	return &codedError{exitSignal, fmt.Errorf("interrupted: these commands continue: %s: see `rookery ps`", strings.Join(going, ", "))}
}
