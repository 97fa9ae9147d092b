package rookerytest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/rookery-project/rookery/cmd/rookerytest"
	"github.com/rookery-project/rookery/events/bus"
)

// TestDoctorTakesARefusalForAProblem answers for a coordinator that cannot.
func TestDoctorTakesARefusalForAProblem(t *testing.T) {
	t.Parallel()
	cluster := rookerytest.Start(t, rookerytest.WithoutCoordinator())
	conn, err := nats.Connect(cluster.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Subscribe("rookery.api.state", func(m *nats.Msg) {
		answer := nats.NewMsg(m.Reply)
		answer.Header.Set(bus.HeaderErrorCode, "503")
		answer.Header.Set(bus.HeaderError, "the coordinator is folding the log: ask again")
		if err := m.RespondMsg(answer); err != nil {
			t.Error(err)
		}
	}); err != nil {
		t.Fatal(err)
	}
	if err := conn.Flush(); err != nil {
		t.Fatal(err)
	}
	out, code := rookery(t, "doctor", "--server", cluster.URL)
	if code != 1 || !strings.Contains(out, "PROBLEM  coordinator  the coordinator answered 503: the coordinator is folding the log") {
		t.Errorf("exit %d:\n%s", code, out)
	}
}

// TestVersionsOfServersAreShown looks at a real server, which is not older than the oldest that is supported.
func TestVersionsOfServersAreShown(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t, rookerytest.WithNodes(0))
	out, code := rookery(t, "bus", "check", "--server", cluster.URL)
	lines := strings.Split(out, "\n")
	i := slices.IndexFunc(lines, func(line string) bool { return strings.HasSuffix(line, "VERSION  OLDEST SUPPORTED") })
	if code != 0 || i < 0 || !slices.Equal(strings.Fields(lines[i+1])[1:], []string{server.VERSION, bus.OldestServer}) {
		t.Errorf("exit %d:\n%s", code, out)
	}
	out, _ = rookery(t, "doctor", "--server", cluster.URL) // it may find no Podman
	if !strings.Contains(out, " runs "+server.VERSION+"; the oldest supported is "+bus.OldestServer) {
		t.Errorf("%s", out)
	}
}
