package main

import (
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/term"
)

// progress is the status line, which a terminal alone shows.
type progress struct {
	mu    sync.Mutex
	quiet bool
	began time.Time
	shown bool
}

func newProgress() *progress {
	return &progress{quiet: !term.IsTerminal(int(os.Stderr.Fd())), began: time.Now()}
}

// say replaces the line, once the run has lasted for a second.
func (p *progress) say(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.quiet || time.Since(p.began) < time.Second {
		return
	}
	p.shown = true
	fmt.Fprintf(os.Stderr, "\r\x1b[K%s: %s", time.Since(p.began).Round(time.Second), fmt.Sprintf(format, args...))
}

// end removes the line.
func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		fmt.Fprint(os.Stderr, "\r\x1b[K")
	}
}
