package rookerytest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/rookery-project/rookery/cmd/rookerytest"
	"github.com/rookery-project/rookery/coordinator/runner/api"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

// listPiece is a piece of a list of anything.
type listPiece = api.List[jsontext.Value]

// TestListsAreAnsweredPieceByPiece asks for lists in pieces of all sizes, and holds them to the views.
func TestListsAreAnsweredPieceByPiece(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t)
	cluster.Ensure("demo/web", `{"image":"localhost/web:1","scale":12}`)
	cluster.Ensure("demo/db", `{"image":"localhost/db:1","scale":1}`)
	cluster.Ensure("shop/web", `{"image":"localhost/web:1","scale":2}`)
	cluster.Command("shop/web", "restart", `{}`)
	asked := func(question, body string) (keys []string, answer listPiece) {
		t.Helper()
		if !cluster.Ask(question, body, &answer) {
			t.Fatalf("%s %s is not answered", question, body)
		}
		for _, item := range answer.Items {
			var v struct {
				Namespace, Name string
				Ordinal         *int
				Sequence        uint64
			}
			if err := json.Unmarshal(item, &v, json.MatchCaseInsensitiveNames(true)); err != nil || v.Sequence == 0 || v.Sequence > answer.LogSequence {
				t.Errorf("%s has an item of sequence %d, and is true at %d: %v: %s", question, v.Sequence, answer.LogSequence, err, item)
			}
			key := strings.TrimPrefix(v.Namespace+"."+v.Name, ".")
			if v.Ordinal != nil {
				key += fmt.Sprintf(".%d", *v.Ordinal)
			}
			keys = append(keys, key)
		}
		return keys, answer
	}
	want := map[string][]string{
		"services": {"demo.db", "demo.web", "shop.web"}, "operations": {"shop.web"}, "nodes": {"node-0", "node-1", "node-2"},
		"instances": {"demo.db.0"},
	}
	for o := range 12 {
		want["instances"] = append(want["instances"], fmt.Sprintf("demo.web.%d", o))
	}
	want["instances"] = append(want["instances"], "shop.web.0", "shop.web.1")
	for question, all := range want {
		for limit := 1; limit <= len(all)+1; limit++ {
			var keys []string
			behind, answers := "", 0
			for more := true; more; more = behind != "" {
				piece, answer := asked(question, fmt.Sprintf(`{"limit":%d,"continue":%q}`, limit, behind))
				keys, behind, answers = append(keys, piece...), answer.Continue, answers+1
			}
			if !slices.Equal(keys, all) || answers != (len(all)+limit-1)/limit {
				t.Errorf("%s by %d are %v in %d answers, want %v", question, limit, keys, answers, all)
			}
		}
	}
	if keys, _ := asked("services", `{"namespace":"demo"}`); !slices.Equal(keys, want["services"][:2]) {
		t.Errorf("those of a namespace are %v", keys)
	}
	if keys, _ := asked("instances", `{"namespace":"shop","name":"web"}`); !slices.Equal(keys, []string{"shop.web.0", "shop.web.1"}) {
		t.Errorf("those of a service are %v", keys)
	}
	var onNodes []string
	for name := range cluster.Nodes {
		keys, _ := asked("instances", `{"node":"`+name+`"}`)
		onNodes = append(onNodes, keys...)
	}
	if slices.Sort(onNodes); len(onNodes) != len(want["instances"]) || len(slices.Compact(onNodes)) != len(want["instances"]) {
		t.Errorf("all nodes together have %v", onNodes)
	}
	answersAsTheViews(t, cluster, asked)
}

// answersAsTheViews holds the items to what the buckets have, but for the sequence.
func answersAsTheViews(t *testing.T, cluster *rookerytest.Cluster, asked func(question, body string) ([]string, listPiece)) {
	t.Helper()
	for question, name := range map[string]string{
		"services": bus.BucketServices, "instances": bus.BucketInstances, "nodes": bus.BucketNodes, "operations": bus.BucketOperations,
	} {
		bucket, err := cluster.Bus().Bucket(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		same := func(key string, item []byte) bool {
			entry, err := bucket.Get(t.Context(), key)
			if err != nil {
				return false
			}
			var inView, inAnswer map[string]any
			if json.Unmarshal(entry.Value, &inView) != nil || json.Unmarshal(item, &inAnswer) != nil {
				return false
			}
			delete(inView, "sequence")
			delete(inAnswer, "sequence")
			return fmt.Sprint(inView) == fmt.Sprint(inAnswer)
		}
		cluster.Until(question+" are answered as the bucket has them", func() bool {
			keys, answer := asked(question, "")
			for i, key := range keys {
				if !same(key, answer.Items[i]) {
					return false
				}
			}
			return len(keys) > 0
		})
	}
}

func TestListsSayWhatIsWrongWithTheQuestion(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t, rookerytest.WithNodes(0))
	cluster.State() // answered: the bus answers an earlier question with "no responders"
	for _, row := range []struct{ question, body, reason string }{
		{"services", `{"node":"edge-1"}`, `ask with any of {"namespace":"demo"`},
		{"services", `{"name":"web"}`, "a name needs its namespace"},
		{"nodes", `{"namespace":"demo"}`, `ask with any of {"node":"edge-1"`},
		{"instances", `{"limit":501}`, "limit 501 is not between 1 and 500"},
		{"operations", `{"limit":0}`, "limit 0 is not between 1 and 500"},
		{"operations", `{"servce":"web"}`, `ask with any of {"namespace":"demo"`},
		{"instances", `[`, `"node":"edge-1"`},
	} {
		m, err := cluster.Conn.Request(events.APIRoot+"."+row.question, []byte(row.body), 10*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if code, reason := m.Header.Get("Nats-Service-Error-Code"), m.Header.Get("Nats-Service-Error"); code != "400" || !strings.Contains(reason, row.reason) {
			t.Errorf("%s %s: %s %q, want 400 %q", row.question, row.body, code, reason, row.reason)
		}
	}
}

// TestAListIsBoundedByItsBytes lists more services than fit into one message.
func TestAListIsBoundedByItsBytes(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t, rookerytest.WithNodes(0))
	const services, bytes = 40, 4_000
	long := strings.Repeat("a", bytes)
	env := fmt.Sprintf(`{"A":%q,"B":%q,"C":%q,"D":%q,"E":%q,"F":%q,"G":%q}`, long, long, long, long, long, long, long)
	for i := range services {
		cluster.Ensure(fmt.Sprintf("demo/s%02d", i), `{"image":"localhost/web:1","scale":0,"env":`+env+`}`)
	}
	got, behind, answers := 0, "", 0
	for more := true; more; more = behind != "" {
		var answer listPiece
		if !cluster.Ask("services", fmt.Sprintf(`{"limit":500,"continue":%q}`, behind), &answer) {
			t.Fatal("it is not answered")
		}
		got, behind, answers = got+len(answer.Items), answer.Continue, answers+1
	}
	if got != services || answers != 3 {
		t.Errorf("%d services are told in %d answers", got, answers)
	}
}
