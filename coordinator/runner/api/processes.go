package api

import (
	"context"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
)

// metricsKept is how long a measurement of a node is shown. An older one may no longer be true.
const metricsKept = 2 * time.Minute

// ServiceMetrics is the answer to the question `service-metrics`: what each process of a service uses now.
type ServiceMetrics struct {
	Service string `json:"service"`
	// Processes has every slot of the service, in order.
	Processes []ProcessMetrics `json:"processes"`
	// LogSequence is the place in the log that the list of processes is true at.
	LogSequence uint64 `json:"log_sequence"`
}

// ProcessMetrics is what the process of one slot uses. Unknown figures are null.
type ProcessMetrics struct {
	Ordinal    uint32 `json:"ordinal"`
	Generation uint32 `json:"generation,omitzero"`
	Node       string `json:"node,omitempty"`
	events.ProcessUse
	// Measured is the time of the measurement; null if nothing was measured recently.
	Measured *time.Time `json:"measured" jsonschema:"nullable"`
}

// MetricsQuestion asks what the processes of a service use.
type MetricsQuestion struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// askServiceMetrics lists what the log has of the service, and adds what nodes reported of it last.
func (s *Server) askServiceMetrics(ctx context.Context, body []byte) ([]byte, error) {
	var q MetricsQuestion
	if err := json.Unmarshal(body, &q, json.RejectUnknownMembers(true)); err != nil || !events.ValidName(q.Namespace) || !events.ValidName(q.Name) {
		return nil, &bus.QuestionError{Code: 400, Reason: `ask with {"namespace":"demo","name":"web"}`}
	}
	id := events.ServiceID{Namespace: q.Namespace, Name: q.Name}
	answer := ServiceMetrics{Service: id.String(), Processes: []ProcessMetrics{}}
	var known map[events.InstanceID]string
	none := ""
	if err := s.State(ctx, func(c *projections.Cluster, _ bool) {
		answer.LogSequence = c.Sequence
		if s := c.Services[id]; s != nil {
			answer.Processes, known = processesOf(s)
		} else {
			none = c.NoService(id.String(), within(ctx))
		}
	}); err != nil {
		return nil, err
	}
	if known == nil {
		return nil, &bus.QuestionError{Code: 404, Reason: none}
	}
	call, cancel := context.WithTimeout(ctx, bus.CallTimeout)
	defer cancel()
	messages, err := s.Bus.Latest(call, bus.Metrics, events.MetricSubjects(id))
	if err != nil {
		return nil, err
	}
	for _, m := range messages {
		answer.take(m, known, s.Now())
	}
	return json.Marshal(answer)
}

// processesOf lists the slots of the service, and the instances for which their nodes may report.
func processesOf(s *projections.Service) (all []ProcessMetrics, known map[events.InstanceID]string) {
	all, known = []ProcessMetrics{}, map[events.InstanceID]string{}
	if s.Dropped || s.Suspended() {
		return all, known
	}
	for o := range s.Ordinals() {
		p := ProcessMetrics{Ordinal: o}
		if int(o) < len(s.Slots) {
			slot := s.Slots[o]
			if i := slot.Current; i != nil {
				p.Generation, p.Node, known[i.ID] = i.ID.Generation, i.Node, i.Node
			}
			if i := slot.Next; i != nil {
				known[i.ID] = i.Node
			}
		}
		all = append(all, p)
	}
	return all, known
}

// take adds what a node reported of one of its instances, unless the report is too old or of an instance that ended.
func (a *ServiceMetrics) take(m events.Message, known map[events.InstanceID]string, now time.Time) {
	p, at, err := events.DecodeAs[events.MetricProcess](m)
	slot := slices.IndexFunc(a.Processes, func(of ProcessMetrics) bool { return of.Ordinal == p.Ordinal })
	if err != nil || now.Sub(at.Time) > metricsKept || slot < 0 {
		return
	}
	id := events.InstanceID{Service: events.ServiceID{Namespace: p.Namespace, Name: p.Name}, Ordinal: p.Ordinal, Generation: p.Generation}
	if node := known[id]; node == "" || node != p.Node || m.Subject != events.MetricSubject(id.Service, id.Ordinal, node) {
		return
	}
	measured := at.Time
	a.Processes[slot] = ProcessMetrics{Ordinal: p.Ordinal, Generation: p.Generation, Node: p.Node, ProcessUse: p.ProcessUse, Measured: &measured}
}
