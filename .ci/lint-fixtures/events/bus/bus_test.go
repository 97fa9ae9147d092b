package bus_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

func TestBus(t *testing.T) {
	t.Log(jetstream.Name, http.MethodGet, time.Now())
	time.Sleep(0)    // want: forbidigo "do not sleep"
	t.Skip("later")  // want: forbidigo "not skipped"
	t.Skipf("%d", 1) // want: forbidigo "not skipped"
	t.SkipNow()      // want: forbidigo "not skipped"
}

func BenchmarkBus(b *testing.B) {
	b.Skip("later") // want: forbidigo "not skipped"
}

func FuzzBus(f *testing.F) {
	f.Skip("later") // want: forbidigo "not skipped"
}

func ExampleName() {
	time.Sleep(0) // want: forbidigo "do not sleep"
	// Output:
}

func helper(tb testing.TB) {
	tb.Helper()
	tb.Skip("later") // want: forbidigo "not skipped"
}

func TestHelper(t *testing.T) {
	helper(t)
}
