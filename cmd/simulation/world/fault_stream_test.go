package world

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestTheLogIsDamagedOnceTheAppendsHaveArrived cuts the link of a process that has ended, which holds its appends, and repairs it later.
func TestTheLogIsDamagedOnceTheAppendsHaveArrived(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, ended := &World{}, &part{client: &client{link: &link{cut: true}}}
		arrived := false
		w.arrived([]*part{ended}, func() { arrived = true })
		pass := func() {
			<-time.After(time.Minute) // in simulated time
			if h := w.schedule.due(time.Now()); h != nil {
				h.do()
			}
		}
		if pass(); arrived {
			t.Error("the appends that the cut link holds have not arrived")
		}
		ended.client.link.cut = false
		if pass(); !arrived {
			t.Error("the link stands, and nothing goes on")
		}
	})
}
