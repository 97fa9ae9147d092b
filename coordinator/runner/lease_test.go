package runner

import (
	"errors"
	"testing"
	"time"

	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/events/bus/memory"
)

// TestALostLeaseIsLeftToItsOwner has a lease run out, and another coordinator take it: who had it finds that out, and takes nothing away.
func TestALostLeaseIsLeftToItsOwner(t *testing.T) {
	b := memory.New(time.Now)
	bucket, err := b.Bucket(t.Context(), bus.BucketLease)
	if err != nil {
		t.Fatal(err)
	}
	claimed := func(name string) *lease {
		t.Helper()
		l, _, err := New(Config{Bus: b, Name: name}).claim(t.Context())
		if err != nil || l == nil {
			t.Fatalf("%s has no lease: %v", name, err)
		}
		return l
	}
	first := claimed("first")
	if err := bucket.Delete(t.Context(), leaseKey, first.revision); err != nil {
		t.Fatal(err)
	}
	second := claimed("second")
	if _, err := first.beat(0); first.renew(t.Context()) || err != nil {
		t.Errorf("the first keeps what it has not: %v", err)
	}
	if _, err := first.beat(0); !errors.Is(err, errLost) {
		t.Error("the first does not know that it has lost the lease")
	}
	first.release(t.Context())
	if has, err := bucket.Get(t.Context(), leaseKey); err != nil || holderOf(has.Value).Leader != "second" {
		t.Errorf("once the first has let go, %q has the lease, %v", has.Value, err)
	}
	if !second.renew(t.Context()) {
		t.Error("the second does not keep the lease")
	}
}
