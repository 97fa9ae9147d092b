package world

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rookery-project/rookery/coordinator/capsule"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

// TestACapsuleIsDecidedAsItWas repeats the decisions of runs with many faults: nothing differs.
func TestACapsuleIsDecidedAsItWas(t *testing.T) {
	const few = 2
	for seed := uint64(1); seed <= few; seed++ {
		r := recorded(t, seed)
		found := capsule.Check(r)
		t.Logf("seed %d: %+v", seed, found)
		if found.Differs != nil {
			t.Errorf("seed %d: %s", seed, found.Differs)
		}
		if found.Events != len(r.Log) || found.Commands < len(r.Commands)/2 || found.Placements == 0 {
			t.Errorf("seed %d: of %d events and %d commands %d, %d and %d placements are decided", seed, len(r.Log), len(r.Commands),
				found.Events, found.Commands, found.Placements)
		}
		r.From = r.To / 2
		if part := capsule.Check(r); part.Differs != nil || part.Decided == 0 || part.Decided >= found.Decided || part.Hash != found.Hash {
			t.Errorf("seed %d: the second half alone is found to be %+v", seed, part)
		}
	}
}

// TestACapsuleSaysWhereItDiffers changes and removes messages of a log, and changes a command.
func TestACapsuleSaysWhereItDiffers(t *testing.T) {
	r := recorded(t, 1)
	changed := r
	changed.Log = slices.Clone(r.Log)
	changed.Log[99].Body = strings.Replace(changed.Log[99].Body, `"`, ` "`, 1)
	if d := capsule.Check(changed).Differs; d == nil || d.Sequence < 100 || !strings.Contains(d.What, "broken hash chain") {
		t.Errorf("a log that was changed is found to be %v", d)
	}
	lacks := r
	lacks.Log = slices.Delete(slices.Clone(r.Log), 50, 51)
	if d := capsule.Check(lacks).Differs; d == nil || d.Sequence != 52 || !strings.Contains(d.What, "gap in the log") {
		t.Errorf("a log that lacks a message is found to be %v", d)
	}
	other := r
	other.Commands = slices.Clone(r.Commands)
	i := slices.IndexFunc(other.Commands, func(m capsule.Message) bool {
		return strings.HasSuffix(m.Subject, ".ensure") && strings.Contains(m.Body, "localhost/a:1")
	})
	other.Commands[i].Body = strings.ReplaceAll(other.Commands[i].Body, "localhost/a:1", "localhost/another:1")
	if d := capsule.Check(other).Differs; d == nil || !strings.Contains(d.What, "and the repeated decision to") {
		t.Errorf("another command is found to be %v", d)
	}
}

// recordings holds what recorded has returned. Its tests run one after the other, and change copies only.
var recordings = map[uint64]capsule.Recorded{}

// recorded returns what a run has recorded.
func recorded(t *testing.T, seed uint64) (r capsule.Recorded) {
	if r, ok := recordings[seed]; ok {
		return r
	}
	p := Draw(seed)
	p.Golden, p.Lasts = false, min(p.Lasts, 40*time.Minute)
	p.Actions = slices.DeleteFunc(p.Actions, func(a Action) bool { return a.Kind == StreamLost || a.Kind == LogRestored || a.Kind == LogDamaged })
	var log, commands []events.Message
	synctest.Test(t, func(*testing.T) {
		w := newWorld(p, nil)
		w.live()
		log, commands = w.server.Backup(bus.Log).Messages(), w.server.Backup(bus.Commands).Messages()
	})
	for _, m := range log {
		r.Log = append(r.Log, capsule.Keep(m))
	}
	for _, m := range commands {
		r.Commands = append(r.Commands, capsule.Keep(m))
	}
	r.From, r.To = 1, uint64(len(log))
	recordings[seed] = r
	return r
}
