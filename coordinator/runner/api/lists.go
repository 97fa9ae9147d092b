package api

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
	"github.com/rookery-project/rookery/projections/views"
)

const (
	// listLimit is the default number of items in an answer.
	listLimit = 100
	// MostListed is the greatest number of items that a question may ask for. The loop does nothing else while it lists them.
	MostListed = 500
	// mostBytes bounds the total size of the items in an answer, as a message has at most one mebibyte. A single larger item is answered
	// alone.
	mostBytes = 512 << 10
)

// List is the answer to the questions `services`, `instances`, `nodes` and `operations`.
type List[T any] struct {
	// LogSequence is the place in the log that every item is true at.
	LogSequence uint64 `json:"log_sequence"`
	// Items are as the views have them, in the order of their keys; ordinals count as numbers.
	Items []T `json:"items"`
	// Continue is the key of the last item if more may follow: send it in the same question to get the next items. An item that changes
	// between two answers may appear in both or in neither.
	Continue string `json:"continue,omitempty"`
}

// ListQuestion asks for services, operations, instances or nodes.
type ListQuestion struct {
	// Namespace limits the answer to this namespace, and Name to one service; not for nodes.
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	// Node limits the answer to this node, or to the instances on it; not for services and operations.
	Node string `json:"node,omitempty"`
	// Limit is the greatest number of items; default 100.
	Limit int `json:"limit,omitzero" jsonschema:"minimum=1,maximum=500"`
	// Continue is the Continue of the previous answer.
	Continue string `json:"continue,omitempty"`
}

// list says how one kind of thing is listed.
type list struct {
	// asks is an example of the question, with all the fields that it takes.
	asks string
	// ofNodes says that it is asked by node, ofServices by namespace and name.
	ofNodes, ofServices bool
	// each gives the key and the value of all that the question asks for and that stand behind its Continue, in order.
	each func(c *projections.Cluster, q ListQuestion) iter.Seq2[string, []byte]
}

var (
	services = list{
		`{"namespace":"demo","name":"web","limit":100,"continue":"demo.web"}`, false, true,
		func(c *projections.Cluster, q ListQuestion) iter.Seq2[string, []byte] {
			return eachService(c, q, func(id events.ServiceID) []byte { value, _ := views.OfService(c, id); return value })
		},
	}
	operations = list{
		`{"namespace":"demo","name":"web","limit":100,"continue":"demo.web"}`, false, true,
		func(c *projections.Cluster, q ListQuestion) iter.Seq2[string, []byte] {
			return eachService(c, q, func(id events.ServiceID) []byte { _, value := views.OfService(c, id); return value })
		},
	}
	instances = list{`{"namespace":"demo","name":"web","node":"edge-1","limit":100,"continue":"demo.web.3"}`, true, true, eachSlot}
	nodes     = list{`{"node":"edge-1","limit":100,"continue":"edge-1"}`, true, false, eachNode}
)

// ask returns what answers the question for the list.
func (l list) ask() func(*Server, context.Context, []byte) ([]byte, error) {
	return func(s *Server, ctx context.Context, body []byte) ([]byte, error) { return s.askList(ctx, l, body) }
}

func (s *Server) askList(ctx context.Context, l list, body []byte) (answer []byte, err error) {
	q, err := l.parse(body)
	if err != nil {
		return nil, err
	}
	asked := s.State(ctx, func(c *projections.Cluster, _ bool) { answer, err = l.answer(c, q) })
	return answer, errors.Join(asked, err)
}

// parse reads the question. A body that is empty asks for all.
func (l list) parse(body []byte) (q ListQuestion, err error) {
	q.Limit = listLimit
	if len(body) > 0 {
		err = json.Unmarshal(body, &q, json.RejectUnknownMembers(true))
	}
	wrong := err != nil || (q.Node != "" && !l.ofNodes) || (!l.ofServices && q.Namespace+q.Name != "") || (q.Name != "" && q.Namespace == "")
	if wrong {
		return q, &bus.QuestionError{Code: 400, Reason: "ask with any of " + l.asks + "; a name needs its namespace"}
	}
	if q.Limit < 1 || q.Limit > MostListed {
		return q, &bus.QuestionError{Code: 400, Reason: fmt.Sprintf("limit %d is not between 1 and %d", q.Limit, MostListed)}
	}
	return q, nil
}

func (l list) answer(c *projections.Cluster, q ListQuestion) ([]byte, error) {
	a := List[jsontext.Value]{LogSequence: c.Sequence, Items: []jsontext.Value{}}
	size, last := 0, ""
	for key, value := range l.each(c, q) {
		if size += len(value); len(a.Items) == q.Limit || (len(a.Items) > 0 && size > mostBytes) {
			a.Continue = last
			break
		}
		a.Items, last = append(a.Items, value), key
	}
	return json.Marshal(a)
}

// services returns those that the question asks for, in order, from that of this key on.
func (q ListQuestion) services(c *projections.Cluster, from events.ServiceID) []events.ServiceID {
	var some []events.ServiceID
	for id := range c.Services {
		if (q.Namespace == "" || id.Namespace == q.Namespace) && (q.Name == "" || id.Name == q.Name) && id.Compare(from) >= 0 {
			some = append(some, id)
		}
	}
	slices.SortFunc(some, events.ServiceID.Compare)
	return some
}

// behind reads the key after which the answer continues: a service, and an ordinal if the key has one; else -1.
func (q ListQuestion) behind() (id events.ServiceID, ordinal int) {
	namespace, rest, _ := strings.Cut(q.Continue, ".")
	name, number, _ := strings.Cut(rest, ".")
	ordinal, err := strconv.Atoi(number)
	if err != nil {
		ordinal = -1
	}
	return events.ServiceID{Namespace: namespace, Name: name}, ordinal
}

func eachService(c *projections.Cluster, q ListQuestion, show func(events.ServiceID) []byte) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		from, _ := q.behind()
		for _, id := range q.services(c, from) {
			value := []byte(nil)
			if id != from {
				value = show(id)
			}
			if value != nil && !yield(id.Namespace+"."+id.Name, value) {
				return
			}
		}
	}
}

func eachSlot(c *projections.Cluster, q ListQuestion) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		from, behind := q.behind()
		for _, id := range q.services(c, from) {
			show, slots := views.OfSlots(c, id)
			first := 0
			if id == from {
				first = behind + 1
			}
			for ordinal := first; ordinal < slots; ordinal++ {
				if q.Node != "" && !isOn(c.Services[id], ordinal, q.Node) {
					continue
				}
				if value := show(ordinal); value != nil && !yield(id.Namespace+"."+id.Name+"."+strconv.Itoa(ordinal), value) {
					return
				}
			}
		}
	}
}

// isOn reports whether the slot has an instance on the node.
func isOn(s *projections.Service, ordinal int, node string) bool {
	if ordinal >= len(s.Slots) {
		return false
	}
	slot := s.Slots[ordinal]
	there := func(i *projections.Instance) bool { return i != nil && i.Node == node }
	return there(slot.Current) || there(slot.Next) || slices.ContainsFunc(slot.Beside().Terminating, there) || slices.ContainsFunc(slot.Beside().Disconnected, there)
}

func eachNode(c *projections.Cluster, q ListQuestion) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		for _, name := range slices.Sorted(maps.Keys(c.Nodes)) {
			if (q.Node != "" && name != q.Node) || name <= q.Continue {
				continue
			}
			if value := views.OfNode(c, name); value != nil && !yield(name, value) {
				return
			}
		}
	}
}
