package events

import (
	"strings"
)

// NodeRoot begins the subjects on which nodes serve sessions. Nothing on them is stored.
const NodeRoot = "rookery.node"

// SessionKind is what a session with an instance is for. It is a token of its subject, so that it is a permission of its own.
type SessionKind string

// The kinds of sessions.
const (
	SessionLogs SessionKind = "logs" // reads what the instance prints
	SessionExec SessionKind = "exec" // runs a command in the instance
)

// SessionKinds lists them.
var SessionKinds = []SessionKind{SessionExec, SessionLogs}

// SessionSubject is where a session with the instance is opened: rookery.node.<node>.<kind>.<ns>.<name>.<ordinal>.<generation>. Within the
// session, messages to the node have one token more.
func SessionSubject(node string, kind SessionKind, id InstanceID) string {
	return strings.Join([]string{NodeRoot, node, string(kind), instanceTokens(id)}, ".")
}

// SessionSubjects matches where all sessions of the kind with a node's instances are opened.
func SessionSubjects(node string, kind SessionKind) string {
	return strings.Join([]string{NodeRoot, node, string(kind), "*", "*", "*", "*"}, ".")
}

// ParseSessionSubject reads the instance from the subject on which a session with it is opened.
func ParseSessionSubject(subject string) (InstanceID, bool) {
	t := strings.Split(subject, ".")
	if len(t) != 8 || t[0]+"."+t[1] != NodeRoot {
		return InstanceID{}, false
	}
	return parseInstanceTokens(t[4:])
}

// The kinds of frames in a session.
const (
	// FrameContainer, first in a session of kind logs, has the engine's name of the container that is read, and FrameLines has lines.
	FrameContainer = "container"
	FrameLines     = "lines"
	// FrameStdin has a part of the command's input, FrameStdinEnd ends that input, and FrameSize has a TerminalSize. The command's output
	// is in frames that have the names of its streams.
	FrameStdin    = "stdin"
	FrameStdinEnd = "stdin-end"
	FrameSize     = "size"
)
