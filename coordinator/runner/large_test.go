package runner_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rookery-project/rookery/coordinator/runner"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/events/bus/memory"
)

// tight is a bus whose log takes some rounds alone.
type tight struct {
	bus.Bus
	takes func(round []events.Message) bool
}

func (b tight) Append(ctx context.Context, stream bus.Stream, after uint64, batch []events.Message) (uint64, error) {
	if stream == bus.Log && !b.takes(batch) {
		return 0, fmt.Errorf("append %d messages: %w", len(batch), bus.ErrTooLarge)
	}
	return b.Bus.Append(ctx, stream, after, batch)
}

// TestARoundThatIsTooLargeShunsTheUnitToBlameAlone has the server refuse rounds for their size: of one that is large because there are many
// units none is blamed, and else that whose events are too large. All others go on, in one term.
func TestARoundThatIsTooLargeShunsTheUnitToBlameAlone(t *testing.T) {
	const services = 8
	names := func(round []events.Message, event string) map[string]bool {
		found := map[string]bool{}
		for _, m := range round {
			if parts := strings.Split(m.Subject, "."); len(parts) > 4 && parts[2] == "service" && strings.HasSuffix(m.Subject, event) {
				found[parts[4]] = true
			}
		}
		return found
	}
	for _, row := range []struct {
		name  string
		takes func([]events.Message) bool
		// shunned is what an event says, ended how the command to each service ends, but those of others as succeeded.
		shunned string
		ended   map[string]string
	}{
		{"many units", func(round []events.Message) bool { return len(names(round, "")) <= 3 }, "", nil},
		{"a command", func(round []events.Message) bool { return !names(round, ".scaled")["s5"] }, "", map[string]string{"s5": "rejected"}},
		{
			"the reconciling of a service", func(round []events.Message) bool { return !names(round, ".placed")["s5"] },
			"service.demo.s5.unit.shunned",
			map[string]string{"s5": "failed"},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := memory.New(time.Now)
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				c := runner.New(runner.Config{Bus: tight{b, row.takes}, Name: "first", Log: slog.New(slog.DiscardHandler)})
				go func() { ended <- c.Run(ctx) }()
				defer func() {
					cancel()
					if err := <-ended; err != nil {
						t.Error(err)
					}
				}()
				hello(t, b)
				<-time.After(runner.DefaultHeartbeat) // in the test's own time: it is heard, and takes what it is told
				for i := range services {
					id := events.ServiceID{Namespace: "demo", Name: fmt.Sprintf("s%d", i)}
					m := events.Message{Subject: events.CommandSubject(id, "ensure"), Header: events.Header{}, Body: []byte(`{"image":"localhost/web:1"}`)}
					if _, err := b.Publish(t.Context(), m); err != nil {
						t.Fatal(err)
					}
				}
				synctest.Wait()
				<-time.After(time.Minute)
				found, shunned, epochs := logged(t, b)
				want := map[string]string{}
				for i := range services {
					want[fmt.Sprintf("s%d", i)] = "placed"
				}
				maps.Copy(want, row.ended)
				if !maps.Equal(found, want) {
					t.Errorf("the services are %v, want %v", found, want)
				}
				if strings.Join(shunned, " ") != row.shunned {
					t.Errorf("what is shunned is %v, want %q", shunned, row.shunned)
				}
				if !slices.Equal(epochs, []uint64{1}) {
					t.Errorf("it led in the epochs %v", epochs)
				}
			})
		})
	}
}

// logged returns from the log how far each service has come, what is shunned, and the epochs.
func logged(t *testing.T, b bus.Bus) (services map[string]string, shunned []string, epochs []uint64) {
	t.Helper()
	services = map[string]string{}
	all, err := b.Matching(t.Context(), bus.Log, events.LogRoot+".>", 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		r, err := events.ParseRecord(m)
		if err != nil {
			t.Fatal(err)
		}
		id, _ := r.Scope.Service()
		switch d := r.Data.(type) {
		case events.InstancePlaced:
			services[id.Name] = "placed"
		case events.CommandRejected:
			services[id.Name] = "rejected"
		case events.CommandFailed:
			if d.Reason == events.ReasonInternal {
				services[id.Name] = "failed"
			}
		case events.UnitShunned:
			shunned = append(shunned, strings.TrimPrefix(m.Subject, events.LogRoot+"."))
		case events.RoundClosed:
			epochs = append(epochs, d.Epoch)
		}
	}
	return services, shunned, slices.Compact(epochs)
}
