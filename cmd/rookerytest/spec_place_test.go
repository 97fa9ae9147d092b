package rookerytest_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/rookery-project/rookery/events"
)

// placeRows are the fields that say where an instance may run, and what of its node it may have. The node is in zone
// attic, has the label disk=ssd, keeps all but 3 GiB of memory back, and has
// defaults of 5m CPU and 16 MiB.
func placeRows(t *testing.T) []specRow {
	t.Helper()
	port := freePorts(t)
	return []specRow{
		{"resources", `"resources":{"memory":"96MiB","cpu":"250m"}`, func(s *seen) {
			s.want("the limit of memory and swap", s.inspect("{{.HostConfig.Memory}} {{.HostConfig.MemorySwap}}"), "100663296 100663296")
			s.want("the CPU's quota", s.inspect("{{.HostConfig.CpuQuota}} of {{.HostConfig.CpuPeriod}}"), "25000 of 100000")
		}},
		{"no resources", `"env":{}`, func(s *seen) {
			s.want("what is set aside", fmt.Sprint(event[events.InstancePlaced](s).Reserved), "{5m 16MiB 0B}")
		}},
		{"half of the resources", `"requests":{"memory":"24MiB"}`, func(s *seen) {
			s.want("what is set aside", fmt.Sprint(event[events.InstancePlaced](s).Reserved), "{5m 24MiB 0B}")
		}},
		{"requests beyond the node", `"requests":{"memory":"4GiB"}`, func(s *seen) {
			s.waits(`"removed":{"memory":1}`, `"closest":{"node":"edge","lacks":{"memory":"`)
		}},
		{"node_selector", `"node_selector":{"disk":"ssd"}`, func(s *seen) { s.online() }},
		{"node_selector of none", `"node_selector":{"disk":"tape"}`, func(s *seen) { s.waits(`"removed":{"node_selector":1}`) }},
		{"zones", `"zones":["attic","cellar"]`, func(s *seen) { s.online() }},
		{"zones of none", `"zones":["cellar"]`, func(s *seen) { s.waits(`"removed":{"zone":1}`) }},
		{"max_per_node", `"scale":2,"max_per_node":1`, func(s *seen) { s.waits(`"ordinal":1`, `"removed":{"max_per_node":1}`) }},
		{"anti_affinity", `"scale":2,"labels":{"app":"x"},"anti_affinity":[{"label":"app","operator":"equal","values":["x"]}]`, func(s *seen) {
			s.waits(`"ordinal":1`, `"removed":{"anti_affinity":1}`)
		}},
		{"mode", `"mode":"global"`, func(s *seen) { s.online() }},
		{"mode on no node", `"mode":"global","node_selector":{"disk":"tape"}`, func(s *seen) {
			event[events.CommandSucceeded](s)
		}},
		{"host_port", fmt.Sprintf(`"ports":[{"name":"http","port":8080,"host_port":%d}]`, port), func(s *seen) {
			s.want("the published port", s.podman("port", s.online().Handle), fmt.Sprintf("8080/tcp -> 127.0.0.1:%d", port))
		}},
		{
			"host_port of both protocols",
			fmt.Sprintf(`"ports":[{"name":"a","port":53,"host_port":%d},{"name":"b","port":53,"protocol":"udp","host_port":%d}]`, port, port),
			func(s *seen) {
				published := s.podman("port", s.online().Handle)
				s.wantIn("what is published", published, fmt.Sprintf("53/tcp -> 127.0.0.1:%d", port))
				s.wantIn("what is published", published, fmt.Sprintf("53/udp -> 127.0.0.1:%d", port))
			},
		},
		{"host_port that the node does not allow", `"ports":[{"name":"http","port":8080,"host_port":80}]`, func(s *seen) {
			s.waits(`"removed":{"allow_host_port":1}`)
		}},
	}
}

// reserved is what of this machine's memory a node keeps back that gives instances 3 GiB.
func reserved(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		t.Fatal(err)
	}
	var kib uint64
	if _, err := fmt.Sscanf(string(text), "MemTotal: %d kB", &kib); err != nil {
		t.Fatalf("%v: %.40q", err, text)
	}
	return fmt.Sprintf("%dKiB", kib-3<<20)
}

// waits waits until the service's next instance is told to wait, with these words.
func (s *seen) waits(words ...string) {
	s.Helper()
	pending := event[events.InstancePending](s)
	m, err := events.Record{Event: events.Event{Scope: events.ClusterScope, Data: pending}}.Message("log")
	if err != nil {
		s.Fatal(err)
	}
	for _, part := range words {
		if !strings.Contains(string(m.Body), part) {
			s.Errorf("it waits because of %s; want %s", m.Body, part)
		}
	}
}
