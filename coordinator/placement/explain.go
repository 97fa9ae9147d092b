package placement

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// Verdict is what becomes of one node when a service's next instance is decided.
type Verdict struct {
	Node string `json:"node"`
	// Removed is the filter that removes the node, by its name in events.Removed; "" for one that could have it.
	Removed string `json:"removed,omitempty"`
	// Terms and their sum, Score, are those of a node that could have it, in thousandths of a point.
	Terms events.Points `json:"terms,omitzero"`
	Score int64         `json:"score"`
}

// names are those of the filters in events.Removed.
var names = [filters]string{
	none: "", silent: "silent", degraded: "degraded", paused: "paused", drained: "drained", notAllowed: "not_allowed", nodeSelector: "node_selector",
	zone: "zone", allowHostPort: "allow_host_port", allowEngineContext: "allow_engine_context", antiAffinity: "anti_affinity",
	maxPerNode: "max_per_node", hostPort: "host_port", ports: "ports", cpu: "cpu", memory: "memory", disk: "disk",
}

// crashedName is that of the rule that keeps a slot from the node on which it crashed last, spreadName is that of the filter that goes by zones, volumesName of the one that goes by where a slot's volumes are,
// and heldName of the one that keeps a node for another service.
const (
	spreadName  = "spread"
	volumesName = "volumes"
	heldName    = "held"
	crashedName = "crashed"
)

// VerdictsWithout is Verdicts for the successor of an instance that moves, as if that one were gone.
func (b *Board) VerdictsWithout(s *projections.Service, moves *projections.Instance) []Verdict {
	q := b.queue(s, s.Revision)
	gone := change{rank: b.ranks[moves.Node], by: -1, service: s.ID, revision: s.Revisions[moves.Revision]}
	q.take(gone)
	verdicts := q.verdicts("", b.held(), "")
	gone.by = 1
	q.take(gone)
	return verdicts
}

// Verdicts says of every node what becomes of it when the next instance of the slot is decided: those that could have it
// first, in the order in which they would be chosen, then the others by name.
func (b *Board) Verdicts(s *projections.Service, ordinal uint32) []Verdict {
	q, held := b.queue(s, s.Target(ordinal)), b.heldFrom(s, ordinal)
	return q.verdicts(q.home(s, ordinal, held), held, s.CrashedOn(ordinal))
}

// verdicts are those of a slot whose volumes are on the node home, or nowhere where that is "", and from which the node of a
// rank is held. One that it crashed on is for it where no other is.
func (q *queue) verdicts(home string, held int32, crashed string) []Verdict {
	b := q.board
	var could []contender
	var others []Verdict
	for rank, node := range b.nodes {
		z := q.zone(int32(rank))
		switch {
		case home != "" && home != node.Name:
			others = append(others, Verdict{Node: node.Name, Removed: volumesName})
		case q.met[rank] != none:
			others = append(others, Verdict{Node: node.Name, Removed: names[q.met[rank]]})
		case q.barred(int32(rank)):
			others = append(others, Verdict{Node: node.Name, Removed: spreadName})
		case int32(rank) == held:
			others = append(others, Verdict{Node: node.Name, Removed: heldName})
		default:
			c := q.candidate(int32(rank))
			c.score += q.together(z) + q.even(z)
			could = append(could, contender{c, z})
		}
	}
	slices.SortFunc(could, func(a, b contender) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.instances, b.instances), cmp.Compare(a.rank, b.rank))
	})
	verdicts := make([]Verdict, 0, len(b.nodes))
	for _, c := range could {
		terms := q.points(c.rank)
		terms.SameZone, terms.Spread = q.together(c.zone), q.even(c.zone)
		verdicts = append(verdicts, Verdict{Node: b.nodes[c.rank].Name, Terms: terms, Score: c.score})
	}
	verdicts, others = putApart(crashed, verdicts, others)
	slices.SortStableFunc(others, func(a, b Verdict) int { return strings.Compare(a.Node, b.Node) })
	return append(verdicts, others...)
}
