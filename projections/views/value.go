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
	// State is the state of the service: the first of the states in state.go that fits.
	State    string `json:"state"`
	Revision uint64 `json:"revision"`
	Scale    uint32 `json:"scale"`
	// Online counts the serving instances of the current revision.
	Online int `json:"online"`
	// Completed counts the slots of a job that are done. Failed counts the instances that failed in this revision.
	Completed int    `json:"completed,omitzero"`
	Failed    uint32 `json:"failed,omitzero"`
	// Run counts the scheduled runs of a job in this revision. NextRun is when the next run is due.
	Run     uint64    `json:"run,omitzero"`
	NextRun time.Time `json:"next_run,omitzero"`
	// Busy is the sequence of the open command that holds the service, or 0.
	Busy uint64 `json:"busy,omitzero"`
	// Operation is the operation under way, which changes the service wave by wave.
	Operation *Operation `json:"operation,omitempty"`
	// Topology is what the coordinator tells the instances about each other; absent where the spec asks for no topology.
	Topology *events.Topology `json:"topology,omitempty"`
	// Snapshots are the kept snapshots, the newest last.
	Snapshots []Snapshot `json:"snapshots,omitempty"`
	// Queued are the sequences of the commands that wait for their turn, the first to arrive first.
	Queued []uint64    `json:"queued,omitempty"`
	Spec   events.Spec `json:"spec"`
	// Shunned lists the service's units of work that the coordinator skips because of an internal error; absent where there are none.
	Shunned []Shunned `json:"shunned,omitempty"`
	// Images are the images to which the names in the spec resolve in this revision, as far as a node has resolved them.
	Images map[string]string `json:"images,omitempty"`
	// Sequence is the log sequence at which the value is true.
	Sequence uint64 `json:"sequence"`
}

// Shapes returns a value of the type of each view, by the name of its bucket.
func Shapes() map[string]any {
	return map[string]any{
		bus.BucketServices: Service{}, bus.BucketInstances: Instance{}, bus.BucketNodes: Node{},
		bus.BucketOperations: ServiceOperation{}, bus.BucketEndpoints: Endpoints{},
	}
}

// Snapshot is the state of a service at one time.
type Snapshot struct {
	Version uint64    `json:"version"`
	At      time.Time `json:"at"`
	// Revision, Scale and ConfigVersion are those of the service at that time; ConfigVersion is absent without a topology.
	Revision      uint64 `json:"revision"`
	Scale         uint32 `json:"scale"`
	ConfigVersion uint64 `json:"config_version,omitzero"`
	// Size is the size of the archives of all volumes, in bytes.
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
	// Status is pending, online, offline, crash-looping, leaving, suspended or lost. It is lost if the node was silent for too long. For a
	// job's slot whose last instance has ended it is completed, failed or lost.
	Status   string               `json:"status"`
	Phase    string               `json:"phase,omitempty"`
	Reason   events.OfflineReason `json:"reason,omitempty"`
	ExitCode *int32               `json:"exit_code,omitzero"`
	Message  string               `json:"message,omitempty"`
	// Output is the key under which the bucket rookery_output keeps the instance's last output, for a day.
	Output string `json:"output,omitempty"`
	// Restarts counts the restarts of the slot's instances in the service's revision. A replacement after a crash loop counts as one.
	Restarts uint32 `json:"restarts"`
	// Crashes counts the ends in a row of a crash loop. Exits are the last of them, oldest first.
	Crashes uint32            `json:"crashes,omitzero"`
	Exits   []projections.End `json:"exits,omitempty"`
	// Conditions say how far it has come, and why no further.
	Conditions Conditions           `json:"conditions"`
	Times      Times                `json:"times,omitzero"`
	Ports      []events.PortBinding `json:"ports,omitempty"`
	// Next is the successor, which replaces the instance once it serves. It has no sequence of its own.
	Next     *Instance `json:"next,omitempty"`
	Sequence uint64    `json:"sequence,omitzero"`
}

// Node is the value of a key <node> in the bucket rookery_nodes.
type Node struct {
	Name  string                `json:"name"`
	State projections.NodeState `json:"state"`
	// Degraded says why the node's engine is unreliable; absent where it is not.
	Degraded string `json:"degraded,omitempty"`
	Epoch    uint64 `json:"epoch"`
	events.NodeFacts
	// Program is the Rookery that the node runs; absent in clusters that have not reached the level at which nodes say so.
	Program events.Program `json:"program,omitzero"`
	// Allocatable are the resources that all instances may use together. Reserved are those reserved for the node's instances.
	Allocatable events.Resources `json:"allocatable"`
	Reserved    events.Resources `json:"reserved"`
	Instances   int              `json:"instances"`
	Orphans     int              `json:"strays"`
	// StrayInstances are the first of the node's orphans, which Strays counts, with the reason of each.
	OrphanInstances []Orphan `json:"stray_instances,omitempty"`
	// Drain is the progress of the node's drain; absent where the node keeps its instances.
	Drain *Drain `json:"drain,omitempty"`
	// Shunned lists the node's units of work that the coordinator skips because of an internal error; absent where there are none.
	Shunned  []Shunned `json:"shunned,omitempty"`
	Sequence uint64    `json:"sequence"`
}

// Shunned is a unit of work that the coordinator skips.
type Shunned struct {
	Work    events.Work `json:"work"`
	Since   time.Time   `json:"since"`
	Message string      `json:"message"`
}

// shunnedOf returns the shunned units of a scope.
func shunnedOf(c *projections.Cluster, scope events.Scope) []Shunned {
	var shown []Shunned
	for _, s := range c.ShunnedOf(scope) {
		shown = append(shown, Shunned{Work: s.Unit.Work, Since: s.Since, Message: s.Message})
	}
	return shown
}

// Key names a value.
type Key struct{ Bucket, Key string }

// Changes are values to write.
type Changes struct {
	// Values holds the new value of each key; nil for a key to delete.
	Values map[Key][]byte
	// Slots says how many slots of a service have a value, for services that may have fewer than before.
	Slots map[events.ServiceID]int
	// Ports says which ports of a service have a value, for services whose ports may have changed.
	Ports map[events.ServiceID][]string
	// Sequence is the log sequence at which the values are true.
	Sequence uint64
}

func newChanges() Changes {
	return Changes{Values: map[Key][]byte{}, Slots: map[events.ServiceID]int{}, Ports: map[events.ServiceID][]string{}}
}

// Merge adds later changes, which replace earlier ones for the same keys.
func (ch Changes) Merge(later Changes) {
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

// in returns the changes that belong to some buckets.
func (ch Changes) in(buckets []string) Changes {
	within := newChanges()
	within.Sequence = ch.Sequence
	for key, value := range ch.Values {
		if slices.Contains(buckets, key.Bucket) {
			within.Values[key] = value
		}
	}
	if slices.Contains(buckets, bus.BucketInstances) {
		maps.Copy(within.Slots, ch.Slots)
	}
	if slices.Contains(buckets, bus.BucketEndpoints) {
		maps.Copy(within.Ports, ch.Ports)
	}
	return within
}

// All returns every value of the state.
func All(c *projections.Cluster) Changes {
	changes := AllOfNodes(c)
	for id := range c.Services {
		changes.Merge(AllOfService(c, id))
	}
	return changes
}

// AllOfNodes returns the values of all nodes.
func AllOfNodes(c *projections.Cluster) Changes {
	changes := newChanges()
	changes.Sequence = c.Sequence
	changes.nodes(c)
	return changes
}

// AllOfService returns all values of a service.
func AllOfService(c *projections.Cluster, id events.ServiceID) Changes {
	changes := newChanges()
	changes.Sequence = c.Sequence
	changes.service(c, id)
	changes.slots(c, id)
	changes.endpoints(c, id)
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
		switch r.Data.(type) {
		case events.NodesAllowed, events.ClusterLevel:
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
			if s := c.Services[id]; s != nil && s.Suspended() { // slots that waited for a node are suspended now
				changes.slots(c, id)
			}
		case events.TopologyChanged:
			if d.Change == nil { // there may be fewer slots now
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

// waiting adds the slots that wait because their volumes are on a node that is now lost: their message changes.
func (ch Changes) waiting(c *projections.Cluster, node string, d events.Data) {
	switch d.(type) {
	case events.NodeLost, events.NodeRevoked:
	default:
		return
	}
	for id := range c.Short() {
		if s := c.Services[id]; s.Pending != nil && s.Home(s.Pending.Ordinal) == node {
			ch.slots(c, id)
		}
	}
}

// has reports whether the key already has its value. The value is final, as the state does not change between the records of one call.
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

// turns adds the slots of a job. When the leader places one of them or gives the job up, the reason why the others wait
// changes.
func (ch Changes) turns(c *projections.Cluster, id events.ServiceID) {
	s := c.Services[id]
	if _, shown := ch.Slots[id]; !shown && s != nil && s.Job != nil {
		ch.slots(c, id)
	}
}

// slots adds every slot of the service, and notes their number so that values beyond it are deleted.
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
		if newest == nil && len(slot.Beside().Disconnected) > 0 {
			newest = slot.Beside().Disconnected[len(slot.Beside().Disconnected)-1]
		}
		if newest == nil && len(slot.Beside().Terminating) > 0 {
			newest = slot.Beside().Terminating[len(slot.Beside().Terminating)-1]
		}
	}
	switch {
	case ended != nil && !s.Dropped && (newest == nil || newest.Retired() != ""):
		value.fillEnded(s, ended)
	case newest != nil:
		value.fill(s, newest)
		if newest.Lost && newest.Retired() == "" && s.Slots[ordinal].Current == nil {
			value.Message += "; it has no replacement: " + why()
		}
	case !s.Has(ordinal) || s.Dropped:
		ch.Values[Key{bus.BucketInstances, key}] = nil
		return
	case s.Suspended():
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
		Name: name, State: n.State(), Degraded: n.Degraded, Epoch: n.Epoch, NodeFacts: n.Facts, Program: n.Program, Allocatable: n.Allocatable(), Reserved: n.Reserved(),
		Instances: n.Instances(), Orphans: len(n.Orphans), OrphanInstances: orphansOf(n), Drain: drainOf(n),
		Shunned: shunnedOf(c, events.NodeScope(name)), Sequence: c.Sequence,
	})
}
