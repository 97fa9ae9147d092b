package projections

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/rookery-project/rookery/events"
)

// Cluster is the whole state. Its exported fields hold what the log says, and nothing else; the other fields are indexes.
// Any reader may read it, and only Apply and Close change it.
type Cluster struct {
	// Streams holds the identity of each stream by its name; empty before the cluster is founded.
	Streams map[string]string
	// Accounts says that the NATS servers know each user, and hold it to subjects with its name.
	Accounts bool `json:",omitzero"`
	Admissions
	// Key is the one with which rounds are signed; "" where they are not.
	Key events.RoundKey `json:",omitzero"`
	// Round, Epoch and Leader are those of the last closed round. Sequence is its place in the log, and Chain the hash there.
	Round    uint64
	Epoch    uint64
	Leader   string
	Sequence uint64
	Chain    events.Chain
	// Now is the time of the last closed round.
	Now time.Time
	// CommandCursor and StatusCursor are the sequences of the last messages whose effects are in the log.
	CommandCursor uint64
	StatusCursor  uint64
	// CommandsKept is the lowest sequence from which on the fold remembers every command.
	CommandsKept uint64
	// Recovering says that the log may be older than what the nodes have, since AdoptedAt. The coordinator then places and stops nothing.
	Recovering bool
	AdoptedAt  time.Time
	// Level is the level that the cluster has reached.
	Level events.Level `json:",omitzero"`
	// DroppedAt is the sequence of the last event that deleted a service which is gone by now.
	DroppedAt uint64
	// GenerationFloor is the greatest generation of all removed services: the generations of new services begin above it.
	GenerationFloor uint32
	// NodeEpochFloor is the greatest epoch of all forgotten nodes: unknown nodes join with an epoch above it.
	NodeEpochFloor uint64 `json:",omitzero"`
	// Policy is how placement weighs nodes.
	Policy events.Policy
	// Allowed are the names, in order, of the nodes on which instances may be placed. An empty list allows every node.
	Allowed []string

	// Evictions says whether the coordinator declares instances lost at present.
	Evictions Evictions `json:",omitzero"`

	// Rebalance is the rebalancing under way. OnJoin is the one that begins when a node without instances joins. Either is nil for none.
	Rebalance *Rebalance
	OnJoin    *events.RebalanceTerms

	// Holder is the service for which a node is held; its Pending names that node. The name is empty where no node is held.
	Holder events.ServiceID `json:",omitzero"`

	Services map[events.ServiceID]*Service
	Nodes    map[string]*Node
	// Commands holds, by sequence, every command from CommandsKept on. Of the earlier ones it holds those that are open, or that
	// ended at most KeptCommand ago.
	Commands map[uint64]*Command
	// Queues are the commands that wait behind the command that holds their service, the first to arrive first.
	Queues map[events.ServiceID][]events.CommandQueued

	// Groups are the sets of services that change together and have not all reached their target, by the sequence of their command.
	Groups map[uint64]*Group `json:",omitempty"`

	// Shunned are the units of work that the coordinator skips, in the order in which they failed.
	Shunned []Shunned `json:",omitempty"`

	// last is the service of the last event. It saves a look-up, as the next event is mostly about the same service.
	last *Service
	byID map[commandKey]uint64
	open map[uint64]struct{}
	// among holds the services of each index.
	among [indexCount]map[events.ServiceID]struct{}
	// members holds, by service, the command of the group that holds it. The service itself may not exist yet.
	members map[events.ServiceID]uint64
}

// NewCluster returns the state before the first event.
func NewCluster() *Cluster {
	c := &Cluster{
		Streams:  map[string]string{},
		Policy:   events.MaterializePolicy(),
		Services: map[events.ServiceID]*Service{},
		Nodes:    map[string]*Node{},
		Commands: map[uint64]*Command{},
		Queues:   map[events.ServiceID][]events.CommandQueued{},
		byID:     map[commandKey]uint64{},
		open:     map[uint64]struct{}{},
		Groups:   map[uint64]*Group{},
		members:  map[events.ServiceID]uint64{},
	}
	for of := range c.among {
		c.among[of] = map[events.ServiceID]struct{}{}
	}
	return c
}

// Founded reports whether the log has recorded which streams are the cluster's.
func (c *Cluster) Founded() bool { return len(c.Streams) > 0 }

// Hash is the canonical hash of the state: equal states have equal hashes, and different states have different ones.
func (c *Cluster) Hash() string {
	h := sha256.New()
	if err := json.MarshalWrite(h, c, json.Deterministic(true)); err != nil {
		panic(fmt.Sprintf("a state of plain fields does not encode: %v", err))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Service returns the service, or nil where there is none.
func (c *Cluster) Service(id events.ServiceID) *Service {
	if c.last != nil && c.last.ID == id {
		return c.last
	}
	return c.Services[id]
}

// Instance returns the instance, or nil where the state has no instance of that id.
func (c *Cluster) Instance(id events.InstanceID) *Instance {
	s := c.Service(id.Service)
	if s == nil || int(id.Ordinal) >= len(s.Slots) {
		return nil
	}
	return s.Slots[id.Ordinal].find(id.Generation)
}
