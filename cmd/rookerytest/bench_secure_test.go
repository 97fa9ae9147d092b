package rookerytest_test

import (
	"flag"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	coordinatorrunner "github.com/rookery-project/rookery/coordinator/runner"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
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

// BenchmarkSignatures measures decisions that are committed to a log whose rounds are signed, and a fold of it as stored, beside the same without
// signatures: in the large rounds of a fleet, and in rounds of one command each.
func BenchmarkSignatures(b *testing.B) {
	for name, shape := range map[string]struct{ services, scale int }{"Fleet": {10, 5000}, "Commands": {2000, 1}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				const times = 3
				var signed, unsigned, folds, bareFolds []time.Duration
				var count int
				for range times { // in turns: the machine may be busier in one of them
					decided, folded, ended := decidesAndFolds(b, shape.services, shape.scale, events.SignerOf([32]byte{1}))
					signed, folds, count = append(signed, decided), append(folds, folded), ended
					decided, folded, _ = decidesAndFolds(b, shape.services, shape.scale, nil)
					unsigned, bareFolds = append(unsigned, decided), append(bareFolds, folded)
				}
				rates(b, "placements", shape.services*shape.scale, middle(signed), middle(unsigned))
				rates(b, "folded-events", count, middle(folds), middle(bareFolds))
			}
		})
	}
}

// decidesAndFolds places instances in a log of its own. It returns how long that and the fold of the whole log took, and how long the log is.
func decidesAndFolds(b *testing.B, services, scale int, signer *events.Signer) (decided, folded time.Duration, count int) {
	b.Helper()
	const nodes = 100
	h := newHouse(b, false)
	defer h.close()
	client := h.connect()
	d := newDecider(nodes)
	d.signer = signer
	d.append = func(round coordinatorrunner.Round) {
		if _, err := client.Append(b.Context(), bus.Log, d.cluster.Sequence, round.Messages); err != nil {
			b.Fatal(err)
		}
	}
	d.found(b)
	began := time.Now()
	for i := range services {
		d.place(b, serviceName(i), scale)
	}
	decided = time.Since(began)
	fold := projections.NewFold()
	fold.Stored = true
	folded = read(b, client, d.cluster.Sequence, func(m events.Message) {
		if _, err := fold.Take(m); err != nil {
			b.Fatal(err)
		}
	})
	if err := fold.Verify(); err != nil {
		b.Fatal(err)
	}
	if fold.Cluster.Chain != d.cluster.Chain || fold.Cluster.Key != signer.Key() {
		b.Fatal("the fold is another state than the one that was decided")
	}
	return decided, folded, int(fold.Last())
}
