package events

import (
	"fmt"
	"strconv"
	"strings"
)

// The roots of all subjects. A stream captures each of the first five whole. Clients and nodes subscribe to Event and OrderLive: the server
// publishes there once a message is stored.
const (
	CommandRoot   = "rookery.cmd"
	StatusRoot    = "rookery.status"
	LogRoot       = "rookery.log"
	OrdersRoot    = "rookery.orders"
	MetricRoot    = "rookery.metric"
	EventRoot     = "rookery.event"
	OrderRoot     = "rookery.order"
	HeartbeatRoot = "rookery.heartbeat"
	APIRoot       = "rookery.api"
	ViewRoot      = "rookery.view"
	SessionRoot   = "rookery.session"
	// SupplyRoot is where nodes ask the leader for what they may not read from streams, or store there, themselves.
	SupplyRoot = "rookery.supply"
	// JoinRoot is where nodes ask the leader for credentials.
	JoinRoot = "rookery.join"
	// FateRoot is where the leader publishes the outcomes of commands for the users that sent them.
	FateRoot = "rookery.fate"
	// TrimSubject is where `rookery archive` asks the leader to remove what it has archived. It stands outside APIRoot: the permission to
	// ask questions must not include it.
	TrimSubject = "rookery.trim"
	// RunningSubject is where a coordinator asks the leader which programs take part in the cluster: it alone hears all nodes.
	RunningSubject = "rookery.running"
)

// OrdersEpochSubject holds the leader's mark in ROOKERY_ORDERS.
const OrdersEpochSubject = OrdersRoot + ".epoch"

// Scope says what part of the cluster an event is about. It gives the event its subject.
type Scope struct {
	noun  string
	first string
	name  string
}

// The scopes without a name.
var (
	ClusterScope = Scope{noun: "cluster"}
	RoundScope   = Scope{noun: "round"}
)

// ServiceScope is the scope of events about one service.
func ServiceScope(id ServiceID) Scope {
	return Scope{noun: "service", first: id.Namespace, name: id.Name}
}

// GroupScope is the scope of events about one group of services.
func GroupScope(id GroupID) Scope {
	return Scope{noun: "group", first: id.Namespace, name: id.Name}
}

// NodeScope is the scope of events about one node.
func NodeScope(node string) Scope { return Scope{noun: "node", name: node} }

// Service returns the service that the scope names, and whether it names one.
func (s Scope) Service() (ServiceID, bool) {
	if s.noun != "service" {
		return ServiceID{}, false
	}
	return ServiceID{Namespace: s.first, Name: s.name}, true
}

// Group returns the group that the scope names, and whether it names one.
func (s Scope) Group() (GroupID, bool) {
	if s.noun != "group" {
		return GroupID{}, false
	}
	return GroupID{Namespace: s.first, Name: s.name}, true
}

// Node returns the node that the scope names, and whether it names one.
func (s Scope) Node() (string, bool) {
	if s.noun != "node" {
		return "", false
	}
	return s.name, true
}

// String returns the scope as operators read it, as in "service demo/web", "node n1" or "cluster".
func (s Scope) String() string {
	switch {
	case s.first != "":
		return s.noun + " " + s.first + "/" + s.name
	case s.name != "":
		return s.noun + " " + s.name
	}
	return s.noun
}

// MarshalText implements encoding.TextMarshaler.
func (s Scope) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Scope) UnmarshalText(text []byte) error {
	noun, name, _ := strings.Cut(string(text), " ")
	first, last, two := strings.Cut(name, "/")
	*s = Scope{noun: noun, name: name}
	if two {
		s.first, s.name = first, last
	}
	if s.String() != string(text) {
		return fmt.Errorf("%w: scope %q", ErrMalformed, text)
	}
	return nil
}

// LogSubject is where an event of this kind and scope stands in the log: rookery.log.service.<ns>.<name>.<event>,
// rookery.log.group.<ns>.<name>.<event>, rookery.log.node.<node>.<event>, rookery.log.cluster.<event> or rookery.log.round. The
// event is <thing>.<name>, and just <name> where the thing is the scope itself.
func (s Scope) LogSubject(kind Kind) string {
	if s.noun == "round" {
		return LogRoot + ".round"
	}
	parts := make([]string, 0, 6)
	parts = append(parts, LogRoot, s.noun)
	if s.first != "" {
		parts = append(parts, s.first)
	}
	if s.name != "" {
		parts = append(parts, s.name)
	}
	if kind.Thing != s.noun {
		parts = append(parts, kind.Thing)
	}
	return strings.Join(append(parts, kind.Name), ".")
}

// parseLogScope reads the scope back from a subject in the log.
func parseLogScope(subject string) (Scope, bool) {
	below, ours := strings.CutPrefix(subject, LogRoot+".")
	noun, below, more := strings.Cut(below, ".")
	first, below, named := strings.Cut(below, ".")
	second, _, paired := strings.Cut(below, ".")
	switch {
	case !ours:
	case noun == "round" && !more:
		return RoundScope, true
	case noun == "cluster" && more:
		return ClusterScope, true
	case noun == "node" && named:
		return NodeScope(first), true
	case noun == "service" && paired:
		return ServiceScope(ServiceID{Namespace: first, Name: second}), true
	case noun == "group" && paired:
		return GroupScope(GroupID{Namespace: first, Name: second}), true
	}
	return Scope{}, false
}

// EventSubject is where the event of a log subject is published after it is stored.
func EventSubject(logSubject string) string {
	return EventRoot + strings.TrimPrefix(logSubject, LogRoot)
}

// CommandOutcomeSubject is where the leader publishes the outcome of the command with this sequence in ROOKERY_COMMANDS.
func CommandOutcomeSubject(sequence uint64, name string) string {
	return EventRoot + ".command." + strconv.FormatUint(sequence, 10) + "." + name
}

// FateSubject is where the user hears the outcome of its command with this sequence: rookery.fate.<user>.<sequence>.
func FateSubject(user string, sequence uint64) string {
	return FateRoot + "." + user + "." + strconv.FormatUint(sequence, 10)
}

// CommandSubject is where clients publish a command for a service: rookery.cmd.service.<ns>.<name>.<verb>.
func CommandSubject(id ServiceID, verb string) string {
	return strings.Join([]string{CommandRoot, "service", id.Namespace, id.Name, verb}, ".")
}

// GroupSubject is where clients publish a command for several services at once: rookery.cmd.group.<ns>.<name>.<verb>.
func GroupSubject(id GroupID, verb string) string {
	return strings.Join([]string{CommandRoot, "group", id.Namespace, id.Name, verb}, ".")
}

// HeartbeatSubject is where a node asks the leader whether it is still the node of that name.
func HeartbeatSubject(node string) string { return HeartbeatRoot + "." + node }

// HelloSubject is where a node's process that starts introduces itself.
func HelloSubject(node string) string { return StatusRoot + "." + node + ".hello" }

// ListSubject is where a node publishes all that it has.
func ListSubject(node string) string { return StatusRoot + "." + node + ".list" }

// EngineSubject is where a node says how its engine is.
func EngineSubject(node string) string { return StatusRoot + "." + node + ".engine" }

// InstanceStatusSubject is where a node publishes what it saw of one instance.
func InstanceStatusSubject(node string, id InstanceID) string {
	return StatusRoot + "." + node + ".instance." + instanceTokens(id)
}

// OrderSubject is where the order for one instance stands in ROOKERY_ORDERS.
func OrderSubject(node string, id InstanceID) string {
	return OrdersRoot + "." + node + "." + instanceTokens(id)
}

// NodeOrders matches all orders of a node below root, which is OrdersRoot (stored) or OrderRoot (live).
func NodeOrders(root, node string) string { return root + "." + node + ".>" }

func instanceTokens(id InstanceID) string {
	return id.Service.Namespace + "." + id.Service.Name + "." +
		strconv.FormatUint(uint64(id.Ordinal), 10) + "." + strconv.FormatUint(uint64(id.Generation), 10)
}

// ParseOrderSubject reads the node and the instance from a subject below OrdersRoot or OrderRoot.
func ParseOrderSubject(subject string) (node string, id InstanceID, ok bool) {
	t := strings.Split(subject, ".")
	if len(t) != 7 || (t[0]+"."+t[1] != OrdersRoot && t[0]+"."+t[1] != OrderRoot) {
		return "", InstanceID{}, false
	}
	id, ok = parseInstanceTokens(t[3:])
	return t[2], id, ok && ValidName(t[2])
}

func parseInstanceTokens(t []string) (InstanceID, bool) {
	if len(t) != 4 || !ValidName(t[0]) || !ValidName(t[1]) {
		return InstanceID{}, false
	}
	ordinal, okOrdinal := parseNumber(t[2])
	generation, okGeneration := parseNumber(t[3])
	return InstanceID{
		Service: ServiceID{Namespace: t[0], Name: t[1]},
		Ordinal: ordinal, Generation: generation,
	}, okOrdinal && okGeneration
}

// parseNumber reads a number as subjects have it. With leading zeros one instance would have many subjects.
func parseNumber(s string) (uint32, bool) {
	n, err := strconv.ParseUint(s, 10, 32)
	return uint32(n), err == nil && (s == "0" || s[0] != '0')
}
