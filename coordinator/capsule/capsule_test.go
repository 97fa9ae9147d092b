package capsule_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rookery-project/rookery/coordinator/capsule"
	"github.com/rookery-project/rookery/events"
)

func TestWhatIsWrittenReads(t *testing.T) {
	raw := events.Message{Sequence: 2, Subject: "rookery.cmd.x", Header: events.Header{"Nats-Msg-Id": {"a"}}, Body: []byte{0xff, 0}}
	text := events.Message{Sequence: 1, Subject: "rookery.cmd.y", Body: []byte(`{"a":"ä"}`)}
	c := capsule.Capsule{Made: capsule.Made{By: "rookery", Version: "1"}, Recorded: &capsule.Recorded{
		From: 1, To: 2, Log: []capsule.Message{capsule.Keep(text), capsule.Keep(raw)}, Commands: []capsule.Message{},
	}}
	body, err := capsule.Write(c)
	if err != nil {
		t.Fatal(err)
	}
	read, err := capsule.Read(body)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []events.Message{text, raw} {
		if got := read.Recorded.Log[i].Message(); !bytes.Equal(got.Body, want.Body) || got.Subject != want.Subject || got.Header.Get("Nats-Msg-Id") != want.Header.Get("Nats-Msg-Id") {
			t.Errorf("message %d is read as %+v, and was %+v", i, got, want)
		}
	}
	if again, err := capsule.Write(read); err != nil || !bytes.Equal(again, body) {
		t.Errorf("what was read is written as %s, %v", again, err)
	}
}

func TestWhatIsNoCapsuleIsRefused(t *testing.T) {
	for body, why := range map[string]string{
		``:                             "not a capsule",
		`[]`:                           "not a capsule",
		`{"capsule":2}`:                "its format is 2, and 1 is known",
		`{"seed":17}`:                  "its format is 0, and 1 is known",
		`{"capsule":1}`:                "either a simulated run or a recorded log",
		`{"capsule":1,"more":1}`:       `unknown object member name "more"`,
		`{"capsule":1,"simulated":{}}`: "its run has no plan",
		`{"capsule":1,"recorded":{}}`:  "its log has 0 messages",
		`{"capsule":1,"recorded":{"from":1,"to":9,"log":[{"sequence":1}]}}`: "it is of sequence 1 to 9, and its log has 1 messages",
	} {
		if _, err := capsule.Read([]byte(body)); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v, want %s", body, err, why)
		}
	}
}

// TestAHostileCapsuleIsChecked checks capsules with wrong sequences and unreadable bodies: Check reports them and does nothing
// more.
func TestAHostileCapsuleIsChecked(t *testing.T) {
	for _, m := range []capsule.Message{
		{Sequence: 1}, {Sequence: 7, Subject: "rookery.log.round"}, {Sequence: 1, Subject: "rookery.log.round", Body: "{}"},
	} {
		if found := capsule.Check(capsule.Recorded{From: 1, To: 1, Log: []capsule.Message{m}}); found.Differs == nil {
			t.Errorf("%+v is found to be %+v", m, found)
		}
	}
}
