package bus

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
	"github.com/nats-io/nuid"

	"github.com/rookery-project/rookery/events"
)

const (
	// answersAtOnce is how many questions are answered at once; more of them wait.
	answersAtOnce = 64
	// serviceName, serviceVersion and serviceAbout are what `nats micro ls` and `info` show.
	serviceName, serviceVersion, serviceAbout = "rookery", "0.1.0", "Questions about a Rookery cluster."
)

// service is a NATS micro service (ADR-32). The library's own takes the next request of an endpoint only once the last one is answered, and
// counts an error only by then; here questions that take long, as `command` with "wait", hold up no other.
type service struct {
	conn *nats.Conn
	id   micro.ServiceIdentity
	subs []*nats.Subscription
	// under has an element for each question that is being answered, and answers waits for all of them.
	under   chan struct{}
	answers sync.WaitGroup

	mu    sync.Mutex
	stats micro.Stats
	// stopped says that no further question is answered.
	stopped bool
}

// Serve implements Bus with a NATS micro service, so that `nats micro ls` finds it.
func (b *JetStream) Serve(by Coordinator, questions map[string]Question) (func(), error) {
	id := micro.ServiceIdentity{Name: serviceName, ID: nuid.Next(), Version: serviceVersion, Metadata: by.metadata()}
	s := &service{
		conn: b.conn, id: id, under: make(chan struct{}, answersAtOnce),
		stats: micro.Stats{ServiceIdentity: id, Type: micro.StatsResponseType, Started: time.Now().UTC()},
	}
	for _, name := range slices.Sorted(maps.Keys(questions)) { // clients list them in this order
		if err := s.endpoint(name, questions[name]); err != nil {
			s.stop()
			return nil, fmt.Errorf("serve question %s: %w", name, err)
		}
	}
	if err := s.describe(); err != nil {
		s.stop()
		return nil, fmt.Errorf("serve questions: %w", err)
	}
	return s.stop, nil
}

// The metadata of the service.
const (
	metaCoordinator = "coordinator"
	metaVersion     = "version"
	metaLevels      = "levels"
)

func (c Coordinator) metadata() map[string]string {
	return map[string]string{metaCoordinator: c.Name, metaVersion: c.Version, metaLevels: c.Levels.String()}
}

// coordinatorOf reads what a service says of itself. One of a version before levels says nothing: it has the id of its service for a name.
func coordinatorOf(id micro.ServiceIdentity) (Coordinator, error) {
	levels, err := events.ParseLevels(id.Metadata[metaLevels])
	if err != nil {
		return Coordinator{}, fmt.Errorf("the levels of the service %s: %w", id.ID, err)
	}
	name := cmp.Or(id.Metadata[metaCoordinator], id.ID)
	return Coordinator{name, events.Program{Version: id.Metadata[metaVersion], Levels: levels}}, nil
}

// coordinatorsFor is how long coordinators have to say that they answer questions.
const coordinatorsFor = time.Second

// Coordinators implements Bus. It asks as `nats micro ping rookery` does.
func (b *JetStream) Coordinators(ctx context.Context) (all []Coordinator, err error) {
	subject, err := micro.ControlSubject(micro.PingVerb, serviceName, "")
	if err != nil {
		return nil, err
	}
	asked := b.askAll(ctx, subject, coordinatorsFor, func(m *nats.Msg) (more bool) {
		var ping micro.Ping
		if err = json.Unmarshal(m.Data, &ping); err == nil {
			var c Coordinator
			c, err = coordinatorOf(ping.ServiceIdentity)
			all = append(all, c)
		}
		return err == nil
	})
	if errors.Is(asked, ErrNoAnswer) {
		return nil, nil
	}
	if err = errors.Join(asked, err); err != nil {
		return nil, fmt.Errorf("ask who answers questions: %w", err)
	}
	return all, nil
}

// endpoint answers one question. The coordinators of a cluster share its requests.
func (s *service) endpoint(name string, question Question) error {
	stats := &micro.EndpointStats{Name: name, Subject: events.QuestionSubject(name), QueueGroup: micro.DefaultQueueGroup}
	s.stats.Endpoints = append(s.stats.Endpoints, stats)
	if err := s.listen(stats.Subject, stats, question); err != nil {
		return err
	}
	return s.listen(events.QuestionsBy(name), stats, question)
}

func (s *service) listen(subject string, stats *micro.EndpointStats, question Question) error {
	sub, err := s.conn.QueueSubscribe(subject, stats.QueueGroup, func(msg *nats.Msg) {
		if !answerable(msg.Reply) {
			return
		}
		s.under <- struct{}{}
		if !s.enter() {
			<-s.under
			return
		}
		go func() {
			defer s.answers.Done()
			defer func() { <-s.under }()
			began := time.Now()
			err := answerTo(msg, question)
			s.count(stats, time.Since(began), err)
		}()
	})
	if err != nil {
		return err
	}
	s.subs = append(s.subs, sub)
	return nil
}

// enter reports whether a question may still be answered. The caller calls answers.Done after its answer.
func (s *service) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.stopped {
		s.answers.Add(1)
	}
	return !s.stopped
}

// count notes an answer in what `nats micro stats` shows.
func (s *service) count(stats *micro.EndpointStats, lasted time.Duration, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	stats.NumRequests++
	stats.ProcessingTime += lasted
	stats.AverageProcessingTime = stats.ProcessingTime / time.Duration(stats.NumRequests)
	if err != nil {
		stats.NumErrors++
		stats.LastError = fmt.Sprintf("%d:%v", CodeOf(err), err) // as the library writes it
	}
}

// answerTo answers a question, and returns the error that it was answered with.
func answerTo(msg *nats.Msg, question Question) error {
	answer, err := askSafely(question, AskedIn(msg.Subject, msg.Data))
	if err == nil {
		err = inParts(msg, answer)
	}
	if err == nil {
		return nil
	}
	return errors.Join(err, msg.RespondMsg(toNATS(Refuse(answer, err))))
}

// askSafely turns a panic into an error of its question alone: the same process answers others, and may lead the cluster.
func askSafely(question Question, asked Asked) (answer events.Message, err error) {
	defer func() {
		if why := recover(); why != nil {
			err = fmt.Errorf("a defect of the program: %v", why)
		}
	}()
	return question(asked)
}

// describe answers what clients of every micro service ask: for all services, for those of our name, and for this one.
func (s *service) describe() error {
	for verb, say := range map[micro.Verb]func() any{
		micro.PingVerb:  func() any { return micro.Ping{ServiceIdentity: s.id, Type: micro.PingResponseType} },
		micro.InfoVerb:  func() any { return s.info() },
		micro.StatsVerb: func() any { return s.stats },
	} {
		for _, of := range [][2]string{{}, {s.id.Name}, {s.id.Name, s.id.ID}} {
			subject, err := micro.ControlSubject(verb, of[0], of[1])
			if err != nil {
				return err
			}
			sub, err := s.conn.Subscribe(subject, func(msg *nats.Msg) {
				if !answerable(msg.Reply) {
					return
				}
				s.mu.Lock()
				body, err := json.Marshal(say())
				s.mu.Unlock()
				if err == nil {
					err = msg.Respond(body)
				}
				if err != nil {
					return // the connection is gone, and who asked with it
				}
			})
			if err != nil {
				return err
			}
			s.subs = append(s.subs, sub)
		}
	}
	return nil
}

func (s *service) info() micro.Info {
	info := micro.Info{ServiceIdentity: s.id, Type: micro.InfoResponseType, Description: serviceAbout}
	for _, e := range s.stats.Endpoints {
		info.Endpoints = append(info.Endpoints, micro.EndpointInfo{Name: e.Name, Subject: e.Subject, QueueGroup: e.QueueGroup, Metadata: map[string]string{}})
	}
	return info
}

// stop takes no further questions, and waits until those under way are answered.
func (s *service) stop() {
	for _, sub := range s.subs {
		if err := sub.Unsubscribe(); err != nil {
			break // the connection is closed, and all subscriptions with it
		}
	}
	s.mu.Lock()
	s.stopped = true
	s.mu.Unlock()
	s.answers.Wait()
}
