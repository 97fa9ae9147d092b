package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/rookery-project/rookery/cmd/rookery/grid"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

const (
	// drawAtMost is the shortest time between two pictures, because rounds come faster than an operator reads.
	drawAtMost = 100 * time.Millisecond
	// agesEvery is how often ages are redrawn if nothing else changes.
	agesEvery = time.Second
)

// follow shows the views and their changes until the context ends.
func (l *list) follow(ctx context.Context, b *bus.JetStream, out, trouble io.Writer) error {
	watch, cancel := context.WithCancel(ctx)
	told, measured := make(chan bus.Sight), make(chan events.Message)
	var readers sync.WaitGroup
	defer readers.Wait()
	defer cancel()
	readers.Go(func() {
		b.Watch(watch, l.buckets, listsOf(b), func(s bus.Sight) {
			select {
			case told <- s:
			case <-watch.Done():
			}
		})
	})
	if l.measured {
		readers.Go(func() {
			hearUsage(watch, b, func(m events.Message) {
				select {
				case measured <- m:
				case <-watch.Done():
				}
			})
		})
	}
	var shown display = &lines{list: l, out: out, trouble: trouble, rows: map[string]string{}}
	if isTerminal(out) && !l.out.json() {
		shown = &picture{list: l, out: out}
	}
	return l.show(ctx, told, measured, shown)
}

// display shows changes: as a picture on a terminal, or as lines in a pipe.
type display interface {
	begin()
	// draw shows the page; lost is the error that makes it outdated, or nil.
	draw(p page, lost error) error
	end()
	// ages reports whether it shows ages.
	ages() bool
}

// show draws changes, with a pause after each picture.
func (l *list) show(ctx context.Context, told <-chan bus.Sight, measured <-chan events.Message, on display) error {
	on.begin()
	defer on.end()
	resized := make(chan os.Signal, 1)
	signal.Notify(resized, syscall.SIGWINCH)
	defer signal.Stop(resized)
	tick := time.NewTicker(drawAtMost)
	defer tick.Stop()
	s, lost, stale, drawn, sighted := newSeen(), error(nil), false, time.Time{}, false
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case sight := <-told:
			if lost = sight.Lost; lost == nil {
				if err := s.take(sight); err != nil {
					return err
				}
				sighted = true
			}
			stale = true
		case m := <-measured:
			s.measure(m)
			stale = true
		case <-resized:
			stale = true
		case now := <-tick.C:
			if !stale && (!on.ages() || now.Sub(drawn) < agesEvery) {
				continue
			}
			p := l.laidOut(s, now)
			if err := l.missing(s); sighted && err != nil {
				p.notes = append(p.notes, err.Error())
			}
			if err := on.draw(p, lost); err != nil {
				return err
			}
			stale, drawn = false, now
		}
	}
}

// picture draws on a terminal, in place. Its last picture stays on the screen when it ends.
type picture struct {
	list *list
	out  io.Writer
	last page
}

const (
	enterScreen = "\x1b[?1049h\x1b[?25l\x1b[H\x1b[2J" // the alternate screen, with a hidden cursor
	leaveScreen = "\x1b[?25h\x1b[?1049l"
	// eraseLine also makes the terminal forget that a line before was too long for it, as just before a resize.
	eraseLine = "\x1b[2K"
	eraseRest = "\x1b[J"
)

func (p *picture) begin()     { fmt.Fprint(p.out, enterScreen) }
func (p *picture) ages() bool { return true }

func (p *picture) end() {
	fmt.Fprint(p.out, leaveScreen)
	if len(p.last.grid.Columns) > 0 {
		fmt.Fprintln(p.out, strings.Join(p.last.lines(p.list.out.style(p.out)), "\n"))
	}
}

func (p *picture) draw(now page, lost error) error {
	p.last = now
	s := p.list.out.style(p.out)
	_, height := screenSize(p.out)
	_, err := fmt.Fprint(p.out, "\x1b[H"+eraseLine+strings.Join(pictured(now, s, height, lost), "\r\n"+eraseLine)+eraseRest)
	return err
}

// pictured returns the lines of a page that fit on a screen of this height; 0 means no limit.
func pictured(p page, s grid.Style, height int, lost error) []string {
	all := p.lines(s)
	var below []string
	if lost != nil {
		text := grid.Cut(errLostBus.Error()+"; this is the last known state: "+lost.Error(), max(s.Width, 1))
		if s.Colour {
			text = grid.Bad.Paint(text)
		}
		below = append(below, text)
	}
	if room := height - len(below); height > 0 && len(all) > room {
		shown := max(room-1, 0)
		more := grid.Cut(fmt.Sprintf("… and %d more lines", len(all)-shown), max(s.Width, 1))
		all = append(slices.Clone(all[:shown]), more)[:max(room, 0)]
	}
	return append(all, below...)
}

// lines writes a line for each changed row.
type lines struct {
	list         *list
	out, trouble io.Writer
	rows         map[string]string // the last text of each row, by key
	begun        bool
	lost         bool
}

func (w *lines) begin()     {}
func (w *lines) end()       {}
func (w *lines) ages() bool { return false }

func (w *lines) draw(p page, lost error) error {
	if w.lost != (lost != nil) {
		w.lost = lost != nil
		if w.lost {
			fmt.Fprintf(w.trouble, "%s: %s: retrying\n", errLostBus, lost)
		} else {
			fmt.Fprintln(w.trouble, "the bus is back")
		}
	}
	if lost != nil {
		return nil
	}
	if w.list.out.json() {
		return w.values(p.values)
	}
	return w.table(p.grid)
}

func (w *lines) table(t grid.Table) error {
	s := w.list.out.style(w.out)
	laid := t.Lines(s)
	if !w.begun {
		fmt.Fprintln(w.out, laid[0])
		w.begun = true
	}
	now := make([]told, len(t.Rows))
	for i, r := range t.Rows {
		now[i] = told{r.Key, t.Told(r, s)}
	}
	return w.changed(now, func(i int) error {
		_, err := fmt.Fprintln(w.out, laid[i+1])
		return err
	}, func(key string) error {
		_, err := fmt.Fprintln(w.out, key+"  gone")
		return err
	})
}

func (w *lines) values(all []value) error {
	now := make([]told, len(all))
	for i, v := range all {
		body, err := json.Marshal(v.of, json.Deterministic(true))
		if err != nil {
			return err
		}
		now[i] = told{v.key, string(body)}
	}
	return w.changed(now, func(i int) error { return w.list.out.printEach(w.out, all[i].of) },
		func(key string) error { return w.list.out.printEach(w.out, map[string]string{"gone": key}) })
}

// told is the content of a row.
type told struct{ key, text string }

// changed calls say for each row with new content, and gone for each removed row.
func (w *lines) changed(now []told, say func(row int) error, gone func(key string) error) error {
	there := map[string]bool{}
	for i, row := range now {
		there[row.key] = true
		if before, known := w.rows[row.key]; known && before == row.text {
			continue
		}
		w.rows[row.key] = row.text
		if err := say(i); err != nil {
			return err
		}
	}
	for _, key := range slices.Sorted(maps.Keys(w.rows)) {
		if there[key] {
			continue
		}
		delete(w.rows, key)
		if err := gone(key); err != nil {
			return err
		}
	}
	return nil
}
