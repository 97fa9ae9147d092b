package placement

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// Verdict is the result for one node when placement decides a service's next instance.
type Verdict struct {
	Node string `json:"node"`
	// Removed is the filter that removes the node, by its name in events.Removed; "" for a node that could take the instance.
	Removed string `json:"removed,omitempty"`
	// Terms and their sum, Score, are in thousandths of a point; only nodes that could take the instance have them.
	Terms events.Points `json:"terms,omitzero"`
	Score int64         `json:"score"`
}

// names are the filters' names in events.Removed.
var names = [filters]string{
	none: "", silent: "silent", degraded: "degraded", paused: "paused", drained: "drained", notAllowed: "not_allowed", nodeSelector: "node_selector",
	zone: "zone", allowHostPort: "allow_host_port", allowEngineContext: "allow_engine_context", antiAffinity: "anti_affinity",
	maxPerNode: "max_per_node", hostPort: "host_port", ports: "ports", cpu: "cpu", memory: "memory", disk: "disk",
}

// These are the names of rules that are not in filter. spreadName is the filter by zones, volumesName the one by the node of a
// slot's volumes, heldName the one that keeps a node for another service, and crashedName the rule that keeps a slot from the
// node where it last crashed.
const (
	spreadName  = "spread"
	volumesName = "volumes"
	heldName    = "held"
	crashedName = "crashed"
)

// VerdictsWithout is Verdicts for the successor of an instance that moves, as if the instance were gone.
func (b *Board) VerdictsWithout(s *projections.Service, moves *projections.Instance) []Verdict {
	q := b.queue(s, s.Revision)
	gone := change{rank: b.ranks[moves.Node], by: -1, service: s.ID, revision: s.Revisions[moves.Revision]}
	q.take(gone)
	verdicts := q.verdicts("", b.held(), "")
	gone.by = 1
	q.take(gone)
	return verdicts
}

// Verdicts returns the result for every node when placement decides the next instance of the slot. Nodes that could take it
// come first, in the order in which placement would choose them, then the others by name.
func (b *Board) Verdicts(s *projections.Service, ordinal uint32) []Verdict {
	q, held := b.queue(s, s.Target(ordinal)), b.heldFrom(s, ordinal)
	return q.verdicts(q.home(s, ordinal, held), held, s.CrashedOn(ordinal))
}

// verdicts returns the verdicts for a slot whose volumes are on the node home, or on no node if that is "". The node of the
// rank held is held from the slot. The slot may use the node that it crashed on only if no other can take it.
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
