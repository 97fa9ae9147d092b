package events

import (
	"reflect"
	"testing"
)

// TestACommandThatWaitsComesBackAsItWas holds the event of a queued command to give that command again.
func TestACommandThatWaitsComesBackAsItWas(t *testing.T) {
	for _, command := range []Command{
		ServiceEnsure{Spec: Spec{Image: "i"}},
		ServiceScale{Scale: new(int64(2))},
		ServiceRestart{Guard{SeenAt: SeenAt{IfSeq: 3}}},
		ServiceSnapshot{Guard{SeenAt: SeenAt{IfSeq: 4}}},
		ServiceSuspend{Guard: Guard{SeenAt: SeenAt{IfSeq: 5}}},
		ServiceResume{Guard: Guard{SeenAt: SeenAt{IfSeq: 6}}},
		ServiceRollback{Guard: Guard{SeenAt: SeenAt{IfSeq: 7}}},
		ServiceDrop{Guard{SeenAt: SeenAt{IfSeq: 8}}},
	} {
		q, can := QueuedOf(9, 8, command)
		if !can || q.Sequence != 9 || q.Behind != 8 || !reflect.DeepEqual(q.Command(), command) {
			t.Errorf("%T can wait: %t, and comes back as %+v behind %d", command, can, q.Command(), q.Behind)
		}
	}
	for _, command := range []Command{ServicePromote{}, ServiceCancel{}} {
		if _, can := QueuedOf(9, 8, command); can {
			t.Errorf("%T waits, and is about what goes on now", command)
		}
	}
}
