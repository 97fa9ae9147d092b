package events

import (
	"errors"
	"reflect"
	"testing"
)

// TestACommandThatWaitsComesBackAsItWas holds the event of a queued command to give that command again.
func TestACommandThatWaitsComesBackAsItWas(t *testing.T) {
	for _, command := range []ServiceCommand{
		ServiceEnsure{Spec: Spec{Image: "i"}},
		ServiceScale{Scale: new(int64(2))},
		ServiceRestart{Guard{SeenAt: SeenAt{IfSeq: 3}}},
		ServiceSnapshot{Guard{SeenAt: SeenAt{IfSeq: 4}}},
		ServiceSuspend{Guard: Guard{SeenAt: SeenAt{IfSeq: 5}}},
		ServiceResume{Guard: Guard{SeenAt: SeenAt{IfSeq: 6}}},
		ServiceRollback{Guard: Guard{SeenAt: SeenAt{IfSeq: 7}}},
		ServiceDrop{Guard{SeenAt: SeenAt{IfSeq: 8}}},
	} {
		q, err := Queued(9, 8, command)
		if err != nil {
			t.Fatal(err)
		}
		back, err := q.Command()
		if err != nil || q.Sequence != 9 || q.Behind != 8 || !reflect.DeepEqual(back, Command(command)) {
			t.Errorf("%T comes back as %+v behind %d, and with %v", command, back, q.Behind, err)
		}
	}
}

// TestWhatWaitsIsOfACommandThatIsKnown holds an event to be refused that asks for what this version cannot carry out.
func TestWhatWaitsIsOfACommandThatIsKnown(t *testing.T) {
	v2 := CommandQueued{}.Kind().String()
	for _, body := range []string{
		`{"sequence":9,"behind":8,"verb":"hop","body":{}}`, `{"sequence":9,"behind":8,"verb":"scale","body":{"size":1}}`,
		`{"sequence":9,"behind":8,"verb":"drop","body":null}`,
	} {
		if data, err := standard.decode(v2, []byte(body)); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s reads as %+v, with %v", body, data, err)
		}
	}
}

// TestACommandThatWaitedInVersion1IsRead holds bodies of version 1, which have a field for each verb, to read as those of version 2.
func TestACommandThatWaitedInVersion1IsRead(t *testing.T) {
	v1 := Kind{"command", 1, "queued"}.String()
	for body, want := range map[string]Command{
		`{"sequence":9,"behind":8,"scale":{"scale":2,"busy":"queue"}}`: ServiceScale{Scale: new(int64(2)), Guard: Guard{Busy: BusyQueue}},
		`{"sequence":9,"behind":8,"drop":{}}`:                          ServiceDrop{},
	} {
		data, err := standard.decode(v1, []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		q := data.(CommandQueued)
		command, err := q.Command()
		if err != nil || q.Sequence != 9 || q.Behind != 8 || !reflect.DeepEqual(command, want) {
			t.Errorf("%s reads as %+v, which asks for %+v, with %v", body, q, command, err)
		}
	}
	for _, body := range []string{`{"sequence":9,"behind":8}`, `{"sequence":9,"behind":8,"drop":{},"restart":{}}`, `{"sequence":9,"behind":8,"drop":null}`, `{"sequence":"9"}`} {
		if data, err := standard.decode(v1, []byte(body)); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s reads as %+v, with %v", body, data, err)
		}
	}
}
