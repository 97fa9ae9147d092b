package rookerytest_test

import (
	"context"
	"fmt"
	"math"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/api"
	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
)

// metricsPort is where each part of a trial serves its metrics, in a network of its own.
const metricsPort = 9464

func metricsAt(h *host) string { return net.JoinHostPort(h.address, strconv.Itoa(metricsPort)) }

// prometheus is a real one, which scrapes all parts of a trial and evaluates the alert rules.
type prometheus struct {
	promv1.API
	t       *testing.T
	address string
}

// lasts is for how long an alert must be, in the file with the rules.
var lasts = regexp.MustCompile(`(?m)^(\s+for: )\S+$`)

// startPrometheus starts a Prometheus that scrapes every three seconds, because a busy coordinator takes two seconds to answer without its
// levels. The alert rules are those of deploy/grafana, except that each condition has to last for only a second.
func (f *trial) startPrometheus() *prometheus {
	f.t.Helper()
	folder := f.t.TempDir()
	rules, err := os.ReadFile("../../deploy/grafana/rules.yaml")
	if err != nil {
		f.t.Fatal(err)
	}
	var targets []string
	for _, c := range f.coordinators {
		targets = append(targets, strconv.Quote(metricsAt(c.host)))
	}
	for _, h := range f.hosts {
		targets = append(targets, strconv.Quote(metricsAt(h.host)))
	}
	files := map[string]string{
		"rules.yaml": lasts.ReplaceAllString(string(rules), "${1}1s"),
		"prometheus.yml": fmt.Sprintf(`global: {scrape_interval: 3s, scrape_timeout: 3s, evaluation_interval: 1s}
rule_files: [rules.yaml]
scrape_configs: [{job_name: rookery, static_configs: [{targets: [%s]}]}]
`, strings.Join(targets, ", ")),
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			f.t.Fatal(err)
		}
	}
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(freePorts(f.t)))
	process := newProcess(f.t, exec.Command("prometheus", "--config.file="+filepath.Join(folder, "prometheus.yml"), //nolint:noctx // ended by the test
		"--storage.tsdb.path="+filepath.Join(folder, "data"), "--web.listen-address="+address, "--log.level=warn"))
	process.start()
	client, err := api.NewClient(api.Config{Address: "http://" + address, Client: &http.Client{
		Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true},
	}})
	if err != nil {
		f.t.Fatal(err)
	}
	p := &prometheus{API: promv1.NewAPI(client), t: f.t, address: "http://" + address}
	f.Until("Prometheus has scraped all parts", func() bool {
		up, err := p.value("sum(up)")
		return err == nil && has(up) && float64(up.(model.Vector)[0].Value) == float64(len(targets))
	})
	return p
}

// value is what a query finds now.
func (p *prometheus) value(expr string) (model.Value, error) {
	const patience = 30 * time.Second
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	value, _, _, err := p.Query(ctx, expr, time.Now())
	return value, err
}

// has reports whether there is a number in what a query has found.
func has(found model.Value) bool {
	isNumber := func(v model.SampleValue) bool { return !math.IsNaN(float64(v)) }
	switch v := found.(type) {
	case model.Vector:
		return slices.ContainsFunc(v, func(s *model.Sample) bool { return isNumber(s.Value) })
	case *model.Scalar:
		return isNumber(v.Value)
	}
	return false
}

// fires reports whether the alert fires now, about what the label says, as in rookery_service="web", or about anything where it is "".
func (p *prometheus) fires(name, label string) (bool, error) {
	found, err := p.value(fmt.Sprintf(`ALERTS{alertname=%q, alertstate="firing", %s}`, name, label))
	return err == nil && has(found), err
}

// alertRules returns the queries of all rules that Prometheus has loaded, by their names. All must be of alerts.
func (p *prometheus) alertRules() map[string]string {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), time.Minute)
	defer cancel()
	loaded, err := p.Rules(ctx, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	queries := map[string]string{}
	for _, group := range loaded.Groups {
		for _, rule := range group.Rules {
			alert, is := rule.(promv1.AlertingRule)
			if !is {
				p.t.Fatalf("rule %+v is not an alert", rule)
			}
			queries[alert.Name] = alert.Query
		}
	}
	return queries
}
