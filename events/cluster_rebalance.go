package events

// Limits of a rebalancing.
const (
	// DefaultMaxMoves is how many instances are moved at most where the command does not say.
	DefaultMaxMoves Moves = 10
	// DefaultMinGain is how many points a move must bring where the command does not say.
	DefaultMinGain Weight = 10
	// MaxMoves bounds how many instances one rebalancing may move.
	MaxMoves Moves = 1000
)

// Moves counts instances that move.
type Moves uint32

// When says when nodes are rebalanced.
type When string

// The times of a rebalancing. An empty one is RebalanceNow.
const (
	RebalanceNow    When = "now"        // at once, and once
	RebalanceOnJoin When = "node-joins" // from here on, each time that a node without instances joins
	RebalanceNoMore When = "never"      // ends RebalanceOnJoin
)

// ClusterRebalance is the command that instances move to nodes that fit them better. They move one at a time, and each
// runs on until its successor serves.
type ClusterRebalance struct {
	// MaxMoves is how many instances move at most.
	MaxMoves *Moves `json:"max_moves,omitzero" jsonschema:"minimum=1,maximum=1000"`
	// MinGain is how many points of the score a move must bring at least.
	MinGain *Weight `json:"min_gain,omitzero" jsonschema:"minimum=1,maximum=100"`
	// Volumes also moves slots with named volumes, which begin with empty ones on their new node.
	Volumes bool `json:"volumes,omitzero"`
	When    When `json:"when,omitempty"`
}

// Kind implements Data.
func (ClusterRebalance) Kind() Kind { return v1("cluster", "rebalance") }

func (c ClusterRebalance) check() error {
	switch {
	case c.When != "" && c.When != RebalanceNow && c.When != RebalanceOnJoin && c.When != RebalanceNoMore:
		return Reject(CodeInvalidValue, "when", "when %s is unknown: want %s, %s or %s", quote(string(c.When)), RebalanceNow, RebalanceOnJoin, RebalanceNoMore)
	case c.MaxMoves != nil && (*c.MaxMoves == 0 || *c.MaxMoves > MaxMoves):
		return Reject(CodeOutOfRange, "max_moves", "max_moves %d is not between 1 and %d", *c.MaxMoves, MaxMoves)
	case c.MinGain != nil && (*c.MinGain == 0 || *c.MinGain > MaxWeight):
		return Reject(CodeOutOfRange, "min_gain", "min_gain %d is not between 1 and %d", *c.MinGain, MaxWeight)
	}
	return nil
}

func (c ClusterRebalance) normal() Command {
	if c.When == "" {
		c.When = RebalanceNow
	}
	return c
}

// Terms returns the bounds that the command sets, with the defaults for those that it does not.
func (c ClusterRebalance) Terms() RebalanceTerms {
	t := RebalanceTerms{MaxMoves: DefaultMaxMoves, MinGain: DefaultMinGain, Volumes: c.Volumes}
	set(&t.MaxMoves, c.MaxMoves)
	set(&t.MinGain, c.MinGain)
	return t
}

// ParseClusterRebalance reads the body of the command as strictly as the coordinator does.
func ParseClusterRebalance(body []byte) (ClusterRebalance, error) {
	var c ClusterRebalance
	if err := decodeStrict(body, &c); err != nil {
		return c, err
	}
	return c, c.check()
}

// RebalanceTerms bound a rebalancing.
type RebalanceTerms struct {
	MaxMoves Moves  `json:"max_moves"`
	MinGain  Weight `json:"min_gain"`
	Volumes  bool   `json:"volumes,omitzero"`
}

// RebalanceStarted says that instances move from here on, one after the other.
type RebalanceStarted struct {
	RebalanceTerms
}

// RebalanceEnded says that no instance moves any more.
type RebalanceEnded struct {
	// Moved counts the instances that moved.
	Moved  Moves        `json:"moved"`
	Reason RebalanceEnd `json:"reason"`
	// Message says what failed.
	Message string `json:"message,omitempty"`
}

// RebalanceEnd is why a rebalancing ended.
type RebalanceEnd string

// The ends of a rebalancing.
const (
	RebalanceDone     RebalanceEnd = "done"        // no other move brings enough
	RebalanceMaxMoves RebalanceEnd = "max-moves"   // as many have moved as may
	RebalanceFailed   RebalanceEnd = "move-failed" // a successor did not come to serve; its predecessor runs on
)

// RebalanceSet says what happens from here on when a node without instances joins: nothing where there are no terms.
type RebalanceSet struct {
	Terms *RebalanceTerms `json:"terms,omitzero"`
}

// Kind implements Data.
func (RebalanceStarted) Kind() Kind { return v1("cluster", "rebalance-started") }

// Kind implements Data.
func (RebalanceEnded) Kind() Kind { return v1("cluster", "rebalance-ended") }

// Kind implements Data.
func (RebalanceSet) Kind() Kind { return v1("cluster", "rebalance-set") }
