package rookerytest_test

import (
	"flag"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// connected is how many users are connected while some of them are removed.
var connected = flag.Int("users", 150, "connect so many users, of which BenchmarkRevocation removes 100")

// BenchmarkRevocation removes one of many connected users after the other with `rookery user rm`, and measures from its start until the server has closed
// the connection of that user. All others stay connected.
func BenchmarkRevocation(b *testing.B) {
	const removed = 100
	users := max(*connected, removed)
	for b.Loop() {
		s := secureServer(b)
		closed, lost := make([]chan time.Time, users), make(chan string, 2*users)
		for i := range users {
			name := fmt.Sprintf("user-%d", i)
			s.does("user", "add", name, "--role", "viewer", "--namespace", "demo")
			conn := s.connect(name)
			closed[i] = make(chan time.Time, 1)
			conn.SetDisconnectErrHandler(func(*nats.Conn, error) {
				closed[i] <- time.Now()
				lost <- name
			})
		}
		var took []time.Duration
		for i := range removed {
			began := time.Now()
			s.does("user", "rm", fmt.Sprintf("user-%d", i))
			select {
			case at := <-closed[i]:
				took = append(took, at.Sub(began))
			case <-time.After(settlesWithin):
				b.Fatalf("the connection of user-%d stays open", i)
			}
		}
		if len(lost) != removed {
			b.Errorf("%d connections were closed, want %d", len(lost), removed)
		}
		slices.Sort(took)
		b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "revocation-p50-ms")
		b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "revocation-p99-ms")
	}
}
