package events

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
)

// entry knows one kind: how its body is read.
type entry struct {
	sample Data
	read   func(body []byte) (Data, error)
}

// upcast lifts the body of an older version of a kind to that of the next version.
type upcast struct {
	to   Kind
	lift func(body []byte) ([]byte, error)
}

// registry is the closed list of kinds, and of the ways from older versions to them. All of them stand in types, by their CloudEvents type.
type registry struct {
	kinds   map[Kind]entry
	upcasts map[Kind]upcast
	types   map[string]entry
}

// of makes the entry of T, which is a struct and not a pointer. Members that T does not have are those of a newer version, and are ignored:
// what such a version writes before the cluster is at its level can be understood without them.
func of[T Data]() entry { return entryOf[T]() }

// strictly makes the entry of a command, whose members are all needed to carry it out.
func strictly[T Command]() entry { return entryOf[T](json.RejectUnknownMembers(true)) }

func entryOf[T Data](options ...json.Options) entry {
	var sample T
	return entry{sample: sample, read: func(body []byte) (Data, error) {
		var data T
		if err := json.Unmarshal(body, &data, options...); err != nil {
			return nil, err
		}
		return data, nil
	}}
}

// newRegistry returns one of these entries, and of those of commands.
func newRegistry(commands map[string][]asked, upcasts map[Kind]upcast, entries ...entry) registry {
	for _, noun := range commands {
		for _, command := range noun {
			entries = append(entries, command.entry)
		}
	}
	r := registry{kinds: make(map[Kind]entry, len(entries)), upcasts: upcasts, types: make(map[string]entry, len(entries)+len(upcasts))}
	for _, e := range entries {
		kind := e.sample.Kind()
		r.kinds[kind], r.types[kind.String()] = e, e
	}
	for from, up := range upcasts {
		r.types[from.String()] = entry{read: r.lifted(up)}
	}
	return r
}

// lifted reads a body of an older version as one of the next.
func (r registry) lifted(up upcast) func(body []byte) (Data, error) {
	return func(body []byte) (Data, error) {
		lifted, err := up.lift(body)
		if err != nil {
			return nil, fmt.Errorf("lift it to %s: %w", up.to, err)
		}
		return r.types[up.to.String()].read(lifted)
	}
}

// decode reads a body of this CloudEvents type.
func (r registry) decode(of string, body []byte) (Data, error) {
	e, ok := r.types[of]
	if !ok {
		return nil, fmt.Errorf("%w %q", ErrUnknownType, of)
	}
	data, err := e.read(body)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrMalformed, of, err)
	}
	return data, nil
}

// standard holds every kind.
var standard = newRegistry(
	commands, map[Kind]upcast{{"command", 1, "queued"}: {CommandQueued{}.Kind(), liftQueued}},
	of[GroupStarted](), of[GroupEntered](), of[GroupAborted](), of[GroupEnded](),
	of[CommandAccepted](), of[CommandRejected](), of[CommandRepeated](), entry{leastQueued, readQueued}, of[CommandBegun](),
	of[CommandSucceeded](), of[CommandFailed](), of[CommandSuperseded](),
	of[ServiceRevised](), of[ServiceScaled](), of[ServiceFired](), of[ServiceSkipped](), of[ServiceSuspended](), of[ServiceResumed](), of[ServiceDropped](), of[ServiceRemoved](),
	of[OperationStarted](), of[OperationEntered](), of[OperationProlonged](), of[OperationPromoted](), of[OperationPaused](),
	of[OperationResumed](), of[OperationEnded](),
	of[SnapshotRequested](), of[SnapshotSkipped](), of[SnapshotCancelled](), of[SnapshotCommitted](),
	of[TopologyChanged](), of[InstanceConfirmed](), of[InstanceRefused](),
	of[InstancePlaced](), of[InstancePending](), of[InstanceRetired](), of[InstanceAdopted](),
	of[InstancePrepared](), of[InstanceStarted](), of[InstanceOnline](), of[InstanceOffline](), of[InstanceCompleted](),
	of[InstanceStopped](), of[InstanceRemoved](), of[InstanceLost](), of[InstanceReturned](),
	of[SessionOpened](),
	of[StrayFound](), of[StrayRemoved](),
	of[NodeJoined](), of[NodeSilent](), of[NodeLost](), of[NodeReturned](), of[NodeListed](), of[NodeDegraded](), of[NodeRecovered](),
	of[NodePaused](), of[NodeResumed](),
	of[NodeDraining](), of[NodeDrained](),
	of[NodeForgotten](), of[NodeRemoved](), of[InstanceForgotten](), of[StrayForgotten](),
	of[NodeUpdated](), of[NodeMisfits](),
	of[TokenCreated](), of[NodeAdmitted](), of[NodeRevoked](),
	of[PolicyChanged](), of[NodesAllowed](),
	of[RebalanceStarted](), of[RebalanceEnded](), of[RebalanceSet](),
	of[EvictionsPaused](), of[EvictionsResumed](),
	of[UnitShunned](), of[UnitRetried](),
	of[ClusterAdopted](), of[ClusterRenewed](), of[ClusterLevel](), of[ClusterSigned](), of[RoundClosed](), of[RoundVoid](),
	of[Hello](), of[InstanceList](), of[InstanceStatus](), of[EngineStatus](), of[SessionStatus](),
	of[Order](), of[OrdersEpoch](),
	of[Heartbeat](), of[HeartbeatAnswer](),
	of[MetricProcess](),
)

// Lifted reports whether bodies of the kind are read as ones of its next version.
func Lifted(k Kind) bool {
	_, lifted := standard.upcasts[k]
	return lifted
}

// Samples returns the least value of every kind, ordered by type: what schemas are made from.
func Samples() []Data {
	kinds := slices.SortedFunc(maps.Keys(standard.kinds), func(a, b Kind) int {
		return strings.Compare(a.String(), b.String())
	})
	samples := make([]Data, len(kinds))
	for i, k := range kinds {
		samples[i] = standard.kinds[k].sample
	}
	return samples
}
