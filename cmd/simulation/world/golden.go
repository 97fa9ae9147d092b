package world

import (
	"time"

	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/events/bus/memory"
	"github.com/rookery-project/rookery/events/golden"
	"github.com/rookery-project/rookery/projections"
)

// inherit starts the cluster with a golden log, as after an update of Rookery, and adopts the log as an operator does.
func (w *World) inherit() {
	names := golden.Names()
	messages, err := golden.Read(names[w.plan.Seed%uint64(len(names))])
	if err != nil {
		panic(err)
	}
	fold := projections.NewFold()
	for _, m := range messages {
		if _, err := fold.Take(m); err != nil {
			w.breach("versions", "a log of an earlier version does not fold: %v", err)
			return
		}
	}
	w.plan.Nodes = max(w.plan.Nodes, len(fold.Cluster.Nodes)) // every node that the log knows is there
	time.Sleep(time.Until(fold.Cluster.Now) + time.Second)    // the times in the log must be in the past
	w.began = time.Now()
	w.server.Remake(bus.Commands)
	w.server.Accounts = fold.Cluster.Accounts
	w.server.Restore(bus.Log, memory.NewBackup(fold.Cluster.LogID(), messages))
	w.tamper()
	w.reread()
	w.at(w.began, func() bool { w.adopt(); return true })
}
