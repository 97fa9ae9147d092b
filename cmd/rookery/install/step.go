// Package install gives a host what it needs to run a NATS server, a coordinator or a node under systemd, and takes it away again. Everything
// that it gives is a step, which looks at the host before it changes anything: so an installation that was interrupted goes on where it stopped.
//
//	steps, err := host.Server(files)
//	err = install.Run(ctx, steps, func(s install.Step, made bool) { fmt.Println(s.Name, made) })
package install

import (
	"context"
	"fmt"
)

// Step is something that a host has in the end.
type Step struct {
	// Name says what is so in the end, as in "rookery-node.service runs", or names what is there, as in "the user rookery".
	Name string
	// Has reports whether the host has it. An error is one that keeps the host from having it, and says what to do.
	Has func(context.Context) (bool, error)
	// Make gives it to the host; nil for what only an operator can give.
	Make func(context.Context) error
}

// Run makes what the host lacks, in order, and tells of each step once the host has it.
func Run(ctx context.Context, steps []Step, tell func(s Step, made bool)) error {
	for _, s := range steps {
		has, err := s.Has(ctx)
		if err == nil && !has {
			if err = ctx.Err(); err == nil {
				err = s.Make(ctx)
			}
		}
		if err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
		tell(s, !has)
	}
	return nil
}

// Lacking tells of each step that the host lacks, and returns how many those are. It changes nothing.
func Lacking(ctx context.Context, steps []Step, tell func(Step)) (lacking int, err error) {
	for _, s := range steps {
		has, err := s.Has(ctx)
		if err != nil {
			return lacking, fmt.Errorf("%s: %w", s.Name, err)
		}
		if !has {
			lacking++
			tell(s)
		}
	}
	return lacking, nil
}
