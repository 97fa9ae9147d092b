package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/events/bus/session"
	"github.com/rookery-project/rookery/projections"
)

// Limits of an answer to the question `logs`.
const (
	// DefaultTail and MostTail are how many of the last lines of an instance there are.
	DefaultTail = 100
	MostTail    = 1000
	// mostRead is how many instances are read at once. For a service with more, the question must name an ordinal.
	mostRead = 200
	// mostLines is how many bytes the lines of an answer have; the earliest are left out. mostHeld is how many of all instances together are
	// held until it is known which those are, by each of the answers that are worked out at once.
	mostLines  = 512 << 10
	mostHeld   = 8 << 20
	logsAtOnce = 4
	// mostReason is how many bytes of an error of a node are told.
	mostReason = 200
	// readTimeout is how long nodes may take: less than clients wait for an answer.
	readTimeout = 3 * time.Second
)

// Logs is the answer to the question `logs`.
type Logs struct {
	Service string `json:"service"`
	// Lines are in the order of time.
	Lines []ServiceLine `json:"lines"`
	// Truncated says that there are earlier lines that were asked for, and are left out for the size of the answer; TruncatedInstances
	// are those that have printed them.
	Truncated          bool        `json:"truncated,omitzero"`
	TruncatedInstances []PrintedBy `json:"truncated_instances,omitempty"`
	// Missing are instances that were not read, and why.
	Missing []MissingLines `json:"missing,omitempty"`
	// LogSequence is the place in the log that the list of instances is true at.
	LogSequence uint64 `json:"log_sequence"`
}

// PrintedBy is an instance of a service that prints lines.
type PrintedBy struct {
	Ordinal    uint32 `json:"ordinal"`
	Generation uint32 `json:"generation"`
	Node       string `json:"node"`
}

// ServiceLine is a line that an instance of a service has printed.
type ServiceLine struct {
	events.LogLine
	PrintedBy
}

// MissingLines is an instance whose lines were not read.
type MissingLines struct {
	PrintedBy
	Reason string `json:"reason"`
}

// Sessions is the answer to the question `exec`: where sessions with a service's instances are opened.
type Sessions struct {
	Service   string        `json:"service"`
	Instances []SessionWith `json:"instances"`
	// LogSequence is the place in the log that the answer is true at.
	LogSequence uint64 `json:"log_sequence"`
}

// SessionWith is where a session with one instance is opened.
type SessionWith struct {
	Ordinal    uint32 `json:"ordinal"`
	Generation uint32 `json:"generation"`
	Node       string `json:"node"`
	Subject    string `json:"subject"`
	// Online says that the instance serves.
	Online bool `json:"online"`
}

// InstancesQuestion asks about instances of a service that are on nodes.
type InstancesQuestion struct {
	// Service is the one, as demo/web.
	Service string `json:"service"`
	// Ordinal is the slot; all where there is none.
	Ordinal *uint32 `json:"ordinal,omitzero"`
}

// LogsQuestion asks for the last lines that instances of a service have printed.
type LogsQuestion struct {
	InstancesQuestion
	// Since leaves out what was printed before.
	Since time.Time `json:"since,omitzero"`
	// Tail is the greatest number of lines of each instance; default 100.
	Tail *int `json:"tail,omitzero" jsonschema:"minimum=0,maximum=1000"`
}

// found is an instance that a session can be opened with.
type found struct {
	id     events.InstanceID
	node   string
	online bool
}

// seek returns the instances that the question is about, by ordinal and generation, and the sequence that this is true at.
func (s *Server) seek(ctx context.Context, q InstancesQuestion) (there []found, sequence uint64, err error) {
	id, err := events.ParseServiceID(q.Service)
	if err != nil {
		return nil, 0, &bus.QuestionError{Code: 400, Reason: err.Error()}
	}
	asked := s.State(ctx, func(c *projections.Cluster, _ bool) {
		there, err = foundOf(c, id, q.Ordinal, within(ctx))
		sequence = c.Sequence
	})
	return there, sequence, errors.Join(asked, err)
}

func foundOf(c *projections.Cluster, id events.ServiceID, ordinal *uint32, within string) ([]found, error) {
	s := c.Services[id]
	if s == nil || s.Revision == 0 {
		return nil, &bus.QuestionError{Code: 404, Reason: c.NoService(id.String(), within)}
	}
	var there []found
	for i := range s.Instances() {
		if i.Node != "" && (ordinal == nil || *ordinal == i.ID.Ordinal) {
			there = append(there, found{i.ID, i.Node, i.Seen.Phase == events.PhaseOnline && !i.Lost})
		}
	}
	if len(there) == 0 {
		return nil, &bus.QuestionError{Code: 404, Reason: fmt.Sprintf("service %s has no such instance on any node", id)}
	}
	slices.SortFunc(there, func(a, b found) int { return a.id.Compare(b.id) })
	return there, nil
}

func (s *Server) askExec(ctx context.Context, body []byte) ([]byte, error) {
	var q InstancesQuestion
	if err := json.Unmarshal(body, &q, json.RejectUnknownMembers(true)); err != nil || q.Service == "" {
		return nil, &bus.QuestionError{Code: 400, Reason: `ask with {"service":"demo/web"} or {"service":"demo/web","ordinal":2}`}
	}
	there, sequence, err := s.seek(ctx, q)
	if err != nil {
		return nil, err
	}
	a := Sessions{Service: q.Service, LogSequence: sequence}
	for _, f := range there {
		a.Instances = append(a.Instances, SessionWith{
			f.id.Ordinal, f.id.Generation, f.node, events.SessionSubject(asker(ctx), f.node, events.SessionExec, f.id), f.online,
		})
	}
	return json.Marshal(a)
}

func (s *Server) askLogs(ctx context.Context, body []byte) ([]byte, error) {
	var q LogsQuestion
	if err := json.Unmarshal(body, &q, json.RejectUnknownMembers(true)); err != nil || q.Service == "" {
		return nil, &bus.QuestionError{Code: 400, Reason: `ask with {"service":"demo/web","tail":20}, and with "ordinal":2 or "since":"2026-11-01T12:00:00Z" for less`}
	}
	tail := DefaultTail
	if q.Tail != nil {
		tail = *q.Tail
	}
	if tail < 0 || tail > MostTail {
		return nil, &bus.QuestionError{Code: 400, Reason: fmt.Sprintf("tail %d is out of range: give 0 to %d, or read with `rookery logs`", tail, MostTail)}
	}
	there, sequence, err := s.seek(ctx, q.InstancesQuestion)
	if err != nil {
		return nil, err
	}
	if len(there) > mostRead {
		return nil, &bus.QuestionError{Code: 400, Reason: fmt.Sprintf("%s has %d instances, and %d are read at once: name an ordinal", q.Service, len(there), mostRead)}
	}
	asked, err := json.Marshal(events.LogsRequest{Since: q.Since, Tail: &tail})
	if err != nil {
		return nil, err
	}
	select {
	case s.reads <- struct{}{}:
		defer func() { <-s.reads }()
	default:
		return nil, &bus.QuestionError{Code: 429, Reason: fmt.Sprintf("%d of these questions are answered at once: ask again in a moment, or read with `rookery logs`", logsAtOnce)}
	}
	a := readAll(ctx, s.Bus, there, asked)
	a.Service, a.LogSequence = q.Service, sequence
	a.bound(mostLines)
	return json.Marshal(a)
}

// readAll reads the lines of all, each beside the others.
func readAll(ctx context.Context, b bus.Bus, there []found, asked []byte) Logs {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	read := make([]linesOf, len(there))
	var reading sync.WaitGroup
	for i, f := range there {
		reading.Go(func() { read[i] = readLines(ctx, b, f, asked, min(mostLines, mostHeld/len(there))) })
	}
	reading.Wait()
	a := Logs{Lines: []ServiceLine{}}
	for i, f := range there {
		by := PrintedBy{f.id.Ordinal, f.id.Generation, f.node}
		for _, l := range read[i].lines {
			a.Lines = append(a.Lines, ServiceLine{l, by})
		}
		if read[i].cut {
			a.TruncatedInstances = append(a.TruncatedInstances, by)
		}
		if err := read[i].err; err != nil {
			text := err.Error()
			a.Missing = append(a.Missing, MissingLines{by, strings.ToValidUTF8(text[:min(len(text), mostReason)], "")})
		}
	}
	slices.SortStableFunc(a.Lines, func(x, y ServiceLine) int { return x.Time.Compare(y.Time) })
	return a
}

// linesOf are the last lines of one instance; cut says that there were earlier ones, and err why they may not be all.
type linesOf struct {
	lines []events.LogLine
	cut   bool
	err   error
}

// readLines reads the lines of one instance, for the user that asked: the last ones that have this many bytes.
func readLines(ctx context.Context, b bus.Bus, f found, asked []byte, most int) (l linesOf) {
	c, err := session.Open(ctx, b, events.SessionSubject(cmp.Or(asker(ctx), b.User()), f.node, events.SessionLogs, f.id), asked)
	if err != nil {
		return linesOf{err: quiet(err, f.node)}
	}
	defer c.Close(nil, nil)
	body, cut, err := session.Collect(ctx, c, events.FrameLines, most)
	lines, unread := events.ParseLogLines(body)
	return linesOf{lines, cut, errors.Join(quiet(err, f.node), unread)}
}

// quiet turns the error into one that says that the node does not answer, if that is what went wrong.
func quiet(err error, node string) error {
	if errors.Is(err, bus.ErrNoAnswer) || errors.Is(err, session.ErrSilent) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("node %s does not answer", node)
	}
	return err
}

// bound drops the earliest lines until the lines that are left have at most this many bytes when encoded.
func (a *Logs) bound(most int) {
	left := len(a.Lines)
	for size := 0; left > 0; left-- {
		body, err := json.Marshal(a.Lines[left-1])
		if size += len(body) + 1; err != nil || size > most {
			break
		}
	}
	for _, l := range a.Lines[:left] {
		if !slices.Contains(a.TruncatedInstances, l.PrintedBy) {
			a.TruncatedInstances = append(a.TruncatedInstances, l.PrintedBy)
		}
	}
	slices.SortFunc(a.TruncatedInstances, func(x, y PrintedBy) int {
		return cmp.Or(cmp.Compare(x.Ordinal, y.Ordinal), cmp.Compare(x.Generation, y.Generation))
	})
	a.Lines, a.Truncated = a.Lines[left:], len(a.TruncatedInstances) > 0
}
