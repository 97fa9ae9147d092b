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

// BusyPolicy says what happens to a command to a service whose earlier command has not ended.
type BusyPolicy string

// The policies of a busy service. An empty policy is BusyReject, and BusySupersede for drop.
const (
	BusyReject    BusyPolicy = "reject"    // this command is rejected and names the holder
	BusySupersede BusyPolicy = "supersede" // the earlier command ends as superseded
)

func (p BusyPolicy) check() error {
	switch p {
	case "", BusyReject, BusySupersede:
		return nil
	}
	return Reject(CodeInvalidValue, "busy", "busy %s is neither reject nor supersede", quote(string(p)))
}

// Verbs are the commands that a service takes, in the order in which help texts list them.
var Verbs = []string{"ensure", "scale", "drop"}

// Request is one message in ROOKERY_COMMANDS, understood as far as it can be. Where Command is nil, Rejection says why.
type Request struct {
	Sequence uint64
	Scope    Scope // the service, or ClusterScope where the subject names none
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

// target reads the service and the verb from the subject of a command.
func target(subject string) (ServiceID, string, error) {
	t := strings.Split(subject, ".")
	if len(t) > 2 && t[2] == "by" {
		return ServiceID{}, "", Reject(CodeUnknownSubject, "subject",
			"subjects below %s.by are for the bus alone, and accounts are off here: publish to %s.service.<namespace>.<name>.<verb>", CommandRoot, CommandRoot)
	}
	if len(t) != 6 || t[2] != "service" {
		return ServiceID{}, "", Reject(CodeUnknownSubject, "subject",
			"subject %s takes no command: publish to %s.service.<namespace>.<name>.<verb>", quote(subject), CommandRoot)
	}
	id := ServiceID{Namespace: t[3], Name: t[4]}
	return id, t[5], id.check()
}

func newCommand(verb string) (Command, error) {
	switch verb {
	case "ensure":
		return &ServiceEnsure{}, nil
	case "scale":
		return &ServiceScale{}, nil
	case "drop":
		return &ServiceDrop{}, nil
	}
	if near := nearest(verb, Verbs); near != "" {
		return nil, Reject(CodeUnknownVerb, "subject", "%s is no command for a service: did you mean %q?", quote(verb), near)
	}
	return nil, Reject(CodeUnknownVerb, "subject", "%s is no command for a service: known are %s", quote(verb), strings.Join(Verbs, ", "))
}
