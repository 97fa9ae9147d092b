package rookerytest_test

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/rookery-project/rookery/cmd/rookerytest"
	"github.com/rookery-project/rookery/events"
)

// TestTwoCoordinators stops and resumes two coordinator processes in turn, longer than a lease lasts, under a steady load of commands.
// There is one log, every command has one end, and no older order overwrites a newer one.
func TestTwoCoordinators(t *testing.T) {
	t.Parallel()
	length := time.Minute
	if testing.Short() {
		length = 10 * time.Second
	}
	random := seed(t)
	cluster := startCluster(t, rookerytest.WithoutCoordinator())
	pair := []*process{startCoordinator(t, cluster), startCoordinator(t, cluster)}
	orders := watchOrders(t, cluster)
	const services = 5
	var commands []uint64
	for i := range services {
		s := cluster.Publish(fmt.Sprintf("demo/s%d", i), "ensure", `{"image":"localhost/web:1","scale":2}`)
		cluster.Outcome(s)
		commands = append(commands, s)
	}
	end := time.After(length)
	publish := time.NewTicker(100 * time.Millisecond)
	defer publish.Stop()
	const frozen = 3 * time.Second // longer than a lease lasts
	change := time.NewTimer(frozen)
	defer change.Stop()
	for turn := 0; ; {
		select {
		case <-publish.C:
			service := fmt.Sprintf("demo/s%d", random.IntN(services))
			commands = append(commands, cluster.Publish(service, "scale", scaleBody(random.IntN(8))))
			continue
		case <-change.C:
			// One is stopped, then resumed while its successor leads, and both run for a while before the other's turn.
			if turn%2 == 0 {
				pair[turn/2%2].signal(syscall.SIGSTOP)
				change.Reset(frozen)
			} else {
				pair[turn/2%2].signal(syscall.SIGCONT)
				change.Reset(time.Duration(random.IntN(2000)) * time.Millisecond)
			}
			turn++
			continue
		case <-end:
		}
		break
	}
	for _, p := range pair {
		p.signal(syscall.SIGCONT)
	}
	for _, s := range commands {
		cluster.Outcome(s)
	}
	h := readHistory(t, cluster)
	h.checkCommands(t, commands)
	checkActual(t, cluster, h.cluster)
	cluster.CheckReplay()
	if least := uint64(length / (10 * time.Second)); h.cluster.Epoch < least+1 {
		t.Errorf("the lead changed hands %d times, want %d at least", h.cluster.Epoch-1, least)
	}
	orders()
	t.Logf("%d commands, %d rounds, %d terms", len(commands), h.cluster.Round, h.cluster.Epoch)
}

// watchOrders listens to every order, and returns what fails the test where one was overwritten by an older one.
func watchOrders(t testing.TB, cluster *rookerytest.Cluster) (check func()) {
	t.Helper()
	seen, err := cluster.Bus().Subscribe(events.OrderRoot + ".>")
	if err != nil {
		t.Fatal(err)
	}
	decided := map[string]uint64{}
	count := 0
	ended := make(chan struct{})
	stop := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-stop:
				return
			case m := <-seen.Messages():
				_, _, order, err := events.ParseOrder(m)
				if err != nil || order.Action == events.ActionForget {
					continue
				}
				count++
				if order.Decided < decided[m.Subject] {
					t.Errorf("%s: an order decided at %d was followed by one decided at %d", m.Subject, decided[m.Subject], order.Decided)
				}
				decided[m.Subject] = order.Decided
			}
		}
	}()
	return func() {
		seen.Stop()
		close(stop)
		<-ended
		if count == 0 {
			t.Error("no order was seen")
		}
	}
}
