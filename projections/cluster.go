package projections

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/rookery-project/rookery/events"
)

// Cluster is the whole state. Its exported fields, and nothing else, are what the log says; the rest is index.
// It is read by anyone and changed by Apply and Close alone.
type Cluster struct {
	// Streams holds the identity of each stream by its name; empty before the cluster is founded.
	Streams map[string]string
	// Round, Epoch and Leader are those of the last closed round, Sequence its place in the log and Chain the hash there.
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
	// CommandsKept is the lowest sequence that the fold still remembers commands from.
	CommandsKept uint64
	// Recovering says that the log may be older than what the nodes have, since AdoptedAt: nothing is placed or stopped.
	Recovering bool
	AdoptedAt  time.Time
	// DroppedAt is the sequence of the last event that dropped a service which is gone by now.
	DroppedAt uint64
	// GenerationFloor is the greatest generation of all services that were removed: new ones begin above it.
	GenerationFloor uint32
	// NodeEpochFloor is the greatest epoch of all nodes that were forgotten: nodes that are not known join above it.
	NodeEpochFloor uint64 `json:",omitzero"`
	// Policy is how placement weighs nodes.
	Policy events.Policy
	// Allowed are the names of the nodes that instances may be placed on, in order; any where there are none.
	Allowed []string

	// Evictions says whether anything is lost just now.
	Evictions Evictions `json:",omitzero"`

	// Rebalance is the one that is under way, and OnJoin what begins when a node without instances joins; nil for none.
	Rebalance *Rebalance
	OnJoin    *events.RebalanceTerms

	// Holder is the service that a node is held for, which its Pending names; without a name where none is.
	Holder events.ServiceID `json:",omitzero"`

	Services map[events.ServiceID]*Service
	Nodes    map[string]*Node
	// Commands holds every command from CommandsKept on, by sequence, and of those below it what is open, or has ended a day ago at most.
	Commands map[uint64]*Command
	// Queues are the commands that wait behind the one that holds their service, first come first.
	Queues map[events.ServiceID][]events.CommandQueued

	// Groups are the services that change together and have not all come to what they shall be, by the sequence of their command.
	Groups map[uint64]*Group `json:",omitempty"`

	// Shunned are the units of work that the coordinator leaves alone, in the order in which they failed.
	Shunned []Shunned `json:",omitempty"`

	// last is the service that an event was about last: mostly the next is about the same.
	last *Service
	byID map[commandKey]uint64
	open map[uint64]struct{}
	// among has the services of each index.
	among [indexCount]map[events.ServiceID]struct{}
	// members are the commands of the groups that hold services, whether there are these yet or not.
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

// Hash is the canonical hash of the state: equal states have equal hashes, and different ones do not.
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

// Instance returns the instance, or nil where the state has none of that id.
func (c *Cluster) Instance(id events.InstanceID) *Instance {
	s := c.Service(id.Service)
	if s == nil || int(id.Ordinal) >= len(s.Slots) {
		return nil
	}
	return s.Slots[id.Ordinal].find(id.Generation)
}
