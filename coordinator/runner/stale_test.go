package runner_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/events/bus/memory"
)

// TestAStandbyThatLagsSaysSo asks a standby for the state. The lease tells it what the leader has: first that much, then more.
func TestAStandbyThatLagsSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memory.New(time.Now)
		leases, err := b.Bucket(t.Context(), bus.BucketLease)
		if err != nil {
			t.Fatal(err)
		}
		leads := func(value string, lasts time.Duration) {
			t.Helper()
			for began := time.Now(); time.Since(began) < lasts; <-time.After(bus.LeaseAge / 4) {
				if err := leases.Set(t.Context(), "leader", []byte(value)); err != nil {
					t.Fatal(err)
				}
			}
		}
		leads(`{"leader":"first","sequence":0}`, bus.LeaseAge/4)
		defer start(t, b, "second")()
		for _, test := range []struct{ lease, stale string }{
			{`{"leader":"first","sequence":0}`, ""},
			{`{"leader":"first","sequence":7}`, "for 20s the coordinator has not heard that this is the newest state: later decisions may be missing"},
			{`{"leader":"first","sequence":0}`, ""},
			{`first`, ""},
		} {
			leads(test.lease, 20*time.Second)
			answer, err := b.Request(t.Context(), events.Message{Subject: events.APIRoot + ".state", Header: events.Header{}, Body: []byte(`{"live":true}`)})
			age, bad := time.ParseDuration(answer.Header.Get(bus.HeaderAge))
			if err != nil || bad != nil || answer.Header.Get(bus.HeaderSequence) != "0" || (age > 5*time.Second) != (test.stale != "") ||
				answer.Header.Get(bus.HeaderStale) != test.stale {
				t.Errorf("with the lease %s the answer is %s with the headers %v, %v", test.lease, answer.Body, answer.Header, err)
			}
		}
	})
}
