package events

import (
	"slices"
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

// SessionSubject is where the user opens a session with the instance: rookery.node.<node>.<kind>.by.<user>.<ns>.<name>.<ordinal>.<generation>, and
// without "by" and the user where accounts are off. Within the session, messages to the node have one token more.
func SessionSubject(user, node string, kind SessionKind, id InstanceID) string {
	words := []string{NodeRoot, node, string(kind)}
	if user != "" {
		words = append(words, "by", user)
	}
	return strings.Join(append(words, instanceTokens(id)), ".")
}

// SessionSubjects match where all sessions of the kind with a node's instances are opened: with the user, and without.
func SessionSubjects(node string, kind SessionKind) (by, plain string) {
	below := NodeRoot + "." + node + "." + string(kind)
	return below + ".by.*.*.*.*.*", below + ".*.*.*.*"
}

// ParseSessionSubject reads the user, the kind and the instance from the subject on which a session with it is opened.
func ParseSessionSubject(subject string) (user string, kind SessionKind, id InstanceID, ok bool) {
	const plain, by = 8, 10 // words
	t := strings.Split(subject, ".")
	if len(t) == by && t[4] == "by" && ValidName(t[5]) {
		user, t = t[5], slices.Concat(t[:4], t[6:])
	}
	if len(t) != plain || t[0]+"."+t[1] != NodeRoot {
		return "", "", InstanceID{}, false
	}
	id, ok = parseInstanceTokens(t[4:])
	return user, SessionKind(t[3]), id, ok
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

// SessionStatus is what a node says of a session that a user opens with one of its instances, before it begins.
type SessionStatus struct {
	Namespace  string      `json:"namespace"`
	Name       string      `json:"name"`
	Ordinal    uint32      `json:"ordinal"`
	Generation uint32      `json:"generation"`
	Session    SessionKind `json:"session"`
	User       string      `json:"user"`
}

// Kind implements Data.
func (SessionStatus) Kind() Kind { return v1("status", "session") }

// ID is the instance.
func (s SessionStatus) ID() InstanceID {
	return InstanceID{Service: ServiceID{Namespace: s.Namespace, Name: s.Name}, Ordinal: s.Ordinal, Generation: s.Generation}
}

func (s SessionStatus) check() error {
	if err := s.ID().Service.check(); err != nil {
		return err
	}
	if !slices.Contains(SessionKinds, s.Session) {
		return Reject(CodeInvalidValue, "session", "session %s is neither %s nor %s", quote(string(s.Session)), SessionExec, SessionLogs)
	}
	return checkName("user", s.User)
}

// SessionStatusSubject is where a node says that a session is opened.
func SessionStatusSubject(node string) string { return StatusRoot + "." + node + ".session" }

// SessionOpened says that a user reads what an instance prints, or runs a command in it. The user is the actor, by the word of the node. It is in
// clusters with accounts from LevelAdmissions on.
type SessionOpened struct {
	Ordinal    uint32      `json:"ordinal"`
	Generation uint32      `json:"generation"`
	Node       string      `json:"node"`
	Session    SessionKind `json:"session"`
}

// Kind implements Data.
func (SessionOpened) Kind() Kind { return v1("instance", "session-opened") }
