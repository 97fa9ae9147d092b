package runner_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/rookery-project/rookery/coordinator/runner/api"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/events/bus/memory"
)

// TestWhatBecameOfACommand asks for a command that is not stored, and for one that ends while the answer waits. It also asks malformed
// questions.
func TestWhatBecameOfACommand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memory.New(time.Now)
		defer start(t, b, "first")()
		synctest.Wait()
		tell(t, b, "ensure", `{"image":"localhost/web:1","scale":0}`)
		synctest.Wait()
		for question, want := range map[string]string{
			`{"sequence":1}`:               `"outcome":"succeeded"`,
			`{"sequence":1,"wait":"5s"}`:   `"outcome":"succeeded"`,
			`{"sequence":2}`:               `{"code":404,"reason":"command 2 is not stored: ROOKERY_COMMANDS ends at 1. Send it again"}`,
			`{"sequence":2,"wait":"5s"}`:   `{"code":404,"reason":"command 2 is not stored: ROOKERY_COMMANDS ends at 1. Send it again"}`,
			`{"id":"a","source":"/b"}`:     `{"code":404,"reason":"no command of this id and source is stored, or it was decided so long ago`,
			`{"sequence":1,"wait":"31s"}`:  `{"code":400,`,
			`{"id":"a","wait":"5s"}`:       `{"code":400,`,
			`{"sequence":1,"weight":"5s"}`: `{"code":400,`,
		} {
			answer, err := b.Request(t.Context(), events.Message{Subject: events.APIRoot + ".command", Header: events.Header{}, Body: []byte(question)})
			if err != nil || !strings.Contains(string(answer.Body), want) {
				t.Errorf("%s: %s, %v; want %s", question, answer.Body, err, want)
			}
		}
		hello(t, b)
		tell(t, b, "scale", `{"scale":1}`)
		synctest.Wait()
		ended := time.AfterFunc(3*time.Second, func() { see(t, b, 1, 1, events.PhaseOnline) })
		defer ended.Stop()
		began := time.Now()
		answer, err := b.Request(t.Context(), events.Message{
			Subject: events.APIRoot + ".command", Header: events.Header{}, Body: []byte(`{"sequence":2,"wait":"20s"}`),
		})
		if err != nil || !strings.Contains(string(answer.Body), `"outcome":"succeeded"`) || time.Since(began) < 3*time.Second {
			t.Errorf("after %s the answer is %s, %v", time.Since(began), answer.Body, err)
		}
	})
}

// behindBus is a bus that tells that no command is stored, as a server does for a while that was cut off.
type behindBus struct {
	bus.Bus
	is atomic.Bool
}

// State implements bus.Bus.
func (o *behindBus) State(ctx context.Context, stream bus.Stream) (bus.State, error) {
	s, err := o.Bus.State(ctx, stream)
	if stream == bus.Commands && o.is.Load() {
		s.Last = 0
	}
	return s, err
}

// TestACommandThatIsNotDecidedIsToldFromOneThatIsNotStored asks a standby while there is no leader.
func TestACommandThatIsNotDecidedIsToldFromOneThatIsNotStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memory.New(time.Now)
		first := start(t, b, "first")
		synctest.Wait()
		second := &behindBus{Bus: b}
		defer start(t, second, "second")()
		synctest.Wait()
		first()
		asked := func(question, want string) {
			t.Helper()
			answer, err := b.Request(t.Context(), events.Message{Subject: events.APIRoot + ".command", Header: events.Header{}, Body: []byte(question)})
			if err != nil || !strings.Contains(string(answer.Body), want) {
				t.Errorf("%s: %s, %v; want %s", question, answer.Body, err, want)
			}
		}
		sequence, err := b.Publish(t.Context(), events.Message{
			Subject: events.CommandSubject(web, "ensure"), Body: []byte(`{"image":"localhost/web:1"}`),
			Header: events.Header{"ce-specversion": {"1.0"}, "ce-type": {"io.rookery.service.v1.ensure"}, "ce-source": {"/me"}, "ce-id": {"one"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		of := fmt.Sprintf(`{"sequence":%d}`, sequence)
		asked(of, `{"code":425,"reason":"command 1 is stored, and not decided yet`)
		second.is.Store(true)
		asked(of, `{"code":425,"reason":"command 1 is stored, and not decided yet`)
		second.is.Store(false)
		asked(`{"id":"one","source":"/me"}`, `{"code":425,"reason":"the command of this id and source is stored, and not decided yet`)
		if err := b.Purge(t.Context(), bus.Commands, sequence+1); err != nil {
			t.Fatal(err)
		}
		for _, q := range []string{of, `{"id":"one","source":"/me"}`, `{"id":"two","source":"/me"}`} { // a leader may have decided it
			asked(q, `{"code":503,"reason":"this coordinator stands by, and may not know yet what was decided`)
		}
		<-time.After(time.Minute) // it leads by then
		asked(of, `{"code":404,"reason":"command 1 has gone from ROOKERY_COMMANDS before it was decided. Send it again"}`)
		asked(`{"id":"one","source":"/me"}`, `{"code":404,"reason":"no command of this id and source is stored, or it was decided so long ago`)
	})
}

// TestTheHashOfTheLogIsThatOfMemory asks for the hash of a fold beside the loop, and for that of the loop's own state.
func TestTheHashOfTheLogIsThatOfMemory(t *testing.T) {
	both(t, func(t *testing.T, b bus.Bus) {
		told, err := b.Subscribe(events.EventRoot + ".round")
		if err != nil {
			t.Fatal(err)
		}
		defer told.Stop()
		stop := start(t, b, "first")
		defer stop()
		next(t, told)
		publish(t, b, events.CommandSubject(web, "ensure"), webSpec)
		next(t, told)
		var folded, live api.ClusterState
		for deadline := time.Now().Add(patience); ; {
			for body, state := range map[string]*api.ClusterState{`{}`: &folded, `{"live":true}`: &live} {
				m, err := b.Request(t.Context(), events.Message{Subject: events.APIRoot + ".state", Body: []byte(body)})
				if err != nil {
					t.Fatal(err)
				}
				if err := json.Unmarshal(m.Body, state); err != nil {
					t.Fatalf("%s: %v", m.Body, err)
				}
			}
			if live.Sequence == folded.Sequence && live.Services == 1 {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("the state does not stand still: %+v, %+v", folded, live)
			}
		}
		if live.Hash != folded.Hash || live.Hash == "" {
			t.Errorf("the state in memory has hash %q, and the log folds to %q", live.Hash, folded.Hash)
		}
	})
}

// lateLog is a bus whose log cannot be read before a time.
type lateLog struct {
	*memory.Bus
	opens chan struct{}
}

func (b *lateLog) Read(ctx context.Context, s bus.Stream, from uint64) (bus.Reader, error) {
	if s == bus.Log {
		<-b.opens
	}
	return b.Bus.Read(ctx, s, from)
}

// TestACoordinatorFoldsTheLogBeforeItAnswers asks while the log cannot be read. The answer waits for the fold, whichever of the two
// comes first to the goroutine that owns the state.
func TestACoordinatorFoldsTheLogBeforeItAnswers(t *testing.T) {
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			b := &lateLog{memory.New(time.Now), make(chan struct{})}
			defer start(t, b, "only")()
			synctest.Wait()
			answered := make(chan string, 1)
			go func() {
				answer, err := b.Request(t.Context(), events.Message{Subject: events.APIRoot + ".services", Header: events.Header{}, Body: []byte(`{}`)})
				answered <- fmt.Sprintf("%s %v", answer.Body, err)
			}()
			synctest.Wait()
			close(b.opens)
			if got := <-answered; !strings.Contains(got, `"items":[]`) {
				t.Errorf("it answers %s", got)
			}
		})
	}
}

// TestAQuestionOnTheSubjectOfANamespaceIsAboutThatAlone asks about one namespace, about others and about all.
func TestAQuestionOnTheSubjectOfANamespaceIsAboutThatAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memory.New(time.Now)
		defer start(t, b, "first")()
		synctest.Wait()
		tell(t, b, "ensure", `{"image":"localhost/web:1","scale":0}`)
		if _, err := b.Publish(t.Context(), events.Message{Subject: "rookery.cmd.service.secret.web.ensure", Header: events.Header{}, Body: []byte(`{"image":"localhost/web:1","scale":0}`)}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		const refused = `{"code":403,`
		for _, row := range []struct{ question, namespace, body, want string }{
			{"services", "demo", `{"namespace":"demo"}`, `"name":"web"`},
			{"services", "other", `{"namespace":"other"}`, `"items":[]`},
			{"services", events.AllNamespaces, `{}`, `"name":"web"`},
			{"services", "demo", `{}`, refused},
			{"services", "demo", ``, refused},
			{"services", "demo", `x`, refused},
			{"services", "secret", `{"namespace":"demo"}`, refused},
			{"instances", "demo", `{"node":"n0"}`, refused},
			{"operations", "secret", `{"namespace":"demo"}`, refused},
			{"nodes", "demo", `{}`, refused},
			{"nodes", events.AllNamespaces, `{}`, `"items":[]`},
			{"history", "demo", `{"service":"demo/web"}`, `"verb":"ensure"`},
			{"history", "demo", `{"service":"secret/web"}`, refused},
			{"explain", "secret", `{"service":"demo/web"}`, refused},
			{"addresses", "secret", `{"namespace":"demo","name":"web","port":"http"}`, refused},
			{"service-metrics", "secret", `{"namespace":"demo","name":"web"}`, refused},
			{"logs", "secret", `{"service":"demo/web"}`, refused},
			{"exec", "secret", `{"service":"demo/web"}`, refused},
			{"state", "demo", `{}`, refused},
			{"state", "demo", `{"at_seq":3,"service":"secret/web"}`, refused},
			{"state", "demo", `{"at_seq":3,"service":"demo/web","node":"n0"}`, refused},
			{"diff", "demo", `{"from":1}`, refused},
			{"diff", "demo", `{"from":1,"service":"demo/web","node":"n0"}`, refused},
			{"plan", "demo", `{"verb":"rebalance","body":{}}`, refused},
			{"plan", "demo", `{"node":"n0","verb":"drain","body":{}}`, refused},
			{"plan", "demo", `{"group":"secret/stack","verb":"ensure","body":{}}`, refused},
			{"plan", "secret", `{"namespace":"demo","name":"web","verb":"ensure","body":{}}`, refused},
			{"what-if", "demo", `{}`, refused},
			{"actual", "demo", `{"node":"n0"}`, refused},
			{"command", "demo", `{"sequence":1,"namespace":"demo"}`, `"outcome":"succeeded"`},
			{"command", "demo", `{"sequence":1}`, refused},
			{"history", "demo", `{"service":"demo/wbe"}`, `demo/wbe`},
			{"explain", "demo", `{"service":"demo/wbe"}`, `did you mean demo/web?`},
			{"explain", "other", `{"service":"other/web"}`, `there is no service other/web`},
			{"addresses", "other", `{"namespace":"other","name":"web","port":"http"}`, `there is no service other/web`},
			{"service-metrics", "other", `{"namespace":"other","name":"web"}`, `there is no service other/web`},
			{"state", "demo", `{"at_seq":12,"service":"demo/web"}`, `"services":0`},
			{"plan", "demo", `{"namespace":"demo","name":"new","verb":"ensure","body":{"image":"localhost/web:1"}}`, `"service demo/new.scaled"`},
			{"command", "secret", `{"sequence":1,"namespace":"secret"}`, refused},
			{"command", events.AllNamespaces, `{"sequence":1}`, `"outcome":"succeeded"`},
		} {
			answer, err := b.Request(t.Context(), events.Message{
				Subject: events.QuestionBy("ann", row.namespace, row.question), Header: events.Header{}, Body: []byte(row.body),
			})
			if err != nil || !strings.Contains(string(answer.Body), row.want) {
				t.Errorf("%s of %s, %s: %s, %v; want %s", row.question, row.namespace, row.body, answer.Body, err, row.want)
			}
			if row.namespace != events.AllNamespaces && row.namespace != "secret" && strings.Contains(string(answer.Body), "secret") && !strings.Contains(row.body, "secret") {
				t.Errorf("%s of %s, %s tells of another namespace: %s", row.question, row.namespace, row.body, answer.Body)
			}
		}
	})
}
