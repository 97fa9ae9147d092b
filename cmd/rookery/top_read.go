package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
)

// topReading is what the operator opened from a row: the output of a command about it. The zero verb opens nothing.
type topReading struct {
	number int // of this reading, from 1
	verb   string
	of     string // a service, as in demo/web, or a node
	width  int    // of the screen
}

// topText is output of a reading, in lines. whole says that it replaces the output until then.
type topText struct {
	number int
	lines  []string
	whole  bool
}

// topVerb is a key that opens the output of a command about a row.
type topVerb struct {
	key, verb string
	command   func(*link) *cobra.Command
	// service and node return the arguments about a service and a node; nil where the command is not about one.
	service, node func(of string) []string
	// follows says that the command prints more until it is stopped. Others are repeated.
	follows bool
}

var topVerbs = []topVerb{
	{key: "enter", verb: "inspect", command: inspectCommand, service: before(), node: before()},
	{key: "e", verb: "events", command: eventsCommand, service: before(lately...), node: func(of string) []string { return append([]string{"--node", of}, lately...) }, follows: true},
	{key: "l", verb: "logs", command: logsCommand, service: before("--follow", "--tail", "200"), follows: true},
	{key: "x", verb: "explain", command: explainCommand, service: before()},
	{key: "u", verb: "stats", command: statsCommand, service: before()},
}

var lately = []string{"--follow", "--since", "24h"}

// before returns a function that puts a name before these flags.
func before(flags ...string) func(of string) []string {
	return func(of string) []string { return append([]string{of}, flags...) }
}

// args returns the arguments about a service or a node, and false where the command is not about it.
func (v topVerb) args(of string) ([]string, bool) {
	about := v.node
	if strings.Contains(of, "/") {
		about = v.service
	}
	if about == nil {
		return nil, false
	}
	return about(of), true
}

// verbNamed returns the verb of this name; for another the zero value, which is about nothing.
func verbNamed(name string) topVerb {
	if i := slices.IndexFunc(topVerbs, func(v topVerb) bool { return v.verb == name }); i >= 0 {
		return topVerbs[i]
	}
	return topVerb{}
}

// readWanted runs the reading that was wanted last, until the context ends.
func readWanted(ctx context.Context, l *link, wanted <-chan topReading, tell func(topText)) {
	stop, last := func() {}, 0
	defer func() { stop() }()
	for {
		select {
		case <-ctx.Done():
			return
		case r := <-wanted:
			if r.number > last {
				stop()
				stop, last = r.begin(ctx, l, tell), r.number
			}
		}
	}
}

// begin runs the reading until the context ends, or the returned function is called. That waits for its end.
func (r topReading) begin(ctx context.Context, l *link, tell func(topText)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	work.Go(func() { r.run(ctx, l, tell) })
	return func() {
		cancel()
		work.Wait()
	}
}

// run runs the command of the reading again and again, until the context ends.
func (r topReading) run(ctx context.Context, l *link, tell func(topText)) {
	const pause = 2 * time.Second // between two runs
	again := time.NewTicker(pause)
	defer again.Stop()
	v := verbNamed(r.verb)
	for args, is := v.args(r.of); is && ctx.Err() == nil; {
		p := &paper{reading: r, tell: tell, whole: true, follows: v.follows}
		cmd := v.command(l)
		cmd.SilenceUsage, cmd.SilenceErrors = true, true
		cmd.SetArgs(args)
		cmd.SetOut(p)
		cmd.SetErr(p)
		if err := cmd.ExecuteContext(ctx); err != nil && ctx.Err() == nil {
			fmt.Fprintln(p, "rookery: "+err.Error())
		}
		p.end()
		select {
		case <-ctx.Done():
		case <-again.C:
		}
	}
}

// paper takes the output of a command, and tells it in lines: at once, or at its end if the command does not follow anything.
type paper struct {
	reading topReading
	tell    func(topText)
	follows bool

	mu    sync.Mutex
	whole bool // until the first lines are told
	lines []string
	rest  string // a line that has not ended
}

// size returns the size of the screen on which the output is shown.
func (p *paper) size() (width, height int) { return p.reading.width, 0 }

// Write implements io.Writer.
func (p *paper) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rest += string(b)
	all := strings.Split(p.rest, "\n")
	p.lines, p.rest = append(p.lines, all[:len(all)-1]...), all[len(all)-1]
	if p.follows {
		p.flush()
	}
	return len(b), nil
}

func (p *paper) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.rest != "" {
		p.lines, p.rest = append(p.lines, p.rest), ""
	}
	p.flush()
}

// flush tells the lines. The caller holds the lock.
func (p *paper) flush() {
	if len(p.lines) > 0 || p.whole {
		p.tell(topText{p.reading.number, p.lines, p.whole})
		p.lines, p.whole = nil, false
	}
}
