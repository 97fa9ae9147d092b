package events

import "strings"

// Command is what a person asks, in the imperative.
type Command interface {
	Data
	// check returns a *Rejection for the first field that breaks a rule.
	check() error
	// normal returns the command with its defaults written out.
	normal() Command
}

// Verbs are the commands that a service takes, GroupVerbs those of a group of services, NodeVerbs those that a node takes and
// ClusterVerbs those of the cluster, in the order in which help texts list them.
var (
	Verbs        = []string{"ensure", "scale", "restart", "snapshot", "suspend", "resume", "rollback", "promote", "cancel", "drop"}
	GroupVerbs   = []string{"ensure", "cancel"}
	NodeVerbs    = []string{"pause", "resume", "drain", "forget", "update"}
	ClusterVerbs = []string{"nodes", "policy", "rebalance"}
)

// Request is one message in ROOKERY_COMMANDS, understood as far as it can be. Where Command is nil, Rejection says why.
type Request struct {
	Sequence uint64
	Scope    Scope // the service, the group or the node, or ClusterScope where the subject names none
	Verb     string
	// ID and Source identify the command among those of its actor. A bare command has no ID: its sequence is its id.
	ID     string
	Source string
	// Digest is the hash of subject, type and data: two commands of one id must have the same.
	Digest      string
	TraceParent string
	Command     Command
	Rejection   *Rejection
}

// target reads whom a command is for, and the verb, from its subject.
func target(subject string) (Scope, string, error) {
	t := strings.Split(subject, ".")
	switch {
	case len(t) > 2 && t[2] == "by":
		return ClusterScope, "", Reject(CodeUnknownSubject, "subject",
			"subjects below %s.by are for the bus alone, and accounts are off here: publish to %s.service.<namespace>.<name>.<verb>", CommandRoot, CommandRoot)
	case len(t) == 6 && t[2] == "service":
		id := ServiceID{Namespace: t[3], Name: t[4]}
		if err := id.check(); err != nil {
			return ClusterScope, "", err
		}
		return ServiceScope(id), t[5], nil
	case len(t) == 6 && t[2] == "group":
		id := ServiceID{Namespace: t[3], Name: t[4]}
		if err := id.check(); err != nil {
			return ClusterScope, "", err
		}
		return GroupScope(GroupID(id)), t[5], nil
	case len(t) == 5 && t[2] == "node":
		if err := checkName("node", t[3]); err != nil {
			return ClusterScope, "", err
		}
		return NodeScope(t[3]), t[4], nil
	case len(t) == 4 && t[2] == "cluster":
		return ClusterScope, t[3], nil
	}
	return ClusterScope, "", Reject(CodeUnknownSubject, "subject",
		"subject %s takes no command: publish to %s.service.<namespace>.<name>.<verb>, %s.group.<namespace>.<name>.<verb>, %s.node.<node>.<verb> or %s.cluster.<verb>",
		quote(subject), CommandRoot, CommandRoot, CommandRoot, CommandRoot)
}

func newCommand(scope Scope, verb string) (Command, error) {
	switch scope.noun + " " + verb {
	case "service ensure":
		return &ServiceEnsure{}, nil
	case "service scale":
		return &ServiceScale{}, nil
	case "service restart":
		return &ServiceRestart{}, nil
	case "service snapshot":
		return &ServiceSnapshot{}, nil
	case "service suspend":
		return &ServiceSuspend{}, nil
	case "service resume":
		return &ServiceResume{}, nil
	case "service rollback":
		return &ServiceRollback{}, nil
	case "service promote":
		return &ServicePromote{}, nil
	case "service cancel":
		return &ServiceCancel{}, nil
	case "service drop":
		return &ServiceDrop{}, nil
	case "group ensure":
		return &GroupEnsure{}, nil
	case "group cancel":
		return &GroupCancel{}, nil
	case "node pause":
		return &NodePause{}, nil
	case "node resume":
		return &NodeResume{}, nil
	case "node drain":
		return &NodeDrain{}, nil
	case "node forget":
		return &NodeForget{}, nil
	case "node update":
		return &NodeUpdate{}, nil
	case "cluster nodes":
		return &ClusterNodes{}, nil
	case "cluster policy":
		return &ClusterPolicy{}, nil
	case "cluster rebalance":
		return &ClusterRebalance{}, nil
	}
	known := map[string][]string{"service": Verbs, "group": GroupVerbs, "node": NodeVerbs, "cluster": ClusterVerbs}[scope.noun]
	whom := map[string]string{"service": "a service", "group": "a group", "node": "a node", "cluster": "the cluster"}[scope.noun]
	if near := nearest(verb, known); near != "" {
		return nil, Reject(CodeUnknownVerb, "subject", "%s is no command for %s: did you mean %q?", quote(verb), whom, near)
	}
	return nil, Reject(CodeUnknownVerb, "subject", "%s is no command for %s: known are %s", quote(verb), whom, strings.Join(known, ", "))
}
