package world

import (
	"maps"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/rookery-project/rookery/cmd/simulation/checker"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

// shards is the number of keys of every service with a topology: the slot key % scale has a key.
const shards = 12

// owner is a process in a container, with the keys that it serves. It behaves as a careful program: it trusts only its topology file, and
// carries out a request only if the file says the same.
type owner struct {
	instance events.InstanceID
	serves   [shards]bool
}

// process tells one container's process from all others.
type process struct{ host, handle string }

// has reports whether the slot has the key under a scale.
func has(ordinal, scale uint32, key int) bool {
	return ordinal < scale && uint32(key)%scale == ordinal
}

// topologyIn returns the topology in the container's file; false if it has no file.
func (h *host) topologyIn(c node.Container) (events.TopologyDocument, bool) {
	body, _ := h.engine.Topology(c)
	var d events.TopologyDocument
	return d, len(body) > 0 && json.Unmarshal(body, &d) == nil
}

// begins follows the start of a process. It serves the keys that its file assigns to it, and during a change only the keys that both
// topologies assign to it.
func (w *World) begins(h *host, c node.Container) {
	d, has := h.topologyIn(c)
	if !has || c.Role != node.RoleMain {
		return
	}
	o := &owner{instance: c.Instance}
	o.serve(d)
	w.owners[process{h.name, c.Handle}] = o
	w.oneOwner(c.Instance.Service)
}

func (o *owner) serve(d events.TopologyDocument) {
	for key := range o.serves {
		o.serves[key] = has(d.Ordinal, d.Scale, key) && (d.Change == nil || has(d.Ordinal, d.Change.Scale, key))
	}
}

// learns follows a new topology file. The process serves the keys in the file once no change is under way.
func (w *World) learns(h *host, c node.Container) {
	if d, has := h.topologyIn(c); has && d.Change == nil && w.owners[process{h.name, c.Handle}] != nil {
		w.owners[process{h.name, c.Handle}].serve(d)
		w.oneOwner(c.Instance.Service)
	}
}

// does carries out a request in the process. It reports false if the topology file says something else.
func (w *World) does(h *host, c node.Container, change events.TopologyChange) bool {
	d, told := h.topologyIn(c)
	o := w.owners[process{h.name, c.Handle}]
	if !told || o == nil || d.Change == nil || *d.Change != change {
		return false
	}
	for key := range o.serves {
		mine := has(d.Ordinal, change.Scale, key)
		o.serves[key] = mine && (o.serves[key] || change.Phase == events.OperationAcquire)
	}
	w.checker.Did(c.Instance, change.Confirmed())
	w.oneOwner(c.Instance.Service)
	return true
}

// oneOwner passes the keys that the running processes of a service serve to the checker.
func (w *World) oneOwner(id events.ServiceID) {
	var all []checker.Owner
	for _, name := range slices.Sorted(maps.Keys(w.hosts)) {
		for _, c := range w.hosts[name].running() {
			if o := w.owners[process{name, c.Handle}]; o != nil && c.Instance.Service == id {
				all = append(all, checker.Owner{Instance: o.instance, Serves: o.serves[:]})
			}
		}
	}
	w.checker.Owners(id, all)
}
