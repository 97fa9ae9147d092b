package rookerytest_test

import (
	"io"
	"net/http"
	"regexp"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/rookery-project/rookery/cmd/rookerytest"
)

var servesAt = regexp.MustCompile(`url=(http://\S+/metrics)`)

// TestAProcessServesItsMetrics runs the real program with --metrics, and asks it as Prometheus does while it carries out a command.
func TestAProcessServesItsMetrics(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t, rookerytest.WithoutCoordinator())
	p := startProcess(t, "coordinator", "--server", cluster.URL, "--heartbeat", "500ms", "--metrics", "127.0.0.1:0")
	var url string
	cluster.Until("it says where it serves", func() bool {
		if found := servesAt.FindStringSubmatch(p.output.String()); found != nil {
			url = found[1]
		}
		return url != ""
	})
	cluster.Ensure("demo/web", `{"image":"localhost/web:1","scale":3}`)
	parser := expfmt.NewTextParser(model.LegacyValidation)
	found, err := parser.TextToMetricFamilies(body(t, url))
	if err != nil {
		t.Fatal(err)
	}
	placed := found["rookery_placements_total"].GetMetric()
	if len(placed) != 1 || placed[0].GetCounter().GetValue() != 3 {
		t.Errorf("3 instances were placed, and Prometheus finds %v", placed)
	}
	if told := found["target_info"].GetMetric(); len(told) != 1 || len(told[0].GetLabel()) < 3 {
		t.Errorf("the process is %v", told)
	}
}

// body is what is at the URL; it is closed with the test.
func body(t *testing.T, url string) io.Reader {
	t.Helper()
	ask, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(ask)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = answer.Body.Close() })
	return answer.Body
}
