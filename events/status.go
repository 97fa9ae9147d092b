package events

import (
	"fmt"
	"slices"
	"strings"
)

// Status is one message in ROOKERY_STATUS, understood. Exactly one of Hello, List, Instance, Engine and Session is set.
type Status struct {
	Node string
	// Program is that of the node's process.
	Program  Program
	Hello    *Hello
	List     *InstanceList
	Instance *InstanceStatus
	Engine   *EngineStatus
	Session  *SessionStatus
}

// ParseStatus reads a message of ROOKERY_STATUS. Its errors are ErrMalformed, ErrUnknownType and *Rejection.
func ParseStatus(m Message) (Status, error) {
	t := strings.Split(m.Subject, ".")
	if len(t) < 4 || t[0]+"."+t[1] != StatusRoot || !ValidName(t[2]) {
		return Status{}, fmt.Errorf("%w: %s is not the subject of a status", ErrMalformed, quote(m.Subject))
	}
	data, of, err := Decode(m)
	if err != nil {
		return Status{}, err
	}
	s := Status{Node: t[2], Program: of.Program}
	switch d := data.(type) {
	case Hello:
		s.Hello = &d
		return s, d.check()
	case InstanceList:
		s.List = &d
		return s, d.check()
	case EngineStatus:
		s.Engine = &d
		return s, d.check()
	case SessionStatus:
		s.Session = &d
		return s, d.check()
	case InstanceStatus:
		s.Instance = &d
		if m.Subject != InstanceStatusSubject(s.Node, d.ID()) {
			return s, fmt.Errorf("%w: subject %s and body name different instances", ErrMalformed, quote(m.Subject))
		}
		return s, d.check()
	}
	return Status{}, fmt.Errorf("%w: a %s is not a status", ErrMalformed, data.Kind())
}

func (h Hello) check() error {
	if h.Incarnation == "" || len(h.Incarnation) > MaxName {
		return Reject(CodeOutOfRange, "incarnation", "incarnation must have 1 to %d bytes", MaxName)
	}
	if err := checkWord("address", h.Address); err != nil {
		return err
	}
	if len(h.Address) > maxHostname {
		return Reject(CodeOutOfRange, "address", "address has %d bytes, more than %d: give an IP address or a name of DNS", len(h.Address), maxHostname)
	}
	if h.Ports.First == 0 || h.Ports.First > h.Ports.Last {
		return Reject(CodeOutOfRange, "ports", "ports %d to %d are not a range: want 1 to 65535, the lower one first", h.Ports.First, h.Ports.Last)
	}
	if err := h.Allows.check(); err != nil {
		return err
	}
	if err := h.EngineFacts.check(); err != nil {
		return err
	}
	return checkLabels(h.Labels)
}

func (l InstanceList) check() error {
	if len(l.Instances) > MaxListed {
		return Reject(CodeOutOfRange, "instances", "instances has %d entries, more than %d", len(l.Instances), MaxListed)
	}
	for _, s := range l.Instances {
		if err := s.check(); err != nil {
			return err
		}
	}
	return nil
}

func (s InstanceState) check() error {
	if err := s.ID().Service.check(); err != nil {
		return err
	}
	if len(s.Message) > MaxMessage {
		return Reject(CodeOutOfRange, "message", "message has %d bytes, more than %d", len(s.Message), MaxMessage)
	}
	if !slices.Contains([]NoRestart{"", NoRestartAttempts, NoRestartPolicy}, s.NoRestart) {
		return Reject(CodeInvalidValue, "no_restart", "no_restart %s is neither %s nor %s", quote(string(s.NoRestart)), NoRestartAttempts, NoRestartPolicy)
	}
	if err := s.checkOutput(); err != nil {
		return err
	}
	if s.Confirmed != nil {
		if err := s.Confirmed.check(); err != nil {
			return err
		}
	}
	if len(s.Exports) > MaxVolumes {
		return Reject(CodeOutOfRange, "exports", "exports has %d entries, more than %d", len(s.Exports), MaxVolumes)
	}
	for _, e := range s.Exports {
		if err := e.check(); err != nil {
			return err
		}
	}
	return checkImages(s.Images)
}
