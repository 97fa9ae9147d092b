package bus_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go/micro"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

// TestTheServiceCountsErrors asks as `nats micro stats` does, while a question is answered that takes long.
func TestTheServiceCountsErrors(t *testing.T) {
	t.Parallel()
	b := open(t)
	long := make(chan struct{})
	stop, err := b.Serve(bus.Coordinator{}, map[string]bus.Question{
		"good": func(bus.Asked) (events.Message, error) { return events.Message{Body: []byte("{}")}, nil },
		"mixed": func(asked bus.Asked) (events.Message, error) {
			switch string(asked.Body) {
			case "long":
				<-long
				return events.Message{Body: []byte("late")}, nil
			case "defect":
				panic("there is a defect")
			case "known":
				return events.Message{}, &bus.QuestionError{Code: 404, Reason: "there is no such thing"}
			}
			return events.Message{}, errors.New("something else")
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	ask := func(subject, body string) string {
		answer, err := b.Request(ctx, events.Message{Subject: subject, Body: []byte(body)})
		if err != nil {
			t.Error(subject, err)
		}
		return string(answer.Body)
	}
	late := make(chan string)
	go func() { late <- ask(events.APIRoot+".mixed", "long") }()
	ask(events.APIRoot+".good", "")
	ask(events.APIRoot+".mixed", "other")
	if body := ask(events.APIRoot+".mixed", "defect"); body != `{"code":500,"reason":"a defect of the program: there is a defect"}` {
		t.Errorf("the answer to what panics is %s", body)
	}
	if body := ask(events.APIRoot+".mixed", "known"); body != `{"code":404,"reason":"there is no such thing"}` {
		t.Errorf("the answer to what is not there is %s", body)
	}
	close(long)
	if got := <-late; got != "late" {
		t.Errorf("what took long was answered with %q", got)
	}
	type figures struct{ Requests, Errors int }
	want := map[string]figures{"good": {1, 0}, "mixed": {4, 3}}
	for {
		var stats micro.Stats
		if err := json.Unmarshal([]byte(ask("$SRV.STATS.rookery", "")), &stats); err != nil {
			t.Fatal(err)
		}
		var id micro.Info
		if err := json.Unmarshal([]byte(ask("$SRV.INFO.rookery."+stats.ID, "")), &id); err != nil || len(id.Endpoints) != len(want) {
			t.Fatalf("the service says of itself %+v: %v", id, err)
		}
		got := map[string]figures{}
		for _, e := range stats.Endpoints {
			got[e.Name] = figures{e.NumRequests, e.NumErrors}
		}
		if got["mixed"].Requests < want["mixed"].Requests || got["good"].Requests < 1 {
			continue // an answer is counted once it is given
		}
		if got["mixed"] != want["mixed"] || got["good"] != want["good"] || stats.Endpoints[1].LastError == "" {
			t.Errorf("counted %v, want %v", got, want)
		}
		return
	}
}
