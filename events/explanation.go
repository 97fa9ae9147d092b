package events

// Removed counts the nodes that each filter of placement removes, in the order in which a node meets them but for Volumes,
// which is met first: a node counts for the first that removes it.
type Removed struct {
	// The nodes without their state: Silent ones send no heartbeats, the engine of Degraded ones does not answer, Paused ones get no
	// further instances, Drained ones must have none, and NotAllowed ones are not on the cluster's list of nodes.
	Silent     uint32 `json:"silent,omitzero"`
	Degraded   uint32 `json:"degraded,omitzero"`
	Paused     uint32 `json:"paused,omitzero"`
	Drained    uint32 `json:"drained,omitzero"`
	NotAllowed uint32 `json:"not_allowed,omitzero"`
	// NodeSelector: a label is not as the spec wants it. Zone: the node is in none of the spec's zones.
	NodeSelector uint32 `json:"node_selector,omitzero"`
	Zone         uint32 `json:"zone,omitzero"`
	// AllowHostPort: the node was not started with --allow-host-port for a port that the spec names, AllowEngineContext: nor with
	// --allow-engine-context, which the policy's security context asks for.
	AllowHostPort      uint32 `json:"allow_host_port,omitzero"`
	AllowEngineContext uint32 `json:"allow_engine_context,omitzero"`
	// AntiAffinity: an instance runs there that the spec wants to be apart from. MaxPerNode: the node has as many
	// instances of the service as the spec allows.
	AntiAffinity uint32 `json:"anti_affinity,omitzero"`
	MaxPerNode   uint32 `json:"max_per_node,omitzero"`
	// HostPort: another instance holds a port that the spec names. Ports: the node's range has too few left.
	HostPort uint32 `json:"host_port,omitzero"`
	Ports    uint32 `json:"ports,omitzero"`
	// CPU, Memory and Disk: the node has too little of it left.
	CPU    uint32 `json:"cpu,omitzero"`
	Memory uint32 `json:"memory,omitzero"`
	Disk   uint32 `json:"disk,omitzero"`
	// Spread: the node's zone is ahead of others by as many as the policy allows.
	Spread uint32 `json:"spread,omitzero"`
	// Held: a service that has waited longer holds the node, which would do otherwise.
	Held uint32 `json:"held,omitzero"`
	// Volumes: the slot has volumes on another node.
	Volumes uint32 `json:"volumes,omitzero"`
	// Crashed: the slot's last instance used up its restarts there, and another node can have this one.
	Crashed uint32 `json:"crashed,omitzero"`
}

// Same reports whether both have nodes removed by the same filters.
func (r Removed) Same(o Removed) bool { return r.which() == o.which() }

// filters is how many there are.
const filters = 20

func (r Removed) which() (which [filters]bool) {
	for i, n := range [...]uint32{
		r.Silent, r.Degraded, r.Paused, r.Drained, r.NotAllowed, r.NodeSelector, r.Zone, r.AllowHostPort, r.AllowEngineContext,
		r.AntiAffinity, r.MaxPerNode, r.HostPort, r.Ports, r.CPU, r.Memory, r.Disk, r.Spread,
		r.Held, r.Volumes, r.Crashed,
	} {
		which[i] = n > 0
	}
	return which
}

// Points are the terms of a node's score in thousandths of a point. The score is their sum.
type Points struct {
	// Profile is how well the share that is taken of the node fits the policy's profile.
	Profile int64 `json:"profile,omitzero"`
	// AntiAffinity is lost where instances run there that the spec wants to be apart from, Zone where the node is in
	// none of the spec's zones, SameZone where the service's other instances are in another one, SameNode where they are on this node,
	// and Spread where the node's zone is ahead of others.
	AntiAffinity int64 `json:"anti_affinity,omitzero"`
	Zone         int64 `json:"zone,omitzero"`
	SameZone     int64 `json:"same_zone,omitzero"`
	SameNode     int64 `json:"same_node,omitzero"`
	Spread       int64 `json:"spread,omitzero"`
	// Failures is lost where instances of the revision failed often of late: more than all other terms together.
	Failures int64 `json:"failures,omitzero"`
}

// Sum returns the score.
func (p Points) Sum() int64 {
	return p.Profile + p.AntiAffinity + p.Zone + p.SameZone + p.SameNode + p.Spread + p.Failures
}

// Choice is why a node was chosen.
type Choice struct {
	// Nodes counts all nodes that there were, and Removed those that each filter removed; the rest could have had it.
	Nodes   uint32  `json:"nodes"`
	Removed Removed `json:"removed,omitzero"`
	Score   int64   `json:"score"`
	Terms   Points  `json:"terms,omitzero"`
	// RunnerUp is the node that comes next, if any, with its score.
	RunnerUp      string `json:"runner_up,omitempty"`
	RunnerUpScore int64  `json:"runner_up_score,omitzero"`
}

// Shortage is what the node lacks that comes closest to having enough.
type Shortage struct {
	Node  string    `json:"node"`
	Lacks Resources `json:"lacks"`
}
