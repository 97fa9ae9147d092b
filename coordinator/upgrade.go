package coordinator

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// Running are the programs that take part in the cluster, as far as the leader knows. The log has none of it while an upgrade goes on: an older
// program could not read that.
type Running struct {
	// Leader is that of the coordinator that decides.
	Leader events.Program `json:"leader"`
	// Coordinators are those of all coordinators, by name.
	Coordinators map[string]events.Program `json:"coordinators"`
	// Nodes are the processes of nodes that sent a heartbeat in this term, by the node's name.
	Nodes map[string]Process `json:"nodes"`
	// Unknown says why the coordinators are not known; "" if they are.
	Unknown string `json:"unknown,omitempty"`
}

// NeedsRunning reports whether what the command does depends on the programs that take part.
func NeedsRunning(m events.Message) bool {
	_, subject, err := events.SenderOf(m.Subject)
	return err == nil && subject == events.CommandRoot+".cluster."+events.ClusterFinishUpgrade{}.Kind().Name
}

// Process is one that was the node of its name when it last sent a heartbeat.
type Process struct {
	Incarnation string         `json:"incarnation"`
	Program     events.Program `json:"program"`
}

// reached returns an error unless the cluster has reached the level with which came what the field asks for: older programs could not read it.
func reached(c *projections.Cluster, level events.Level, field, what string) error {
	if c.Level >= level {
		return nil
	}
	return events.Reject(events.CodeOlder, field, "the cluster is at level %d, and %s came with level %d: upgrade all coordinators and nodes, and run `rookery cluster finish-upgrade`",
		c.Level, what, level)
}

// knows returns an error if the spec has a field that older programs may not know. It comes before all other checks: they could not read such a
// command in a queue either.
func (t *Turn) knows(s events.Spec) error {
	level, field := s.Newest()
	return reached(t.Cluster, level, field, field)
}

// finishUpgrade raises the cluster to the highest level of its coordinators, unless one of them or a node does not work at it.
func finishUpgrade(t *Turn, r events.Request) error {
	to := t.Running.Leader.Levels.Most
	for _, p := range t.Running.Coordinators {
		to = max(to, p.Levels.Most)
	}
	if to <= t.Cluster.Level {
		t.atOnce(r)
		return nil
	}
	if t.Running.Unknown != "" {
		return events.Reject(events.CodeBusy, "", "the leader cannot find out which coordinators run: %s; try again", t.Running.Unknown)
	}
	if older := t.olderThan(to); len(older) > 0 {
		return events.Reject(events.CodeOlder, "", "the cluster cannot reach level %d: %s; upgrade what is older, and run `rookery forget` for nodes that are gone",
			to, atMost(older))
	}
	t.atOnce(r, events.ClusterLevel{Level: to})
	return nil
}

// olderThan returns what takes part and does not work at the level, or is not known to.
func (t *Turn) olderThan(level events.Level) (older []string) {
	for _, name := range slices.Sorted(maps.Keys(t.Running.Coordinators)) {
		if p := t.Running.Coordinators[name]; !p.Levels.Hold(level) {
			older = append(older, fmt.Sprintf("coordinator %s works at levels %s", name, p.Levels))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.Cluster.Nodes)) {
		n := t.Cluster.Nodes[name]
		p := t.Running.Nodes[name]
		heard := p.Incarnation == n.Incarnation
		switch {
		case n.Forgotten || n.Program.Levels.Hold(level) || heard && p.Program.Levels.Hold(level):
		case heard:
			older = append(older, fmt.Sprintf("node %s works at levels %s", name, p.Program.Levels))
		default:
			older = append(older, fmt.Sprintf("node %s has sent no heartbeat to this leader", name))
		}
	}
	return older
}

// atMost lists the first names, and counts the others.
func atMost(names []string) string {
	const most = 5
	text := strings.Join(names[:min(len(names), most)], ", ")
	if len(names) > most {
		text += fmt.Sprintf(" and %d more", len(names)-most)
	}
	return text
}
