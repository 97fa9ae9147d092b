package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
	// mostRead is how many instances are read at once; of a service with more one is to be named.
	mostRead = 200
	// mostLines is how many bytes of lines there are; the earliest are left out.
	mostLines = 512 << 10
	// readTimeout is how long nodes may take: less than clients wait for an answer.
	readTimeout = 3 * time.Second
)

// Logs is the answer to the question `logs`.
type Logs struct {
	Service string `json:"service"`
	// Lines are in the order of time.
	Lines []ServiceLine `json:"lines"`
	// Cut says that there are earlier lines that were asked for, and are left out for the size of the answer.
	Cut bool `json:"cut,omitzero"`
	// Missing are instances that were not read, and why.
	Missing []MissingLines `json:"missing,omitempty"`
	// LogSequence is the place in the log that the list of instances is true at.
	LogSequence uint64 `json:"log_sequence"`
}

// ServiceLine is a line that an instance of a service has printed.
type ServiceLine struct {
	events.LogLine
	Ordinal    uint32 `json:"ordinal"`
	Generation uint32 `json:"generation"`
	Node       string `json:"node"`
}

// MissingLines is an instance whose lines were not read.
type MissingLines struct {
	Ordinal    uint32 `json:"ordinal"`
	Generation uint32 `json:"generation"`
	Node       string `json:"node"`
	Reason     string `json:"reason"`
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

// seeking is which instances a question is about.
type seeking struct {
	Service string `json:"service"`
	// Ordinal is nil for all.
	Ordinal *uint32 `json:"ordinal"`
}

// found is an instance that a session can be opened with.
type found struct {
	id     events.InstanceID
	node   string
	online bool
}

// seek returns the instances that the question is about, by ordinal and generation, and the sequence that this is true at.
func (c *Coordinator) seek(ctx context.Context, q seeking) (there []found, sequence uint64, err error) {
	id, err := events.ParseServiceID(q.Service)
	if err != nil {
		return nil, 0, &bus.QuestionError{Code: 400, Reason: err.Error()}
	}
	asked := c.put(ctx, "", events.Heartbeat{}, func(c *Coordinator) {
		there, err = foundOf(c.cluster, id, q.Ordinal)
		sequence = c.cluster.Sequence
	})
	return there, sequence, errors.Join(asked, err)
}

func foundOf(c *projections.Cluster, id events.ServiceID, ordinal *uint32) ([]found, error) {
	s := c.Services[id]
	if s == nil || s.Revision == 0 {
		return nil, &bus.QuestionError{Code: 404, Reason: fmt.Sprintf("there is no service %s", id)}
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

func (c *Coordinator) askExec(ctx context.Context, body []byte) ([]byte, error) {
	var q seeking
	if err := json.Unmarshal(body, &q, json.RejectUnknownMembers(true)); err != nil || q.Service == "" {
		return nil, &bus.QuestionError{Code: 400, Reason: `ask with {"service":"demo/web"} or {"service":"demo/web","ordinal":2}`}
	}
	there, sequence, err := c.seek(ctx, q)
	if err != nil {
		return nil, err
	}
	a := Sessions{Service: q.Service, LogSequence: sequence}
	for _, f := range there {
		a.Instances = append(a.Instances, SessionWith{
			f.id.Ordinal, f.id.Generation, f.node, events.SessionSubject(f.node, events.SessionExec, f.id), f.online,
		})
	}
	return json.Marshal(a)
}

func (c *Coordinator) askLogs(ctx context.Context, body []byte) ([]byte, error) {
	var q struct {
		seeking
		Since time.Time `json:"since"`
		Tail  *int      `json:"tail"`
	}
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
	there, sequence, err := c.seek(ctx, q.seeking)
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
	a := readAll(ctx, c.Bus, there, asked)
	a.Service, a.LogSequence = q.Service, sequence
	a.bound(mostLines)
	return json.Marshal(a)
}

// readAll reads the lines of all, each beside the others.
func readAll(ctx context.Context, b bus.Bus, there []found, asked []byte) Logs {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	lines, errs := make([][]events.LogLine, len(there)), make([]error, len(there))
	var reading sync.WaitGroup
	for i, f := range there {
		reading.Go(func() { lines[i], errs[i] = readLines(ctx, b, f, asked) })
	}
	reading.Wait()
	a := Logs{Lines: []ServiceLine{}}
	for i, f := range there {
		for _, l := range lines[i] {
			a.Lines = append(a.Lines, ServiceLine{l, f.id.Ordinal, f.id.Generation, f.node})
		}
		if errs[i] != nil {
			a.Missing = append(a.Missing, MissingLines{f.id.Ordinal, f.id.Generation, f.node, errs[i].Error()})
		}
	}
	slices.SortStableFunc(a.Lines, func(x, y ServiceLine) int { return x.Time.Compare(y.Time) })
	return a
}

// readLines reads the lines of one instance: no more bytes of them than an answer has.
func readLines(ctx context.Context, b bus.Bus, f found, asked []byte) ([]events.LogLine, error) {
	c, err := session.Open(ctx, b, events.SessionSubject(f.node, events.SessionLogs, f.id), asked)
	if err != nil {
		return nil, quiet(err, f.node)
	}
	defer c.Close(nil, nil)
	body, err := session.Collect(ctx, c, events.FrameLines, mostLines)
	lines, unread := events.ParseLogLines(body)
	return lines, errors.Join(quiet(err, f.node), unread)
}

// quiet says of a node that it does not answer, where that is what went wrong.
func quiet(err error, node string) error {
	if errors.Is(err, bus.ErrNoAnswer) || errors.Is(err, session.ErrSilent) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("node %s does not answer", node)
	}
	return err
}

// bound leaves out the earliest lines, until there are no more bytes than this.
func (a *Logs) bound(most int) {
	const around = 160 // what a line has beside its text
	for i, size := len(a.Lines)-1, 0; i >= 0; i-- {
		size += around + 2*len(a.Lines[i].Text)
		if size > most {
			a.Lines, a.Cut = a.Lines[i+1:], true
			return
		}
	}
}
