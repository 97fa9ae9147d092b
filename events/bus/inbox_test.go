package bus_test

import (
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

func TestInboxes(t *testing.T) {
	for subject, want := range map[string]bool{
		"_INBOX.x": true, "_INBOX.alice.x.1": true, "_INBOX_alice.x": true,
		"": false, "_INBOX": false, "_INBOX.": false, "_INBOXES.x": false, "_INBOX.*": false, "_INBOX_alice.>": false, "_INBOX.a b": false,
		"rookery.cmd.cluster.policy": false, "$JS.API.STREAM.DELETE.ROOKERY_LOG": false,
	} {
		if got := bus.IsInbox(subject); got != want {
			t.Errorf("IsInbox(%q) = %t", subject, got)
		}
	}
}

// TestNothingIsAnsweredElsewhereThanInAnInbox asks for an answer where who asks may not publish.
func TestNothingIsAnsweredElsewhereThanInAnInbox(t *testing.T) {
	b := connect(t)
	stop, err := b.Answer("test.ask", func(m events.Message) (events.Message, error) { return m, nil })
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	stop, err = b.Serve(bus.Coordinator{}, map[string]bus.Question{"echo": func(asked bus.Asked) (events.Message, error) { return events.Message{Body: asked.Body}, nil }})
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	for _, subject := range []string{"test.ask", events.APIRoot + ".echo"} {
		for reply, want := range map[string]bool{
			"rookery.cmd.demo.web.drop": false, "$JS.API.STREAM.DELETE.ROOKERY_LOG": false, "_INBOX.x": true, "_INBOX_alice.x": true,
		} {
			heard, err := b.Conn().SubscribeSync(reply)
			if err != nil {
				t.Fatal(err)
			}
			if err := b.Conn().PublishRequest(subject, reply, []byte("x")); err != nil {
				t.Fatal(err)
			}
			// Questions are answered beside each other; a second one to an inbox is answered after the first was looked at.
			if _, err := b.Request(within(t), events.Message{Subject: subject, Body: []byte("y")}); err != nil {
				t.Fatal(err)
			}
			if got := hears(heard); got != want {
				t.Errorf("a request on %s with the reply %s is answered: %t", subject, reply, got)
			}
		}
	}
}

func hears(s *nats.Subscription) bool {
	_, err := s.NextMsg(patience / 100)
	return err == nil
}
