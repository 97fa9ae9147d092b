package world

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/rookery-project/rookery/events/bus"
)

// servers draws faults that occur with several servers and never with one. It draws from a sequence of its own, so the rest of a seed's
// plan does not depend on it.
func (d *drawer) servers() {
	const mean = 20 * time.Minute
	d.Rand = rand.New(rand.NewPCG(d.plan.Seed, 3))
	for at := d.soon(mean); at < d.plan.Lasts; at += d.soon(mean) {
		kinds := []Kind{Emptied, ReaderStalls, ToldTwice, Leaderless}
		f := faultOf(kinds[d.IntN(len(kinds))])
		a := Action{At: at, Kind: f.kind, For: d.soon(30 * time.Second), N: d.IntN(1 << 30)}
		f.draw(d, &a)
		d.plan.Actions = append(d.plan.Actions, a)
	}
}

func drawProcess(d *drawer, a *Action) { a.Targets = []string{d.process()} }

// hitEmptied makes all servers unreachable for a while. They lose the data that they had only in memory. The stream of statuses keeps its
// identity, which is part of its configuration.
func hitEmptied(w *World, a Action) {
	w.serversAway(a, func() { w.server.Empty(bus.Statuses) })
}

// serversAway cuts all hosts off from the servers for a while, and calls lose, which removes data meanwhile.
func (w *World) serversAway(a Action, lose func()) {
	names := slices.Sorted(maps.Keys(w.links))
	for _, name := range names {
		w.cut(name)
	}
	lose()
	w.spread()
	w.lasts(a, func() {
		for _, name := range names {
			w.mend(name)
		}
	})
}

func hitReaderStalls(w *World, a Action) {
	c := w.partNamed(a.Targets[0]).client
	c.stalled = true
	w.lasts(a, func() {
		c.stalled = false
		c.kickReaders()
	})
}

// hitToldTwice moves the readers of a process back by some messages, which they deliver a second time.
func hitToldTwice(w *World, a Action) {
	const most = 20
	c := w.partNamed(a.Targets[0]).client
	for _, r := range w.readers {
		if r.client == c {
			r.cursor.Back(uint64(1 + a.N%most))
		}
	}
	c.kickReaders()
}

// stores lists the streams, buckets and objects that each have a leader of their own.
var stores = []string{string(bus.Log), string(bus.Commands), string(bus.Statuses), string(bus.Orders), bus.BucketLease, bus.BucketEndpoints, objectStores}

// objectStores stands for all stores of objects.
const objectStores = "objects"

// hitLeaderless leaves a store without a leader, for a while. In half of the cases the copies of one in memory wait for a leader for good: then
// it has one again only after it is made again.
func hitLeaderless(w *World, a Action) {
	store := stores[a.N%len(stores)]
	w.note("== %s has no leader", store)
	w.leaderless[store]++
	w.anyLeaderless.Store(true)
	if slices.Contains(bus.InMemory, store) && a.N/len(stores)%2 == 0 {
		w.note("== its copies wait for one")
		return
	}
	w.lasts(a, func() {
		if w.leaderless[store]--; w.leaderless[store] <= 0 {
			w.led(store)
		}
	})
}

// led gives a store a leader again.
func (w *World) led(store string) {
	delete(w.leaderless, store)
	w.anyLeaderless.Store(len(w.leaderless) > 0)
	for _, c := range w.clients {
		if !c.ended.Load() {
			c.kickReaders()
		}
	}
}

// Beside lists the kinds of faults that the simulation draws only if a flag names them: panics need a program that is compiled for them.
var Beside = []Kind{Panics}

// ofKind draws faults of a kind from a sequence of their own.
func (d *drawer) ofKind(kind Kind, sequence uint64) {
	const mean = 20 * time.Minute
	d.Rand = rand.New(rand.NewPCG(d.plan.Seed, sequence))
	f := faultOf(kind)
	for at := d.soon(mean); at < d.plan.Lasts; at += d.soon(mean) {
		a := Action{At: at, Kind: kind, For: d.soon(30 * time.Second), N: d.IntN(1 << 30)}
		f.draw(d, &a)
		d.plan.Actions = append(d.plan.Actions, a)
	}
}

// drawStaleInfo draws a coordinator. NATS lets a leader that hears nothing of the others answer for up to 20 seconds.
func drawStaleInfo(d *drawer, a *Action) {
	const longest = 20 * time.Second
	a.Targets, a.For = []string{d.coordinator()}, min(a.For, longest)
}

// hitStaleInfo connects a host to a server that led the streams before, and that reports the states from that time. In half of the cases
// the leading coordinator ends a moment later, so that another one takes over with these outdated states.
func hitStaleInfo(w *World, a Action) {
	l := w.linkOf(a.Targets[0])
	l.stale = map[bus.Stream]bus.State{}
	for _, s := range bus.Streams {
		if state, err := w.server.State(context.Background(), s); err == nil {
			l.stale[s] = state
		}
	}
	w.lasts(a, func() { l.stale = nil })
	if leader := w.partNamed(w.checker.Log().Leader); a.N%2 == 0 && leader != nil && leader.alive() {
		ended := a
		ended.For = a.For / 4
		w.at(time.Now().Add(a.For/4), func() bool {
			w.crash(leader, leader.client, ended)
			return true
		})
	}
}

// of binds the call to a store. While the store has no leader, no server answers the call.
func (k *call) of(store string) *call {
	route := k.route
	k.route = func(k *call) {
		if k.client.world.leaderless[store] > 0 {
			k.expire()
			return
		}
		route(k)
	}
	return k
}
