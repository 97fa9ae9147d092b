package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/rookery-project/rookery/cmd/rookery/grid"
	"github.com/rookery-project/rookery/coordinator/runner/api"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections/views"
)

// progress shows how far commands are: a line for each event, or one line that it draws again with each event. Several goroutines may
// use it.
type progress struct {
	out  io.Writer
	live bool // one line, for terminals

	mu    sync.Mutex
	tally tally
	drawn bool // the line is on the screen
}

func newProgress(out io.Writer, live bool) *progress {
	return &progress{out: out, live: live, tally: newTally()}
}

// size returns the size of the screen.
func (p *progress) size() (width, height int) { return screenSize(p.out) }

// Write implements io.Writer: it writes whole lines above the drawn one.
func (p *progress) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
	n, err := p.out.Write(b)
	p.draw()
	return n, err
}

// event shows an event, of which this is the line.
func (p *progress) event(m events.Message, data events.Data, line string) {
	if !p.live {
		p.line(line)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tally.take(subjectWords(m.Subject), data)
	p.erase()
	p.draw()
}

// line shows the line of an event.
func (p *progress) line(line string) {
	fmt.Fprintln(p, strings.Join(eventLines(line, 0, (&output{}).style(p.out)), "\n"))
}

// end removes the drawn line.
func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
	p.live = false
}

func (p *progress) erase() {
	if p.drawn {
		fmt.Fprint(p.out, "\r\x1b[K")
		p.drawn = false
	}
}

func (p *progress) draw() {
	if text := p.tally.String(); p.live && text != "" {
		if width, _ := screenSize(p.out); width > 0 {
			text = grid.Cut(text, width-1) // the cursor stands behind it
		}
		fmt.Fprint(p.out, text)
		p.drawn = true
	}
}

// tally counts what events say of the slots that commands change.
type tally struct {
	// before is the scale of each service before its command, and wanted how many of its slots change.
	before, wanted map[string]int
	// placed, online and failed have the generations of instances, by slot.
	placed, online, failed map[string]uint32
	phase                  string
}

func newTally() tally {
	return tally{map[string]int{}, map[string]int{}, map[string]uint32{}, map[string]uint32{}, map[string]uint32{}, ""}
}

// know reads the scales of services before a command changes them. Without an answer the total is too high.
func (p *progress) know(ctx context.Context, b *bus.JetStream, services []events.ServiceID) {
	if !p.live {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second) // a command does not wait for a coordinator
	defer cancel()
	for _, id := range services {
		var of api.List[views.Service]
		if err := askPast(ctx, b, "services", api.ListQuestion{Namespace: id.Namespace, Name: id.Name}, &of); err != nil {
			return
		}
		for _, v := range of.Items {
			p.mu.Lock()
			p.tally.before[id.String()] = int(v.Scale)
			p.mu.Unlock()
		}
	}
}

// expect says how many slots something beside a command to a service changes.
func (p *progress) expect(what string, slots int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tally.wanted[what] = slots
}

func (t *tally) take(service string, data events.Data) {
	slot := func(ordinal uint32) string { return fmt.Sprintf("%s/%d", service, ordinal) }
	switch d := data.(type) {
	case events.ServiceScaled:
		t.wanted[service] = max(t.wanted[service], int(d.Scale)-t.before[service])
	case events.OperationStarted:
		t.wanted[service] = max(t.wanted[service], len(d.Slots))
	case events.OperationEntered:
		t.phase = fmt.Sprintf("%s: %s · ", service, enteredWords(service, d))
	case events.OperationEnded:
		t.phase = ""
	case events.InstancePlaced:
		t.placed[slot(d.Ordinal)] = d.Generation
	case events.InstanceAdopted:
		t.placed[slot(d.Ordinal)] = d.Generation
	case events.InstanceOnline:
		t.online[slot(d.Ordinal)] = d.Generation
		delete(t.failed, slot(d.Ordinal))
	case events.InstanceOffline:
		if d.Reason != "" {
			t.failed[slot(d.Ordinal)] = d.Generation
			delete(t.online, slot(d.Ordinal))
		}
	case events.InstanceRetired:
		for _, of := range []map[string]uint32{t.placed, t.online, t.failed} {
			if of[slot(d.Ordinal)] == d.Generation {
				delete(of, slot(d.Ordinal))
			}
		}
	}
}

// enteredWords says in which phase an operation is, and what it waits for where that is the operator.
func enteredWords(service string, d events.OperationEntered) string {
	if d.Phase == events.OperationPromote {
		return "waits for rookery promote " + service
	}
	return fmt.Sprintf("%s of wave %d", d.Phase, d.Wave)
}

// String returns the line; "" while there is nothing to count.
func (t *tally) String() string {
	wanted := 0
	for _, n := range t.wanted {
		wanted += n
	}
	if wanted = max(wanted, len(t.placed)); wanted == 0 {
		return ""
	}
	return fmt.Sprintf("%splaced %d · online %d · failed %d of %d", t.phase, len(t.placed), len(t.online), len(t.failed), wanted)
}

// addressesOf returns addresses of the services' instances, as text: a few of them.
func addressesOf(ctx context.Context, b *bus.JetStream, services []events.ServiceID) string {
	const most = 3
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	var all []string
	for _, id := range services {
		var of api.List[views.Instance]
		if err := askPast(ctx, b, "instances", api.ListQuestion{Namespace: id.Namespace, Name: id.Name, Limit: most + 1}, &of); err != nil {
			return "" // the command has succeeded, whatever the addresses are
		}
		for _, v := range of.Items {
			if text := addresses(v); text != "" {
				all = append(all, text)
			}
		}
	}
	if len(all) > most {
		all = append(all[:most], "…")
	}
	return strings.Join(all, " ")
}
