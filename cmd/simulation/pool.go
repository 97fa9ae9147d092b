package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/rookery-project/rookery/cmd/simulation/world"
)

// twiceEvery is the number of seeds of which the pool runs one twice.
const twiceEvery = 100

// pool runs many seeds on many workers, until it has run them all, the time is up, or a seed breaks a promise.
type pool struct {
	*options
	workers int

	mu     sync.Mutex
	report report
	first  uint64
	next   uint64
	began  time.Time
}

// run returns the report. It returns an error if a worker does not start.
func (p *pool) run(ctx context.Context) (*report, error) {
	p.began, p.first = time.Now(), 1
	if p.seeds == 0 {
		p.first = rand.Uint64N(1 << 40) // fresh ones
	}
	p.next, p.report.First = p.first, p.first
	p.report.Faults = map[world.Kind]int{}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	shown := make(chan struct{})
	go func() {
		defer close(shown)
		p.show(ctx)
	}()
	var running sync.WaitGroup
	errs := make([]error, p.workers)
	for i := range p.workers {
		running.Go(func() { errs[i] = p.work(ctx) })
	}
	running.Wait()
	cancel()
	<-shown
	p.report.Workers, p.report.Wall = p.workers, time.Since(p.began)
	return &p.report, errors.Join(errs...)
}

// take returns the next seed, or false if the pool must run no other.
func (p *pool) take() (uint64, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	seed := p.next
	over := len(p.report.Failures) > 0 || (p.seeds > 0 && seed > p.seeds) || (p.lasts > 0 && time.Since(p.began) >= p.lasts)
	if over {
		return 0, false
	}
	p.next++
	return seed, true
}

// work runs seeds on one worker, and shrinks a plan that breaks a promise.
func (p *pool) work(ctx context.Context) (err error) {
	crashed := false
	w, err := startWorker(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if ended := w.stop(); ended != nil && ctx.Err() == nil && !crashed {
			err = errors.Join(err, ended)
		}
	}()
	for {
		seed, ok := p.take()
		if !ok || ctx.Err() != nil {
			return nil
		}
		plan := world.Draw(seed, p.beside...)
		r, err := w.run(task{Plan: plan})
		if err == nil && len(r.Broken) == 0 && (p.twice || (seed-p.first)%twiceEvery == 0) {
			err = p.again(w, plan, &r)
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, errCrashed):
			crashed = true
			p.fail(failure{Seed: seed, Beside: p.beside, Promise: promisePanic, What: err.Error()})
			return nil
		case err != nil:
			return err
		}
		p.add(r)
		if len(r.Broken) > 0 {
			p.fail(p.explain(ctx, w, plan, r))
			return nil
		}
	}
}

// again runs the plan a second time. If the second run differs, the plan breaks the promise of determinism.
func (p *pool) again(w *worker, plan world.Plan, r *world.Result) error {
	err := differs(w, plan, r)
	if err == nil {
		p.mu.Lock()
		p.report.Twice++
		p.mu.Unlock()
	}
	return err
}

// differs runs the plan again, and adds a breach to the result if the second run differs.
func differs(w *worker, plan world.Plan, r *world.Result) error {
	second, err := w.run(task{Plan: plan})
	if err != nil {
		return err
	}
	if second.Log != r.Log || second.Digest != r.Digest {
		r.Broken = append(r.Broken, world.Breach{
			Promise: promiseDeterminism, What: fmt.Sprintf("one seed gave two different runs: the hash of one log is %s, of the other %s", r.Log, second.Log),
		})
	}
	return nil
}

func (p *pool) add(r world.Result) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.report.add(r)
}

// fail notes a broken promise. The report lists failures by their seed.
func (p *pool) fail(f failure) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.report.Failures = append(p.report.Failures, f)
	slices.SortFunc(p.report.Failures, func(a, b failure) int { return cmp.Compare(a.Seed, b.Seed) })
}

// show prints the progress if standard error is a terminal.
func (p *pool) show(ctx context.Context) {
	if p.output == "json" || !term.IsTerminal(int(os.Stderr.Fd())) {
		<-ctx.Done()
		return
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			fmt.Fprint(os.Stderr, "\r\x1b[K")
			return
		case <-tick.C:
			p.mu.Lock()
			fmt.Fprintf(os.Stderr, "\r\x1b[K%s: %s", time.Since(p.began).Round(time.Second), p.report.line())
			p.mu.Unlock()
		}
	}
}
