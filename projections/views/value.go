package views

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
)

// Service is the value of a key <namespace>.<name> in the bucket rookery_services.
type Service struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// State is one of those that state.go lists.
	State    string `json:"state"`
	Revision uint64 `json:"revision"`
	Scale    uint32 `json:"scale"`
	// Online counts the instances of the current revision that serve.
	Online int `json:"online"`
	// Completed counts the slots of a job that are done, Failed the instances of it that failed in this revision.
	Completed int    `json:"completed,omitzero"`
	Failed    uint32 `json:"failed,omitzero"`
	// Run counts the runs of a job by its schedule in this revision, and NextRun is when the next is due.
	Run     uint64    `json:"run,omitzero"`
	NextRun time.Time `json:"next_run,omitzero"`
	// Busy is the sequence of the command that has not ended, or 0.
	Busy uint64 `json:"busy,omitzero"`
	// Operation is the change that is under way, wave by wave.
	Operation *Operation `json:"operation,omitempty"`
	// Topology is what its instances are told of each other; not there where its spec asks for none.
	Topology *events.Topology `json:"topology,omitempty"`
	// Snapshots are those that are kept, the last one last.
	Snapshots []Snapshot `json:"snapshots,omitempty"`
	// Queued are the sequences of the commands that wait for their turn, first come first.
	Queued []uint64    `json:"queued,omitempty"`
	Spec   events.Spec `json:"spec"`
	// Shunned says what the coordinator leaves alone of the service because of a defect of its own; not there where that is nothing.
	Shunned []Shunned `json:"shunned,omitempty"`
	// Images are what the names of images in the spec stand for in this revision, as far as a node has found that out.
	Images map[string]string `json:"images,omitempty"`
	// Sequence is the place in the log that the value is true at.
	Sequence uint64 `json:"sequence"`
}

// Shapes returns a value of the type of each view, by the name of its bucket.
func Shapes() map[string]any {
	return map[string]any{
		bus.BucketServices: Service{}, bus.BucketInstances: Instance{}, bus.BucketNodes: Node{},
		bus.BucketOperations: ServiceOperation{}, bus.BucketEndpoints: Endpoints{},
	}
}

// Snapshot is what a service held at a time.
type Snapshot struct {
	Version uint64    `json:"version"`
	At      time.Time `json:"at"`
	// Revision, Scale and ConfigVersion are those that the service had; ConfigVersion is not there without a topology.
	Revision      uint64 `json:"revision"`
	Scale         uint32 `json:"scale"`
	ConfigVersion uint64 `json:"config_version,omitzero"`
	// Size is that of all volumes in bytes, as archives.
	Size int64 `json:"size"`
}

// Instance is the value of a key <namespace>.<name>.<ordinal> in the bucket rookery_instances: a slot's newest instance.
type Instance struct {
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
	Ordinal    uint32 `json:"ordinal"`
	Generation uint32 `json:"generation,omitzero"`
	Revision   uint64 `json:"revision,omitzero"`
	Node       string `json:"node,omitempty"`
	Address    string `json:"address,omitempty"`
	// Status is pending, online, offline, crash-looping, leaving, suspended, or lost where its node was silent for too long; of a
	// job's slot whose last instance has ended completed, failed or lost.
	Status   string               `json:"status"`
	Phase    string               `json:"phase,omitempty"`
	Reason   events.OfflineReason `json:"reason,omitempty"`
	ExitCode *int32               `json:"exit_code,omitzero"`
	Message  string               `json:"message,omitempty"`
	// Output is the key under which the bucket rookery_output has what it printed last, for a day.
	Output string `json:"output,omitempty"`
	// Restarts counts how often the slot's instance began again in the service's revision, on its node or another one in its place.
	Restarts uint32 `json:"restarts"`
	// Crashes counts the ends in a row, and Exits are the last of them, oldest first, where that is a crash loop.
	Crashes uint32            `json:"crashes,omitzero"`
	Exits   []projections.End `json:"exits,omitempty"`
	// Conditions say how far it has come, and why no further.
	Conditions Conditions           `json:"conditions"`
	Times      Times                `json:"times,omitzero"`
	Ports      []events.PortBinding `json:"ports,omitempty"`
	// Next is what takes its place once that serves. It has no sequence of its own.
	Next     *Instance `json:"next,omitempty"`
	Sequence uint64    `json:"sequence,omitzero"`
}

// Node is the value of a key <node> in the bucket rookery_nodes.
type Node struct {
	Name  string                `json:"name"`
	State projections.NodeState `json:"state"`
	// Degraded says why its engine cannot be relied on; not there where it can.
	Degraded string `json:"degraded,omitempty"`
	Epoch    uint64 `json:"epoch"`
	events.NodeFacts
	// Allocatable is what instances may have of it together, Reserved what is set aside for those that it has.
	Allocatable events.Resources `json:"allocatable"`
	Reserved    events.Resources `json:"reserved"`
	Instances   int              `json:"instances"`
	Strays      int              `json:"strays"`
	// StrayInstances are the first of the strays, with why they are none that the node should have.
	StrayInstances []Stray `json:"stray_instances,omitempty"`
	// Drain is how far the node is that is to have no instance.
	Drain *Drain `json:"drain,omitempty"`
	// Shunned says what the coordinator leaves alone of the node because of a defect of its own; not there where that is nothing.
	Shunned  []Shunned `json:"shunned,omitempty"`
	Sequence uint64    `json:"sequence"`
}

// Shunned is a unit of work that the coordinator leaves alone.
type Shunned struct {
	Work    events.Work `json:"work"`
	Since   time.Time   `json:"since"`
	Message string      `json:"message"`
}

// shunnedOf shows what is shunned of a scope.
func shunnedOf(c *projections.Cluster, scope events.Scope) []Shunned {
	var shown []Shunned
	for _, s := range c.ShunnedOf(scope) {
		shown = append(shown, Shunned{Work: s.Unit.Work, Since: s.Since, Message: s.Message})
	}
	return shown
}

// Key names a value.
type Key struct{ Bucket, Key string }

// Changes are values to be shown.
type Changes struct {
	// Values holds the new value of each key; nil for one that shall not be there.
	Values map[Key][]byte
	// Slots says of services how many of their slots have a value, where that may be fewer than before.
	Slots map[events.ServiceID]int
	// Ports says of services which of their ports have a value, where these may be others than before.
	Ports map[events.ServiceID][]string
	// Sequence is the place in the log that the values are true at.
	Sequence uint64
}

func newChanges() Changes {
	return Changes{Values: map[Key][]byte{}, Slots: map[events.ServiceID]int{}, Ports: map[events.ServiceID][]string{}}
}

// merge takes later changes over these.
func (ch Changes) merge(later Changes) {
	for id, ports := range later.Ports {
		for _, gone := range ch.Ports[id] {
			if !slices.Contains(ports, gone) {
				ch.Values[Key{bus.BucketEndpoints, endpointsKey(id, gone)}] = nil
			}
		}
	}
	for id, slots := range later.Slots {
		for ordinal := slots; ordinal < ch.Slots[id]; ordinal++ {
			ch.Values[Key{bus.BucketInstances, slotKey(id, ordinal)}] = nil
		}
	}
	maps.Copy(ch.Values, later.Values)
	maps.Copy(ch.Slots, later.Slots)
	maps.Copy(ch.Ports, later.Ports)
}

// in returns those of these that some buckets are to have.
func (ch Changes) in(buckets []string) Changes {
	within := newChanges()
	within.Sequence = ch.Sequence
	for key, value := range ch.Values {
		if slices.Contains(buckets, key.Bucket) {
			within.Values[key] = value
		}
	}
	if slices.Contains(buckets, bus.BucketInstances) {
		within.Slots = ch.Slots
	}
	if slices.Contains(buckets, bus.BucketEndpoints) {
		within.Ports = ch.Ports
	}
	return within
}

// All returns every value of the state.
func All(c *projections.Cluster) Changes {
	changes := newChanges()
	for _, s := range c.Services {
		changes.service(c, s.ID)
		changes.slots(c, s.ID)
		changes.endpoints(c, s.ID)
	}
	changes.nodes(c)
	changes.Sequence = c.Sequence
	return changes
}

func (ch Changes) nodes(c *projections.Cluster) {
	for name := range c.Nodes {
		ch.node(c, name)
	}
}

// Of returns the values that these records may have changed, as the state has them now.
func Of(c *projections.Cluster, records []events.Record) Changes {
	changes, ofNodes := newChanges(), false
	changes.Sequence = c.Sequence
	for _, r := range records {
		if name, ok := r.Scope.Node(); ok {
			changes.node(c, name)
			changes.waiting(c, name, r.Data)
		}
		if _, ok := r.Data.(events.NodesAllowed); ok {
			changes.nodes(c)
		}
		ofNodes = ofNodes || decidesWaits(r.Data)
		for _, member := range events.MembersOf(r) {
			changes.service(c, member)
		}
		id, ok := r.Scope.Service()
		if !ok {
			continue
		}
		changes.service(c, id)
		if moves(r.Data) {
			changes.endpoints(c, id)
		}
		switch d := r.Data.(type) {
		case events.ServiceScaled, events.ServiceRevised, events.ServiceFired, events.ServiceSuspended, events.ServiceResumed,
			events.ServiceDropped, events.ServiceRemoved,
			events.InstancePending:
			changes.slots(c, id)
		case events.OperationEntered:
			if s := c.Services[id]; s != nil && s.Resting() { // what waits for a node waits no more
				changes.slots(c, id)
			}
		case events.TopologyChanged:
			if d.Change == nil { // there may be fewer slots than before
				changes.slots(c, id)
			}
		case events.InstancePlaced:
			changes.instance(c, id, d.Ordinal, d.Node)
			changes.turns(c, id)
		case events.InstanceAdopted:
			changes.instance(c, id, d.Ordinal, d.Node)
		case events.InstanceLost:
			changes.slot(c, id, d.Ordinal)
		case events.InstanceReturned:
			changes.slot(c, id, d.Ordinal)
		case events.InstanceRetired:
			changes.slot(c, id, d.Ordinal)
			if s := c.Services[id]; s != nil && s.GivenUp() {
				changes.turns(c, id)
			}
		case events.InstanceRemoved:
			changes.instance(c, id, d.Ordinal, d.Node)
		case events.InstanceForgotten:
			changes.instance(c, id, d.Ordinal, d.Node)
		case events.Sighting:
			changes.slot(c, id, d.Seen().Ordinal)
			if n := c.Nodes[d.Seen().Node]; n != nil && n.TurnedAt(r.Sequence) {
				changes.node(c, n.Name)
			}
		}
	}
	if ofNodes {
		changes.operationsOfNodes(c)
	}
	return changes
}

// waiting shows anew why slots wait whose volumes are on a node that is lost.
func (ch Changes) waiting(c *projections.Cluster, node string, d events.Data) {
	if _, lost := d.(events.NodeLost); !lost {
		return
	}
	for id := range c.Short() {
		if s := c.Services[id]; s.Pending != nil && s.Home(s.Pending.Ordinal) == node {
			ch.slots(c, id)
		}
	}
}

// has reports whether the key has its value already: the state does not change between records.
func (ch Changes) has(bucket, key string) bool {
	_, known := ch.Values[Key{bucket, key}]
	return known
}

func (ch Changes) put(bucket, key string, value any) {
	body, err := json.Marshal(value, json.Deterministic(true))
	if err != nil {
		panic(fmt.Sprintf("a view of plain fields does not encode: %v", err))
	}
	ch.Values[Key{bucket, key}] = body
}

func (ch Changes) instance(c *projections.Cluster, id events.ServiceID, ordinal uint32, node string) {
	ch.slot(c, id, ordinal)
	ch.node(c, node)
}

// turns shows the slots of a job: with one that is placed, or with the job given up, those that wait do so for another
// reason than before.
func (ch Changes) turns(c *projections.Cluster, id events.ServiceID) {
	s := c.Services[id]
	if _, shown := ch.Slots[id]; !shown && s != nil && s.Job != nil {
		ch.slots(c, id)
	}
}

// slots shows every slot of the service, and no others.
func (ch Changes) slots(c *projections.Cluster, id events.ServiceID) {
	s := c.Services[id]
	shown := slotsOf(s)
	ch.Slots[id] = shown
	why := sync.OnceValue(func() string { return c.WhyPending(s) })
	for ordinal := range shown {
		ch.slotBecause(c, id, uint32(ordinal), why)
	}
}

func (ch Changes) service(c *projections.Cluster, id events.ServiceID) {
	key := id.Namespace + "." + id.Name
	if ch.has(bus.BucketServices, key) {
		return
	}
	s := c.Services[id]
	if s == nil || s.Revision == 0 {
		ch.Values[Key{bus.BucketServices, key}], ch.Values[Key{bus.BucketOperations, key}] = nil, nil
		return
	}
	value := Service{
		Namespace: id.Namespace, Name: id.Name, State: serviceState(c, s), Revision: s.Revision, Scale: s.Scale,
		Online: s.Serving(), Busy: s.Holder, Spec: s.Current().Spec, Images: s.ImagesOf(), Sequence: c.Sequence,
		Topology: s.Topology, Operation: ch.operation(c, s), Shunned: shunnedOf(c, events.ServiceScope(id)),
	}
	for _, kept := range s.Snapshots.Kept {
		value.Snapshots = append(value.Snapshots, snapshotOf(kept))
	}
	for _, q := range c.Queues[id] {
		value.Queued = append(value.Queued, q.Sequence)
	}
	if s.Job != nil {
		value.Completed, value.Failed, value.Run, value.NextRun = s.Completed(), s.Job.Failures, s.Job.Run, s.NextRun()
	}
	ch.put(bus.BucketServices, key, value)
}

func snapshotOf(kept projections.Snapshot) Snapshot {
	value := Snapshot{
		Version: kept.Version, At: kept.At, Revision: kept.Revision, Scale: kept.Scale, ConfigVersion: kept.ConfigVersion,
	}
	for _, exports := range kept.Volumes {
		for _, e := range exports {
			value.Size += e.Size
		}
	}
	return value
}

func (ch Changes) slot(c *projections.Cluster, id events.ServiceID, ordinal uint32) {
	ch.slotBecause(c, id, ordinal, func() string { return c.WhyPending(c.Services[id]) })
}

func slotKey(id events.ServiceID, ordinal int) string {
	return id.Namespace + "." + id.Name + "." + strconv.Itoa(ordinal)
}

// slotBecause is slot for a caller that knows why slots of the service are pending.
func (ch Changes) slotBecause(c *projections.Cluster, id events.ServiceID, ordinal uint32, why func() string) {
	key := slotKey(id, int(ordinal))
	if ch.has(bus.BucketInstances, key) {
		return
	}
	value := Instance{Namespace: id.Namespace, Name: id.Name, Ordinal: ordinal, Status: "pending", Sequence: c.Sequence}
	s := c.Services[id]
	if s == nil {
		ch.Values[Key{bus.BucketInstances, key}] = nil
		return
	}
	var newest, ended *projections.Instance
	if int(ordinal) < len(s.Slots) {
		slot := s.Slots[ordinal]
		newest, ended = slot.Current, slot.Beside().Ended
		if slot.Next != nil {
			value.Next = &Instance{Namespace: id.Namespace, Name: id.Name, Ordinal: ordinal}
			value.Next.fill(s, slot.Next)
		}
		if newest == nil && len(slot.Beside().Away) > 0 {
			newest = slot.Beside().Away[len(slot.Beside().Away)-1]
		}
		if newest == nil && len(slot.Beside().Leaving) > 0 {
			newest = slot.Beside().Leaving[len(slot.Beside().Leaving)-1]
		}
	}
	switch {
	case ended != nil && !s.Dropped && (newest == nil || newest.Retired() != ""):
		value.fillEnded(s, ended)
	case newest != nil:
		value.fill(s, newest)
		if newest.Lost && newest.Retired() == "" && s.Slots[ordinal].Current == nil {
			value.Message += "; no other has its place: " + why()
		}
	case !s.Has(ordinal) || s.Dropped:
		ch.Values[Key{bus.BucketInstances, key}] = nil
		return
	case s.Resting():
		value.Status = StateSuspended
	default:
		value.Message = why()
	}
	value.ofSlot(s)
	ch.put(bus.BucketInstances, key, value)
}

func (ch Changes) node(c *projections.Cluster, name string) {
	if ch.has(bus.BucketNodes, name) {
		return
	}
	n := c.Nodes[name]
	if n == nil {
		ch.Values[Key{bus.BucketNodes, name}] = nil
		return
	}
	ch.put(bus.BucketNodes, name, Node{
		Name: name, State: n.State(), Degraded: n.Degraded, Epoch: n.Epoch, NodeFacts: n.Facts, Allocatable: n.Allocatable(), Reserved: n.Reserved(),
		Instances: n.Instances(), Strays: len(n.Strays), StrayInstances: straysOf(n), Drain: drainOf(n),
		Shunned: shunnedOf(c, events.NodeScope(name)), Sequence: c.Sequence,
	})
}
