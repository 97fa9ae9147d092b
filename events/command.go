package events

import (
	"slices"
	"strings"
)

// Command is what a person asks, in the imperative.
type Command interface {
	Data
	// check returns a *Rejection for the first field that breaks a rule.
	check() error
	// normal returns the command with its defaults written out.
	normal() Command
}

// ServiceCommand is a command to a service.
type ServiceCommand interface {
	Command
	// When says when it is taken.
	When() Guard
}

// asked is a command: an empty one to read a body into, and its entry among all kinds.
type asked struct {
	fresh func() Command
	entry entry
}

// commands are all that can be asked, by whom it is asked of, in the order in which help texts list them.
var commands = map[string][]asked{
	"service": {
		ask[ServiceEnsure](), ask[ServiceScale](), ask[ServiceRestart](), ask[ServiceSnapshot](), ask[ServiceSuspend](), ask[ServiceResume](),
		ask[ServiceRollback](), ask[ServicePromote](), ask[ServiceCancel](), ask[ServiceDrop](),
	},
	"group":   {ask[GroupEnsure](), ask[GroupCancel]()},
	"node":    {ask[NodePause](), ask[NodeResume](), ask[NodeDrain](), ask[NodeForget](), ask[NodeUpdate](), ask[NodeAdmit](), ask[NodeRevoke]()},
	"cluster": {ask[ClusterNodes](), ask[ClusterPolicy](), ask[ClusterRebalance](), ask[ClusterFinishUpgrade](), ask[ClusterCreateToken]()},
}

func ask[C Command, P interface {
	*C
	Command
}]() asked {
	return asked{func() Command { return P(new(C)) }, strictly[C]()}
}

// verbs are the names of commands, by whom they are for.
var verbs = func() map[string][]string {
	names := map[string][]string{}
	for noun, all := range commands {
		for _, command := range all {
			names[noun] = append(names[noun], command.entry.sample.Kind().Name)
		}
	}
	return names
}()

// Verbs are the commands that a service takes, GroupVerbs those of a group of services, NodeVerbs those that a node takes and
// ClusterVerbs those of the cluster, in the order in which help texts list them.
var (
	Verbs        = verbs["service"]
	GroupVerbs   = verbs["group"]
	NodeVerbs    = verbs["node"]
	ClusterVerbs = verbs["cluster"]
)

// Request is one message in ROOKERY_COMMANDS, understood as far as it can be. Where Command is nil, Rejection says why.
type Request struct {
	Sequence uint64
	Scope    Scope // the service, the group or the node, or ClusterScope where the subject names none
	Verb     string
	// ID and Source identify the command among those of its actor. A bare command has no ID: its sequence is its id.
	ID     string
	Source string
	// Actor is the user in the subject, or "" where it has none.
	Actor string
	// Digest is the hash of subject, type and data: two commands of one id must have the same.
	Digest      string
	TraceParent string
	Command     Command
	Rejection   *Rejection
}

// SenderOf takes the user out of a command's subject, which is of the form rookery.cmd.by.<user>.… where it has one. The error is a *Rejection.
func SenderOf(subject string) (actor, rest string, err error) {
	t, by := strings.CutPrefix(subject, CommandRoot+".by.")
	if !by {
		return "", subject, nil
	}
	actor, rest, _ = strings.Cut(t, ".")
	if err := checkName("user", actor); err != nil {
		return "", subject, err
	}
	return actor, CommandRoot + "." + rest, nil
}

// CommandBy returns the subject of a command with the user that sends it.
func CommandBy(user, subject string) string {
	return CommandRoot + ".by." + user + strings.TrimPrefix(subject, CommandRoot)
}

// target reads whom a command is for, and the verb, from its subject without the user.
func target(subject string) (Scope, string, error) {
	t := strings.Split(subject, ".")
	switch {
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

// commandNamed returns the command of this name to a service, a group, a node or the cluster.
func commandNamed(noun, verb string) (asked, error) {
	known := verbs[noun]
	if i := slices.Index(known, verb); i >= 0 {
		return commands[noun][i], nil
	}
	whom := map[string]string{"service": "a service", "group": "a group", "node": "a node", "cluster": "the cluster"}[noun]
	if near := nearest(verb, known); near != "" {
		return asked{}, Reject(CodeUnknownVerb, "subject", "%s is not a command for %s: did you mean %q?", quote(verb), whom, near)
	}
	return asked{}, Reject(CodeUnknownVerb, "subject", "%s is not a command for %s: known are %s", quote(verb), whom, strings.Join(known, ", "))
}
