package world

import (
	"maps"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

// shards is how many keys every service with a topology is taken to have: slot key % scale has a key.
const shards = 12

// owner is a process in a container that has the keys which it serves, as a careful program would: it goes by its file alone, and
// does what it is asked where that is what the file says.
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

// topologyIn returns what the container's file says; false where it has none.
func (h *host) topologyIn(c node.Container) (events.TopologyDocument, bool) {
	body, _ := h.engine.Topology(c)
	var d events.TopologyDocument
	return d, len(body) > 0 && json.Unmarshal(body, &d) == nil
}

// begins has a process that begins serve what its file gives it, and while that changes only what both topologies do.
func (j *judge) begins(h *host, c node.Container) {
	d, has := h.topologyIn(c)
	if !has || c.Role != node.RoleMain {
		return
	}
	o := &owner{instance: c.Instance}
	o.serve(d)
	j.owners[process{h.name, c.Handle}] = o
	j.oneOwner(c.Instance.Service)
}

func (o *owner) serve(d events.TopologyDocument) {
	for key := range o.serves {
		o.serves[key] = has(d.Ordinal, d.Scale, key) && (d.Change == nil || has(d.Ordinal, d.Change.Scale, key))
	}
}

// learns has the process follow its file where no change is under way any more.
func (j *judge) learns(h *host, c node.Container) {
	if d, has := h.topologyIn(c); has && d.Change == nil && j.owners[process{h.name, c.Handle}] != nil {
		j.owners[process{h.name, c.Handle}].serve(d)
		j.oneOwner(c.Instance.Service)
	}
}

// does has the process do what it is asked. It reports false where its file says something else.
func (j *judge) does(h *host, c node.Container, change events.TopologyChange) bool {
	d, told := h.topologyIn(c)
	o := j.owners[process{h.name, c.Handle}]
	if !told || o == nil || d.Change == nil || *d.Change != change {
		return false
	}
	for key := range o.serves {
		mine := has(d.Ordinal, change.Scale, key)
		o.serves[key] = mine && (o.serves[key] || change.Phase == events.OperationAcquire)
	}
	if j.did[c.Instance] == nil {
		j.did[c.Instance] = map[events.Confirmation]bool{}
	}
	j.did[c.Instance][events.Confirmation{Operation: change.Operation, Attempt: change.Attempt, Phase: change.Phase}] = true
	j.oneOwner(c.Instance.Service)
	return true
}

// oneOwner holds every key to be served by one slot at most, unless somebody wanted to go on without those that fail, or the log
// is not what it was.
func (j *judge) oneOwner(id events.ServiceID) {
	if s := j.cluster.services[id]; s == nil || s.giving || j.rewound {
		return
	}
	var serving [shards]*owner
	for _, name := range slices.Sorted(maps.Keys(j.w.hosts)) {
		all := j.w.hosts[name].engine.Containers()
		slices.SortFunc(all, func(a, b node.Container) int { return a.Instance.Compare(b.Instance) })
		for _, c := range all {
			o := j.owners[process{name, c.Handle}]
			if o == nil || c.State != node.Running || c.Instance.Service != id {
				continue
			}
			if i := j.cluster.instances[c.Instance]; i != nil && i.forgotten {
				continue // people have said that its machine is gone, and it is not
			}
			for key, serves := range o.serves {
				if other := serving[key]; serves && other != nil && other.instance != o.instance {
					j.breach("owners", "%s and %s both serve key %d", other.instance, o.instance, key)
				}
				if serves {
					serving[key] = o
				}
			}
		}
	}
}
