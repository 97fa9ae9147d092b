package check_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestNothingIsSaidWhereNobodyTells asks a Prometheus that has no series: a 0 in green would say that all is well.
func TestNothingIsSaidWhereNobodyTells(t *testing.T) {
	// These are 0 then because that is the fault, or because Prometheus itself knows.
	known := []string{
		"fleet.json, Alerts firing, A", "fleet.json, Alerts, A", "fleet.json, Leaders, A",
		"coordinator.json, Leaders, A", "coordinator.json, Standbys, A", "rules.yaml, RookeryNoLeader",
	}
	for _, q := range queries(t) {
		if said := (past{}).ask(t, q.Expr, time.Hour); (len(said) > 0) != slices.Contains(known, q.Where) {
			t.Errorf("%s says %v although no process reports anything\n%s", q.Where, said, q.Expr)
		}
	}
}

// ledBy is what a leader reports for some minutes: a cluster with nodes, and a service with one slot that does not serve.
func ledBy(instance string) past {
	const service = `rookery_namespace="demo",rookery_service="web"`
	const operation = service + `,rookery_operation="update",rookery_phase="start"`
	var all past
	for _, level := range []struct {
		name, labels string
		value        int
	}{
		{"rookery_coordinator_role", `rookery_role="leader"`, 1},
		{"rookery_coordinator_lag", `rookery_stream="ROOKERY_STATUS"`, 5},
		{"rookery_commands_open", "", 2},
		{"rookery_nodes_answering", "", 2},
		{"rookery_nodes", `rookery_state="ready"`, 2},
		{"rookery_nodes", `rookery_state="silent"`, 1},
		{"rookery_nodes", `rookery_state="degraded"`, 1},
		{"rookery_node_state", `rookery_node="b",rookery_state="silent"`, 1},
		{"rookery_node_state", `rookery_node="c",rookery_state="degraded"`, 1},
		{"rookery_pending", `rookery_reason="cpu"`, 1},
		{"rookery_service_desired", service, 3},
		{"rookery_service_online", service, 2},
		{"rookery_service_pending", service, 1},
		{"rookery_service_pending_duration_seconds", service, 60},
		{"rookery_operation_awaited", operation + `,rookery_ordinal="1",rookery_node="a"`, 1},
		{"rookery_operation_phase_duration_seconds", operation, 9},
		{"rookery_operation_overdue_seconds", operation, 3},
		{"rookery_node_allocatable_cpu", `rookery_node="a"`, 8},
		{"rookery_node_reserved_cpu", `rookery_node="a"`, 2},
	} {
		named := []string{fmt.Sprintf("instance=%q", instance)}
		if level.labels != "" {
			named = append(named, level.labels)
		}
		all = append(all, fmt.Sprintf("%s{%s} %dx10", level.name, strings.Join(named, ","), level.value))
	}
	return all
}

// TestTwoThatTellTheSameCountOnce runs queries while Prometheus has the series of two leaders. That is so after a failover, because the
// last values of the old leader count for five minutes.
func TestTwoThatTellTheSameCountOnce(t *testing.T) {
	one, both := ledBy("one"), append(ledBy("one"), ledBy("two")...)
	differ := []string{"coordinator.json, Leaders, A", "fleet.json, Leaders, A", "coordinator.json, Role, A"}
	answered := 0
	for _, q := range queries(t) {
		want, got := one.ask(t, q.Expr, time.Minute), both.ask(t, q.Expr, time.Minute)
		if len(want) > 0 {
			answered++
		}
		if !got.is(want) && !slices.Contains(differ, q.Where) && !strings.Contains(q.Where, ", annotation") && !strings.Contains(q.Where, ", variable") {
			t.Errorf("%s says %v of one, and %v of both\n%s", q.Where, want, got, q.Expr)
		}
	}
	if answered < 30 {
		t.Errorf("%d queries were answered: the test proves little", answered)
	}
}

// TestAlertsTellFaultsFromWhatIsWell evaluates rules an hour after the beginning of a past. It does not check how long the condition must
// last.
func TestAlertsTellFaultsFromWhatIsWell(t *testing.T) {
	const (
		role  = `rookery_coordinator_role{rookery_role="leader",instance="%s"} %s`
		open  = `rookery_commands_open{instance="%s"} %s`
		terms = `rookery_coordinator_terms_total{instance="%s"} %s`
	)
	one := func(series, values string) string { return fmt.Sprintf(series, "one", values) }
	two := func(series, values string) string { return fmt.Sprintf(series, "two", values) }
	for _, row := range []struct {
		rule, name string
		past       past
		fires      bool
	}{
		{"RookeryNoLeader", "one leads", past{one(role, "1x240"), one(open, "0x240"), one(terms, "1x240")}, false},
		{"RookeryNoLeader", "one leads, and another stands by", past{one(role, "1x240"), one(open, "0x240"), two(role, "0x240")}, false},
		{"RookeryNoLeader", "another has just taken over", past{
			one(role, "1x236 stale"), one(open, "0x236 stale"), one(terms, "1x236 stale"), two(role, "0x237 1x1"), two(open, "_x237 0x1"), two(terms, "_x237 1x1"),
		}, false},
		{"RookeryNoLeader", "all stand by", past{one(role, "0x240"), two(role, "0x240")}, true},
		{"RookeryNoLeader", "no target answers", past{one(role, "1x230 stale"), one(open, "0x230 stale")}, true},
		{"RookeryNoLeader", "the leader hangs", past{one(role, "1x240"), one(open, "0x230 stale")}, true},
		{"RookeryNoQuorum", "there is one", past{`rookery_bus_quorum{instance="one"} 1x240`, `rookery_bus_quorum{instance="two"} 1x240`}, false},
		{"RookeryNoQuorum", "one server is cut off", past{`rookery_bus_quorum{instance="one"} 0x240`, `rookery_bus_quorum{instance="two"} 1x240`}, false},
		{"RookeryNoQuorum", "all coordinators say so", past{`rookery_bus_quorum{instance="one"} 0x240`, `rookery_bus_quorum{instance="two"} 0x240`}, true},
		{"RookeryBackupOld", "one was just taken, and one is due", past{
			`rookery_backup_age_seconds{instance="one"} 1x240`, `rookery_backup_interval_seconds{instance="one"} 3600x240`,
			`rookery_backup_age_seconds{instance="two"} 3700x240`, `rookery_backup_interval_seconds{instance="two"} 3600x240`,
		}, false},
		{"RookeryBackupOld", "one is missing", past{
			`rookery_backup_age_seconds{instance="one"} 1x240`, `rookery_backup_interval_seconds{instance="one"} 3600x240`,
			`rookery_backup_age_seconds{instance="two"} 7300x240`, `rookery_backup_interval_seconds{instance="two"} 3600x240`,
		}, true},
		{"RookeryBackupOld", "the coordinator that took them is gone", past{
			`rookery_backup_age_seconds{instance="one"} 1x200 stale`, `rookery_backup_interval_seconds{instance="one"} 3600x200 stale`,
		}, true},
		{"RookeryBackupOld", "one of two that took them is gone", past{
			`rookery_backup_age_seconds{instance="one"} 1x200 stale`, `rookery_backup_interval_seconds{instance="one"} 3600x200 stale`,
			`rookery_backup_age_seconds{instance="two"} 1x240`, `rookery_backup_interval_seconds{instance="two"} 3600x240`,
		}, false},
		{"RookeryNodeSilent", "one is drained, one away, one degraded", past{
			`rookery_node_state{rookery_node="a",rookery_state="draining"} 1x240`, `rookery_node_state{rookery_node="b",rookery_state="away"} 1x240`,
			`rookery_node_state{rookery_node="c",rookery_state="degraded"} 1x240`,
		}, false},
		{"RookeryNodeSilent", "one is lost", past{`rookery_node_state{rookery_node="b",rookery_state="lost"} 1x240`}, true},
		{"RookeryNodeSilent", "one was silent, and is back", past{
			`rookery_node_state{rookery_node="b",rookery_state="silent"} 1x230 stale`, `rookery_node_state{rookery_node="b",rookery_state="ready"} _x231 1x8`,
		}, false},
		{"RookeryNodeDegraded", "one is", past{`rookery_node_state{rookery_node="c",rookery_state="degraded"} 1x240`}, true},
		{"RookeryStreamNearBound", "there is room, and no bound of the account", past{
			`rookery_stream_size_bytes{rookery_stream="ROOKERY_COMMANDS"} 10x240`, `rookery_stream_limit_bytes{rookery_stream="ROOKERY_COMMANDS"} 100x240`,
			`rookery_stream_size_bytes{rookery_stream="ROOKERY_METRICS"} 99x240`, `rookery_stream_limit_bytes{rookery_stream="ROOKERY_METRICS"} 100x240`,
			`rookery_stream_size_bytes{rookery_stream="ROOKERY_LOG"} 1000x240`, `rookery_storage_used_bytes 1010x240`,
		}, false},
		{"RookeryStreamNearBound", "a stream is nearly full", past{
			`rookery_stream_size_bytes{rookery_stream="ROOKERY_COMMANDS"} 90x240`, `rookery_stream_limit_bytes{rookery_stream="ROOKERY_COMMANDS"} 100x240`,
		}, true},
		{"RookeryStreamNearBound", "the account is", past{
			`rookery_stream_size_bytes{rookery_stream="ROOKERY_LOG"} 1000x240`, `rookery_storage_used_bytes 1010x240`, `rookery_storage_limit_bytes 1100x240`,
		}, true},
		{"RookeryNoLeader", "it leads again and again", past{one(role, "1x240"), one(open, "0x240"), one(terms, "1x220 2+2x20")}, true},
	} {
		for _, r := range rules(t) {
			if r.Alert != row.rule {
				continue
			}
			if said := row.past.ask(t, r.Expr, time.Hour); (len(said) > 0) != row.fires {
				t.Errorf("%s, while %s: it says %v", row.rule, row.name, said)
			}
		}
	}
}

// TestEachThingIsInOneBar makes an event happen at each moment between two bars, and adds up all bars.
func TestEachThingIsInOneBar(t *testing.T) {
	const looks = 8 // from one bar to the next
	expr := strings.ReplaceAll(panelQuery(t, "fleet.json, Placements, evictions and moves, A"), "$__interval", (looks * scraped).String())
	for _, row := range []struct {
		name, values string
		want         float64
	}{
		{"the first", "_x21 1x80", 1},
		{"another", "1x21 2x80", 1},
		{"some", "5x20 6 7 8 8 9x80", 4},
		{"it was restarted", "5x20 stale _x4 1 2x80", 2},
	} {
		for later := range looks {
			all := past{
				`rookery_coordinator_role{rookery_role="leader"} 1x120`,
				fmt.Sprintf(`rookery_placements_total{instance="one"} _x%d %s`, later, row.values),
			}
			sum := 0.0
			for at := 5*time.Minute + scraped/2; at < 15*time.Minute; at += looks * scraped {
				sum += all.ask(t, expr, at)["{}"]
			}
			if sum != row.want {
				t.Errorf("%s, %d looks later: all bars together have %v, not %v\n%s", row.name, later, sum, row.want, expr)
			}
		}
	}
}

// TestProcessesOfOthersAreNotShown adds a foreign program that reports the metrics of the Go runtime.
func TestProcessesOfOthersAreNotShown(t *testing.T) {
	all := past{
		`go_goroutine_count{job="rookery",instance="one"} 40x10`, `rookery_coordinator_role{job="rookery",instance="one",rookery_role="leader"} 1x10`,
		`rookery_coordinator_role{job="rookery",instance="one",rookery_role="standby"} 0x10`, `go_goroutine_count{job="shop",instance="one"} 900x10`,
	}
	got := all.ask(t, panelQuery(t, "coordinator.json, Goroutines of the coordinators, A"), time.Minute)
	if !got.is(told{`{instance="one"}`: 40}) {
		t.Errorf("the goroutines of the coordinators are %v", got)
	}
}

// TestWhatHappenedCountsThoughProcessesEnd asks how many operations ended badly in the last hour, although processes that counted them have
// ended or restarted since.
func TestWhatHappenedCountsThoughProcessesEnd(t *testing.T) {
	const rolledBack = `rookery_operations_total{rookery_operation="update",rookery_outcome="rolled-back",instance="%s"} %s`
	role := `rookery_coordinator_role{rookery_role="leader",instance="one"} 1x480`
	for _, row := range []struct {
		name string
		past past
		want float64
	}{
		{"none", past{role}, 0},
		{"one, long ago", past{role, fmt.Sprintf(rolledBack, "one", "1x480")}, 0},
		{"the first of its kind", past{role, fmt.Sprintf(rolledBack, "one", "_x399 1x80")}, 1},
		{"two, the first of their kind", past{role, fmt.Sprintf(rolledBack, "one", "_x399 2x80")}, 2},
		{"it has ended since", past{role, fmt.Sprintf(rolledBack, "one", "_x399 1x40 stale")}, 1},
		{"it was started again since", past{role, fmt.Sprintf(rolledBack, "one", "_x299 1x20 2x20 stale _x40 1x80")}, 3},
		{"another leads since", past{role, fmt.Sprintf(rolledBack, "one", "_x299 1x40 stale"), fmt.Sprintf(rolledBack, "two", "_x399 1x80")}, 2},
	} {
		got := row.past.ask(t, panelQuery(t, "operations.json, Ended otherwise than done, A"), 2*time.Hour)
		if len(got) != 1 || got["{}"] < row.want-0.1 || got["{}"] > row.want+0.1 {
			t.Errorf("%s: it says %v, want %v", row.name, got, row.want)
		}
	}
}
