package placement_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rookery-project/rookery/coordinator/placement"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// town is a cluster to which anything may happen, with a board that follows all of it.
type town struct {
	t        *rapid.T
	cluster  *projections.Cluster
	board    *placement.Board
	services []events.ServiceID
	sequence uint64
	ordinal  uint32 // of the slot that was decided on last
	now      time.Time
	failed   map[string][]time.Time // by service, revision and node
}

// forEachTown runs many towns for a while, and calls check after every decision.
func forEachTown(t *testing.T, check func(*town, *projections.Service, placement.Decision)) {
	t.Helper()
	rapid.Check(t, func(t *rapid.T) {
		c := projections.NewCluster()
		w := &town{t: t, cluster: c, board: placement.NewBoard(c), now: time.Unix(0, 0), failed: map[string][]time.Time{}}
		w.found()
		const steps = 120
		for range steps {
			w.step(check)
		}
	})
}

// IntN draws a number from 0 to n-1.
func (w *town) IntN(n int) int { return rapid.IntRange(0, n-1).Draw(w.t, "number") }

func (w *town) apply(scope events.Scope, data events.Data) {
	w.t.Helper()
	w.sequence++
	r := events.Record{Event: events.Event{Scope: scope, Data: data}, Sequence: w.sequence, Time: w.now}
	if err := w.cluster.Apply(r); err != nil {
		w.t.Fatal(err)
	}
	w.board.Note(r)
}

func (w *town) found() {
	w.policy()
	for i := range 1 + w.IntN(12) {
		w.join(i)
	}
	for i := range 6 {
		id := events.ServiceID{Namespace: "demo", Name: fmt.Sprintf("s%d", i)}
		w.services = append(w.services, id)
		w.revise(id)
	}
}

func (w *town) policy() {
	p := events.DefaultPolicy()
	if w.IntN(2) == 0 {
		p = events.MaterializePolicy()
	}
	p.Spread.IgnoreScaled, p.Spread.Soft, p.Spread.MaxSkew = w.IntN(3) == 0, w.IntN(3) == 0, 1+uint32(w.IntN(2))
	p.AntiAffinity.Soft, p.ZoneAffinity.Soft = w.IntN(2) == 0, w.IntN(2) == 0
	if w.IntN(2) == 0 {
		p.Profile = events.OptimizeUtilization
	}
	p.Default = w.defaults()
	w.apply(events.ClusterScope, events.PolicyChanged{Policy: p})
}

func nodeName(i int) string { return fmt.Sprintf("n%02d", i) }

func (w *town) join(i int) {
	name, epoch := nodeName(i), uint64(1)
	if n := w.cluster.Nodes[name]; n != nil {
		epoch = n.Epoch + 1
	}
	labels := map[string]string{}
	if w.IntN(2) == 0 {
		labels["disk"] = "ssd"
	}
	w.apply(events.NodeScope(name), events.NodeJoined{Epoch: epoch, Incarnation: fmt.Sprint(epoch), NodeFacts: events.NodeFacts{
		Address: "10.0.0.1", Zone: []string{"", "a", "b", "c"}[w.IntN(4)], Labels: labels,
		Capacity: events.Capacity{CPU: float64(1 + w.IntN(8)), Memory: uint64(1+w.IntN(8)) << 30},
		Ports:    events.PortRange{First: 100, Last: uint16(102 + w.IntN(8))},
		Default:  w.defaults(),
	}})
}

// defaults draws the defaults of a node or of the policy; most have none.
func (w *town) defaults() events.Resources {
	if w.IntN(3) > 0 {
		return events.Resources{}
	}
	return events.Resources{CPU: events.CPU(w.IntN(1000)), Memory: events.Size(w.IntN(1<<10)) << 20}
}

func (w *town) revise(id events.ServiceID) {
	spec := events.Spec{
		Image: "a", Labels: map[string]string{"app": []string{"x", "y"}[w.IntN(2)]},
		Requests: events.Resources{CPU: events.CPU(w.IntN(2000)), Memory: events.Size(w.IntN(2<<10)) << 20},
	}
	switch w.IntN(4) { // the rest is left to the defaults
	case 0:
		spec.Requests.CPU = 0
	case 1:
		spec.Requests.Memory = 0
	case 2:
		spec.Requests, spec.Resources.Memory = events.Resources{}, spec.Requests.Memory
	}
	if w.IntN(3) == 0 {
		spec.NodeSelector = map[string]string{"disk": "ssd"}
	}
	if w.IntN(3) == 0 {
		spec.Zones = []string{"a", "b"}
	}
	if w.IntN(3) == 0 {
		spec.AntiAffinity = []events.Selector{{Label: "app", Operator: events.OpEqual, Values: []string{"x"}}}
	}
	if w.IntN(4) == 0 {
		spec.Spread = []events.Selector{{Label: "app", Operator: events.OpExists}}
	}
	if w.IntN(4) == 0 {
		spec.Volumes = []events.Volume{{Name: "data", Path: "/data", Kind: events.VolumeNamed}}
	}
	if w.IntN(4) == 0 {
		spec.MaxPerNode = 1 + uint32(w.IntN(2))
	}
	for i := range w.IntN(3) {
		spec.Ports = append(spec.Ports, events.Port{Name: fmt.Sprintf("p%d", i), Port: 80})
	}
	revision := uint64(1)
	if s := w.cluster.Services[id]; s != nil {
		revision = s.Revision + 1
	}
	w.apply(events.ServiceScope(id), events.ServiceRevised{Revision: revision, Spec: spec, Hash: fmt.Sprint(revision)})
	w.apply(events.ServiceScope(id), events.ServiceScaled{Scale: uint32(1 + w.IntN(12))})
}

// step lets one thing happen: mostly a decision, which it applies.
func (w *town) step(check func(*town, *projections.Service, placement.Decision)) {
	w.now = w.now.Add(time.Duration(w.IntN(100)) * time.Second)
	id := w.services[w.IntN(len(w.services))]
	node := events.NodeScope(nodeName(w.IntN(len(w.cluster.Nodes))))
	name, _ := node.Node()
	n := w.cluster.Nodes[name]
	switch w.IntN(24) {
	case 0:
		w.join(w.IntN(14))
	case 1:
		w.revise(id)
	case 2:
		w.policy()
	case 3, 4:
		w.apply(node, map[bool]events.Data{true: events.NodeResumed{}, false: events.NodePaused{}}[n != nil && n.Paused])
	case 5, 6:
		w.apply(node, map[bool]events.Data{true: events.NodeReturned{}, false: events.NodeSilent{}}[n != nil && n.Silent])
	case 22, 23:
		w.apply(node, map[bool]events.Data{true: events.NodeRecovered{}, false: events.NodeDegraded{Message: "hangs"}}[n != nil && n.Degraded != ""])
	case 7, 8, 9:
		w.stop(w.cluster.Services[id])
	case 10:
		for w.cluster.Services[id].Total() > 0 {
			w.stop(w.cluster.Services[id])
		}
		w.apply(events.ServiceScope(id), events.ServiceRemoved{})
		maps.DeleteFunc(w.failed, func(on string, _ []time.Time) bool { return strings.HasPrefix(on, id.String()+" ") })
		w.revise(id)
	case 11:
		few := []string{nodeName(0), nodeName(1), nodeName(2)}
		w.apply(events.ClusterScope, events.NodesAllowed{Allowed: few[:w.IntN(2)*len(few)]})
	case 12, 13:
		w.fail(w.cluster.Services[id])
	default:
		w.place(w.cluster.Services[id], check)
	}
}

// stop retires a running instance, or removes a retired one.
func (w *town) stop(s *projections.Service) {
	all := slices.Collect(s.Instances())
	if len(all) == 0 {
		return
	}
	i := all[w.IntN(len(all))]
	if i.Retired() == "" {
		w.apply(events.ServiceScope(s.ID), events.InstanceRetired{Ordinal: i.ID.Ordinal, Generation: i.ID.Generation, Reason: events.RetireRevised})
		return
	}
	w.apply(events.ServiceScope(s.ID), events.InstanceRemoved{InstanceSeen: events.InstanceSeen{
		Ordinal: i.ID.Ordinal, Generation: i.ID.Generation, Node: i.Node,
	}})
}

// fail makes a running instance fail some times.
func (w *town) fail(s *projections.Service) {
	all := slices.Collect(s.Instances())
	if len(all) == 0 {
		return
	}
	i, code := all[w.IntN(len(all))], int32(w.IntN(4))
	for range 1 + w.IntN(6) {
		w.now = w.now.Add(time.Duration(w.IntN(60)) * time.Second)
		w.apply(events.ServiceScope(s.ID), events.InstanceOffline{InstanceSeen: events.InstanceSeen{
			Ordinal: i.ID.Ordinal, Generation: i.ID.Generation, Node: i.Node, ExitCode: &code,
			Position: events.Position{Epoch: 1, Phase: events.PhaseOffline},
		}})
		if i.Retired() == "" && code != 0 {
			key := failedOn(s.ID, i.Revision, i.Node)
			w.failed[key] = append(w.failed[key], w.now)
		}
	}
}

func failedOn(id events.ServiceID, revision uint64, node string) string {
	return fmt.Sprintf("%s %d %s", id, revision, node)
}

// fails reports whether the service's revision failed on the node five times in the last five minutes.
func (w *town) fails(s *projections.Service, node string) bool {
	count := 0
	for _, at := range w.failed[failedOn(s.ID, s.Revision, node)] {
		if w.now.Sub(at) < 5*time.Minute {
			count++
		}
	}
	return count >= 5
}

func (w *town) place(s *projections.Service, check func(*town, *projections.Service, placement.Decision)) {
	ordinal := uint32(0)
	for int(ordinal) < len(s.Slots) && s.Slots[ordinal].Current != nil {
		ordinal++
	}
	w.board.At(w.now)
	d := w.board.Choose(s, ordinal)
	w.ordinal = ordinal
	check(w, s, d)
	if d.Node == nil {
		w.pend(s, *d.Pending)
		return
	}
	var ports []events.PortBinding
	for _, port := range d.Node.FreePorts(len(s.Current().Spec.Ports)) {
		ports = append(ports, events.PortBinding{HostPort: port})
	}
	w.apply(events.ServiceScope(s.ID), events.InstancePlaced{
		Ordinal: ordinal, Generation: s.NextGeneration(ordinal), Revision: s.Revision, Node: d.Node.Name,
		Ports: ports, Reserved: d.Reserved, Choice: d.Choice,
	})
}

func TestCapacityIsNeverExceeded(t *testing.T) {
	forEachTown(t, func(w *town, s *projections.Service, d placement.Decision) {
		if d.Node == nil {
			return
		}
		has := d.Node.Facts.Allocatable()
		takes := d.Node.Reserved().Plus(d.Reserved)
		asks := s.Current().Spec.Reserves(d.Node.Facts.Default, &w.cluster.Policy)
		if d.Reserved != asks {
			w.t.Errorf("%s gets %v on %s, want %v", s.ID, d.Reserved, d.Node.Name, asks)
		}
		if (asks.CPU > 0 && takes.CPU > has.CPU) || (asks.Memory > 0 && takes.Memory > has.Memory) {
			w.t.Errorf("%s gets %v on %s, which then has given %v of %v", s.ID, d.Reserved, d.Node.Name, takes, has)
		}
		if ports := d.Node.FreePorts(len(s.Current().Spec.Ports)); len(ports) < len(s.Current().Spec.Ports) {
			w.t.Errorf("%s is placed on %s, which has %d ports for it", s.ID, d.Node.Name, len(ports))
		}
	})
}

func TestAPausedNodeIsNeverChosen(t *testing.T) {
	forEachTown(t, func(w *town, s *projections.Service, d placement.Decision) {
		if d.Node != nil && (d.Node.Paused || d.Node.Silent || (len(w.cluster.Allowed) > 0 && !slices.Contains(w.cluster.Allowed, d.Node.Name))) {
			w.t.Errorf("%s is placed on %s, which is paused, silent or not allowed", s.ID, d.Node.Name)
		}
	})
}

func TestASlotIsNeverPlacedAwayFromItsVolumes(t *testing.T) {
	forEachTown(t, func(w *town, s *projections.Service, d placement.Decision) {
		if home := s.Homes[w.ordinal]; d.Node != nil && home != "" && home != d.Node.Name && len(s.Current().Spec.Volumes) > 0 {
			w.t.Errorf("%s/%d is placed on %s, and its volumes are on %s", s.ID, w.ordinal, d.Node.Name, home)
		}
	})
}

func TestANodeOnWhichARevisionFailsIsTheLastToGetIt(t *testing.T) {
	forEachTown(t, func(w *town, s *projections.Service, d placement.Decision) {
		if d.Node == nil {
			return
		}
		fails := w.fails(s, d.Node.Name)
		if d.Choice.RunnerUp != "" && fails && !w.fails(s, d.Choice.RunnerUp) {
			w.t.Errorf("%s is placed on %s, where it fails, and %s could have it", s.ID, d.Node.Name, d.Choice.RunnerUp)
		}
		if fails != (d.Choice.Terms.Failures < 0) {
			w.t.Errorf("%s fails on %s: %t; its score has %d for that", s.ID, d.Node.Name, fails, d.Choice.Terms.Failures)
		}
	})
}

func TestHardSpreadNeverExceedsTheSkew(t *testing.T) {
	forEachTown(t, func(w *town, s *projections.Service, d placement.Decision) {
		p := w.cluster.Policy.Spread
		if d.Node == nil || !w.evens(s) {
			return
		}
		counts := w.spread(s)
		for zone, n := range counts {
			if ahead := counts[d.Node.Facts.Zone] + 1 - n; ahead > int(p.MaxSkew) {
				w.t.Errorf("%s is placed in zone %q, which is then %d ahead of %q", s.ID, d.Node.Facts.Zone, ahead, zone)
			}
		}
	})
}

// evens reports whether the policy excludes zones that are ahead of others for the service.
func (w *town) evens(s *projections.Service) bool {
	p := w.cluster.Policy.Spread
	asked := len(s.Current().Spec.Spread) > 0
	return !p.Soft && (asked || (p.Enabled && (!p.IgnoreScaled || s.Scale == 1)))
}

// TestNodesAreEvenedOutFirst checks each choice under the default policy, without soft wishes of the spec: no other node that
// could have taken the instance has fewer instances of the service.
func TestNodesAreEvenedOutFirst(t *testing.T) {
	forEachTown(t, func(w *town, s *projections.Service, d placement.Decision) {
		p := w.cluster.Policy
		if d.Node == nil || p.SameNode == 0 || p.AntiAffinity.Soft || p.ZoneAffinity.Soft || len(s.Current().Spec.Spread) > 0 {
			return
		}
		own := func(node string) (count int) {
			for i := range s.Instances() {
				if i.Node == node && i.Retired() == "" {
					count++
				}
			}
			return count
		}
		for _, v := range w.board.Verdicts(s, w.ordinal) {
			if v.Removed == "" && v.Terms.Failures == 0 && own(v.Node) < own(d.Node.Name) {
				w.t.Errorf("%s goes to %s, which has %d, and %s has %d", s.ID, d.Node.Name, own(d.Node.Name), v.Node, own(v.Node))
			}
		}
	})
}

// TestWhatASpecSpreadsIsEvenedOutOverTheZonesFirst checks that no instance goes to a zone that is ahead while a zone that is
// not has a node for it, however many instances of the service that node has.
func TestWhatASpecSpreadsIsEvenedOutOverTheZonesFirst(t *testing.T) {
	forEachTown(t, func(w *town, s *projections.Service, d placement.Decision) {
		p := w.cluster.Policy
		if d.Node == nil || len(s.Current().Spec.Spread) == 0 || s.Current().Spec.Global() || p.AntiAffinity.Soft || p.ZoneAffinity.Soft {
			return
		}
		counts := w.spread(s)
		least := slices.Min(slices.Collect(maps.Values(counts)))
		ahead := func(zone string) bool { return counts[zone]+1-least > int(p.Spread.MaxSkew) }
		for _, v := range w.board.Verdicts(s, w.ordinal) {
			zone := w.cluster.Nodes[v.Node].Facts.Zone
			if v.Removed != "" || v.Terms.Failures != 0 || ahead(zone) || !ahead(d.Node.Facts.Zone) {
				continue
			}
			w.t.Errorf("%s goes to %s in zone %s, which is ahead: %v; %s in zone %s could have it", s.ID, d.Node.Name, d.Node.Facts.Zone, counts, v.Node, zone)
		}
	})
}

// spread counts the instances with which the service is spread, in each zone that it may use.
func (w *town) spread(s *projections.Service) map[string]int {
	spec, counts := s.Current().Spec, map[string]int{}
	for _, n := range w.cluster.Nodes {
		wanted := w.cluster.Policy.ZoneAffinity.Soft || len(spec.Zones) == 0 || slices.Contains(spec.Zones, n.Facts.Zone)
		if n.Ready() && wanted && (spec.NodeSelector == nil || n.Facts.Labels["disk"] == "ssd") {
			counts[n.Facts.Zone] += 0
		}
	}
	for _, o := range w.cluster.Services {
		for i := range o.Instances() {
			zone := w.cluster.Nodes[i.Node].Facts.Zone
			with := o == s
			if len(spec.Spread) > 0 {
				with = events.MatchAll(spec.Spread, o.Revisions[i.Revision].Spec.Labels)
			}
			if _, counted := counts[zone]; counted && with && i.Retired() == "" {
				counts[zone]++
			}
		}
	}
	return counts
}

func TestTheSameStateGivesTheSameDecisionWhateverIsRemembered(t *testing.T) {
	forEachTown(t, func(w *town, s *projections.Service, d placement.Decision) {
		anew := placement.NewBoard(w.cluster)
		anew.At(w.now)
		if fresh := anew.Choose(s, w.ordinal); !reflect.DeepEqual(fresh, d) {
			w.t.Errorf("%s: the board that remembers decides %+v %+v, and a new board decides %+v %+v", s.ID, d.Choice, d.Pending, fresh.Choice, fresh.Pending)
		}
	})
}

func TestAnExplanationsCountsAddUpToTheNodes(t *testing.T) {
	forEachTown(t, func(w *town, s *projections.Service, d placement.Decision) {
		nodes, removed := 0, events.Removed{}
		if d.Node == nil {
			nodes, removed = int(d.Pending.Nodes), d.Pending.Removed
		} else {
			nodes, removed = int(d.Choice.Nodes), d.Choice.Removed
			if d.Choice.Score != d.Choice.Terms.Sum() {
				w.t.Errorf("the score of %s is %d, and its terms are %+v", s.ID, d.Choice.Score, d.Choice.Terms)
			}
		}
		sum := int(removed.Silent + removed.Degraded + removed.Paused + removed.NotAllowed + removed.NodeSelector + removed.Zone + removed.AntiAffinity + removed.MaxPerNode +
			removed.HostPort + removed.Ports + removed.CPU + removed.Memory + removed.Disk + removed.Spread +
			removed.Held + removed.Volumes)
		if nodes != len(w.cluster.Nodes) || (d.Node == nil) != (sum == nodes) || sum > nodes {
			w.t.Errorf("%s: of %d nodes %d are removed, and the node is %v: %+v", s.ID, nodes, sum, d.Node != nil, removed)
		}
	})
}

// TestVerdictsSayWhatIsDecided compares the verdicts on all nodes with the decision: the first node that could take the
// instance gets it.
func TestVerdictsSayWhatIsDecided(t *testing.T) {
	forEachTown(t, func(w *town, s *projections.Service, d placement.Decision) {
		verdicts := w.board.Verdicts(s, w.ordinal)
		first, gets := "", ""
		if len(verdicts) > 0 && verdicts[0].Removed == "" {
			first = verdicts[0].Node
		}
		if d.Node != nil {
			gets = d.Node.Name
		}
		if first != gets || len(verdicts) != len(w.cluster.Nodes) {
			w.t.Errorf("%s/%d goes to %q, and the verdicts on %d of %d nodes begin with %q", s.ID, w.ordinal, gets, len(verdicts), len(w.cluster.Nodes), first)
		}
		for i, v := range verdicts {
			switch {
			case v.Removed == "" && v.Score != v.Terms.Sum():
				w.t.Errorf("%s has the score %d on %s, and its terms are %+v", s.ID, v.Score, v.Node, v.Terms)
			case i > 0 && v.Removed == "" && (verdicts[i-1].Removed != "" || verdicts[i-1].Score < v.Score):
				w.t.Errorf("%s has a better score on %s than on %s before it", s.ID, v.Node, verdicts[i-1].Node)
			}
		}
	})
}

func TestPendingIsPlacedAsSoonAsOneNodeFits(t *testing.T) {
	forEachTown(t, func(w *town, s *projections.Service, d placement.Decision) {
		if d.Node != nil || s.Home(w.ordinal) != "" || len(w.cluster.Allowed) > 0 { // no other node may take it
			return
		}
		spec := s.Current().Spec
		has := spec.Reserves(events.Resources{}, &w.cluster.Policy)
		w.apply(events.NodeScope("zz"), events.NodeJoined{Epoch: 1, Incarnation: "zz", NodeFacts: events.NodeFacts{
			Zone: "a", Labels: spec.NodeSelector, Ports: events.PortRange{First: 1, Last: 100},
			Capacity: events.Capacity{CPU: float64(has.CPU)/float64(events.Core) + 1, Memory: uint64(has.Memory) + 1<<20},
		}})
		again := w.board.Choose(s, w.ordinal)
		if again.Node == nil && !w.evens(s) {
			w.t.Errorf("%s still waits although a node has joined that fits: %+v", s.ID, again.Pending)
		}
		delete(w.cluster.Nodes, "zz") // it was only for this question
		w.board = placement.NewBoard(w.cluster)
	})
}
