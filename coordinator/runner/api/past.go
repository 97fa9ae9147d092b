package api

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/rookery-project/rookery/coordinator/runner/snapshots"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
	"github.com/rookery-project/rookery/projections/views"
)

const (
	// pastTimeout bounds how long an answer about the past may take, including the wait for its turn.
	pastTimeout = time.Minute
	// pastAtOnce is how many such answers are computed at once: each has a state of its own in memory.
	pastAtOnce = 2
	// pastWaiting is how many more questions may wait; the next one is refused.
	pastWaiting = 6
	// hashesWaiting is how many questions may wait for the hash of the present state.
	hashesWaiting = 16
)

// StateQuestion asks for the state. Without a place in the log, the answer is a summary of the present state. With one, it is all that the
// views had then.
type StateQuestion struct {
	// AtSeq is a place in the log, AtTime a moment; give at most one. The state is that of the last round closed by then.
	AtSeq  uint64    `json:"at_seq,omitzero"`
	AtTime time.Time `json:"at_time,omitzero"`
	// Service, as in demo/web, and Node limit the answer to these.
	Service string `json:"service,omitempty"`
	Node    string `json:"node,omitempty"`
	// Live asks for the hash of the state in the coordinator's memory instead of the log's, to compare the two. The coordinator decides
	// nothing while it computes the hash: about a second for 100,000 instances.
	Live bool `json:"live,omitzero"`
}

// PastState is the answer to the question `state` where it names a place in the log.
type PastState struct {
	ClusterState
	// Views are the values of each bucket by their keys, as they were at Sequence, and the policy of the cluster under policy.cluster.
	Views map[string]map[string]jsontext.Value `json:"views"`
}

// DiffQuestion asks what changed between two places in the log, each a sequence or a time. Without To, it compares up to now.
type DiffQuestion struct {
	From    jsontext.Value `json:"from" jsonschema:"oneof_type=integer;string"`
	To      jsontext.Value `json:"to,omitzero" jsonschema:"oneof_type=integer;string;null"`
	Service string         `json:"service,omitempty"`
	Node    string         `json:"node,omitempty"`
}

// Place is the end of a round.
type Place struct {
	Sequence uint64    `json:"sequence"`
	Round    uint64    `json:"round"`
	Now      time.Time `json:"now"`
	Hash     string    `json:"hash"`
}

// Diff is the answer to the question `diff`.
type Diff struct {
	From    Place          `json:"from"`
	To      Place          `json:"to"`
	Changes []views.Change `json:"changes"`
}

// inPast computes an answer outside the loop, as one of the questions about the past.
func (s *Server) inPast(ctx context.Context, work func(context.Context) ([]byte, error)) ([]byte, error) {
	return s.inTurn(ctx, s.past, work)
}

// inTurn computes an answer outside the loop when its turn comes, within pastTimeout.
func (s *Server) inTurn(ctx context.Context, of turns, work func(context.Context) ([]byte, error)) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, pastTimeout)
	defer cancel()
	done, err := of.take(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	body, err := work(ctx)
	var known *bus.QuestionError
	switch {
	case errors.Is(err, snapshots.ErrTrimmed):
		return nil, &bus.QuestionError{Code: 404, Reason: err.Error()}
	case err != nil && !errors.As(err, &known):
		return nil, &bus.QuestionError{Code: 503, Reason: fmt.Sprintf("the log cannot be folded: %v", err)}
	case err == nil && len(body) > bus.MaxAnswer:
		return nil, &bus.QuestionError{Code: 413, Reason: fmt.Sprintf(
			`the answer has %d bytes, and %d are the most: ask for less, with "service":"demo/web" or "node":"n1"`, len(body), bus.MaxAnswer)}
	}
	return body, err
}

// askPastState answers the question `state` for a place in the log.
func (s *Server) askPastState(ctx context.Context, q StateQuestion) ([]byte, error) {
	return s.inPast(ctx, func(ctx context.Context) ([]byte, error) {
		at, err := Find(ctx, s.Bus, q.AtSeq, q.AtTime)
		if err != nil {
			return nil, err
		}
		fold, reader, err := s.Folds.Begin(ctx, at)
		if err != nil {
			return nil, err
		}
		defer reader.Stop()
		if err := toRound(ctx, fold, reader, at); err != nil {
			return nil, err
		}
		past, err := PastOf(fold.Cluster, q.Service, q.Node, within(ctx))
		if err != nil {
			return nil, err
		}
		past.Answered = s.Name
		return json.Marshal(past, json.Deterministic(true))
	})
}

// PastOf returns a state of the past: all of it, or only one service and node. If no such service or node existed then, the error is a
// *bus.QuestionError. It says nothing of namespaces other than the one within, unless that is "".
func PastOf(c *projections.Cluster, service, node, within string) (PastState, error) {
	if err := missingThen(c, service, node, within); err != nil {
		return PastState{}, err
	}
	past := PastState{ClusterState: stateOf(c), Views: map[string]map[string]jsontext.Value{}}
	past.Hash = c.Hash()
	if within != "" {
		past.Services, past.Open, past.Shunned = 0, 0, nil
	}
	all, err := shown(c, service, node)
	if err != nil {
		return PastState{}, err
	}
	for key, value := range all.Values {
		if past.Views[key.Bucket] == nil {
			past.Views[key.Bucket] = map[string]jsontext.Value{}
		}
		past.Views[key.Bucket][key.Key] = value
	}
	return past, nil
}

// missingThen returns an error if the given service or node did not exist at that time; "" asks for none.
func missingThen(c *projections.Cluster, service, node, within string) error {
	if id, err := events.ParseServiceID(service); service != "" && (err != nil || c.Services[id] == nil) {
		return &bus.QuestionError{Code: 404, Reason: fmt.Sprintf("at sequence %d %s", c.Sequence, c.NoService(service, within))}
	}
	if node != "" && c.Nodes[node] == nil {
		return &bus.QuestionError{Code: 404, Reason: fmt.Sprintf("at sequence %d %s", c.Sequence, c.NoNode(node))}
	}
	return nil
}

// askDiff answers the question `diff`.
func (s *Server) askDiff(ctx context.Context, body []byte) ([]byte, error) {
	var q DiffQuestion
	if err := json.Unmarshal(body, &q, json.RejectUnknownMembers(true)); err != nil || len(q.From) == 0 {
		return nil, &bus.QuestionError{Code: 400, Reason: `ask with {"from":100,"to":200} or {"from":"2026-11-01T12:00:00Z"}; "service":"demo/web" and` +
			` "node":"n1" show these alone`}
	}
	return s.inPast(ctx, func(ctx context.Context) ([]byte, error) {
		from, err := s.findValue(ctx, "from", q.From)
		if err != nil {
			return nil, err
		}
		to, err := s.findValue(ctx, "to", q.To)
		if err != nil {
			return nil, err
		}
		if from > to {
			return nil, &bus.QuestionError{Code: 400, Reason: fmt.Sprintf("from is at sequence %d, after to at %d: swap them", from, to)}
		}
		fold, reader, err := s.Folds.Begin(ctx, from)
		if err != nil {
			return nil, err
		}
		defer reader.Stop()
		if err := toRound(ctx, fold, reader, from); err != nil {
			return nil, err
		}
		d, err := diffTo(ctx, fold, reader, to, q)
		if err != nil {
			return nil, err
		}
		return json.Marshal(d, json.Deterministic(true))
	})
}

// diffTo folds on to the place and returns what changed on the way.
func diffTo(ctx context.Context, fold *projections.Fold, reader bus.Reader, to uint64, q DiffQuestion) (d Diff, err error) {
	d.From = placeOf(fold.Cluster)
	missing := missingThen(fold.Cluster, q.Service, q.Node, within(ctx))
	before, err := shown(fold.Cluster, q.Service, q.Node)
	if err != nil {
		return d, err
	}
	if err := toRound(ctx, fold, reader, to); err != nil {
		return d, err
	}
	if still := missingThen(fold.Cluster, q.Service, q.Node, within(ctx)); missing != nil && still != nil {
		return d, still
	}
	d.To = placeOf(fold.Cluster)
	after, err := shown(fold.Cluster, q.Service, q.Node)
	if err != nil {
		return d, err
	}
	d.Changes, err = views.Differences(before, after)
	return d, err
}

func placeOf(s *projections.Cluster) Place {
	return Place{Sequence: s.Sequence, Round: s.Round, Now: s.Now, Hash: s.Hash()}
}

// toRound folds on to the last round that is closed at or below the place.
func toRound(ctx context.Context, fold *projections.Fold, reader bus.Reader, at uint64) error {
	if err := snapshots.To(ctx, fold, reader, at); err != nil {
		return err
	}
	if fold.Cluster.Sequence == 0 {
		return &bus.QuestionError{Code: 404, Reason: fmt.Sprintf("no round is closed at or below sequence %d: there was no state yet", at)}
	}
	return nil
}

// PolicyKey names the policy of the cluster among the values of a state. No bucket has it.
var PolicyKey = views.Key{Bucket: "policy", Key: "cluster"}

// shown returns all the values of the state with the policy, or those of one service or node alone.
func shown(c *projections.Cluster, service, node string) (views.Changes, error) {
	all := views.All(c)
	if service == "" && node == "" {
		policy, err := json.Marshal(c.Policy.WithDefaults(), json.Deterministic(true))
		all.Values[PolicyKey] = policy
		return all, err
	}
	key := strings.ReplaceAll(service, "/", ".")
	for k := range all.Values {
		ofService := service != "" && k.Bucket != bus.BucketNodes && (k.Key == key || strings.HasPrefix(k.Key, key+"."))
		if !ofService && (k.Bucket != bus.BucketNodes || k.Key != node) {
			delete(all.Values, k)
		}
	}
	return all, nil
}

// findValue returns the place in the log that a JSON number, or a JSON string with a time, stands for. Without a value it returns the end
// of the log.
func (s *Server) findValue(ctx context.Context, field string, value jsontext.Value) (uint64, error) {
	var sequence uint64
	var at time.Time
	switch value.Kind() { //nolint:exhaustive // all others are refused below
	case '0':
		if err := json.Unmarshal(value, &sequence); err != nil || sequence == 0 {
			return 0, &bus.QuestionError{Code: 400, Reason: fmt.Sprintf("%s is not a place in the log: places count from 1", field)}
		}
	case '"':
		if err := json.Unmarshal(value, &at); err != nil {
			return 0, &bus.QuestionError{Code: 400, Reason: fmt.Sprintf("%s is not a time: write it as in 2026-11-01T12:00:00Z", field)}
		}
	default:
		if len(value) > 0 && value.Kind() != 'n' {
			return 0, &bus.QuestionError{Code: 400, Reason: field + " is neither a sequence nor a time: write 100, or \"2026-11-01T12:00:00Z\""}
		}
	}
	return Find(ctx, s.Bus, sequence, at)
}

// Find returns the place in the log that is asked for: a sequence, the last one at a time, or with neither the end of the log. Errors in
// the question are of type *bus.QuestionError.
func Find(ctx context.Context, b bus.Bus, sequence uint64, at time.Time) (uint64, error) {
	state, err := b.State(ctx, bus.Log)
	switch {
	case err != nil:
		return 0, err
	case state.First > state.Last:
		return 0, &bus.QuestionError{Code: 404, Reason: "the log is empty"}
	case sequence > state.Last:
		return 0, &bus.QuestionError{Code: 404, Reason: fmt.Sprintf("the log ends at sequence %d: %d is not decided yet", state.Last, sequence)}
	case sequence > 0 && sequence < state.First:
		return 0, &bus.QuestionError{Code: 404, Reason: fmt.Sprintf("the log begins at sequence %d: sequence %d is only in an archive: read it with rookery state --archive", state.First, sequence)}
	case sequence > 0:
		return sequence, nil
	case at.IsZero():
		return state.Last, nil
	case at.After(time.Now().Add(bus.MaxSkew)):
		return 0, &bus.QuestionError{Code: 400, Reason: fmt.Sprintf("%s has not come yet: it is %s here",
			at.Format(time.RFC3339), time.Now().UTC().Format(time.RFC3339))}
	}
	return findTime(ctx, b, state, at)
}

// findTime searches the log by halves for the last message at or before a time. Times in the log never run back.
func findTime(ctx context.Context, b bus.Bus, state bus.State, at time.Time) (uint64, error) {
	first, err := timeAt(ctx, b, state.First, state.Last)
	if err != nil {
		return 0, err
	}
	if first.After(at) {
		before := "nothing happened before"
		if state.First > 1 {
			before = "earlier messages are only in an archive: read it with rookery state --archive"
		}
		return 0, &bus.QuestionError{Code: 404, Reason: fmt.Sprintf("the log begins at %s: %s", first.Format(time.RFC3339), before)}
	}
	low, high := state.First, state.Last+1 // at low the time is not after, at high it is, or nothing is there
	for low+1 < high {
		middle := low + (high-low)/2
		then, err := timeAt(ctx, b, middle, state.Last)
		if err != nil {
			return 0, err
		}
		if then.After(at) {
			high = middle
		} else {
			low = middle
		}
	}
	return low, nil
}

// never is after every time in the log.
var never = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)

// timeAt returns the time of the round that a place in the log belongs to, or never if no round closes from there to the last message.
// Other messages may have any time.
func timeAt(ctx context.Context, b bus.Bus, sequence, last uint64) (time.Time, error) {
	reader, err := b.Read(ctx, bus.Log, sequence)
	if err != nil {
		return time.Time{}, err
	}
	defer reader.Stop()
	for {
		m, err := snapshots.Next(ctx, reader)
		if err != nil {
			return time.Time{}, err
		}
		data, a, err := events.Decode(m)
		_, closed := data.(events.RoundClosed)
		switch {
		case err == nil && closed:
			return a.Time, nil
		case m.Sequence >= last:
			return never, nil
		}
	}
}
