package pictures_test

import (
	"flag"
	"fmt"
	"hash/fnv"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"

	"github.com/rookery-project/rookery/deploy/grafana/check/pictures"
	"github.com/rookery-project/rookery/deploy/grafana/written"
)

var keep = flag.String("pictures", "", "the folder that pictures are written into, to be looked at")

// shown is the time of all pictures: an hour.
var shown = promv1.Range{
	Start: time.Date(2026, 3, 4, 11, 0, 0, 0, time.UTC), End: time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC), Step: 30 * time.Second,
}

func screens(t *testing.T) []written.Screen {
	t.Helper()
	all, err := written.Screens(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 5 {
		t.Fatalf("%d screens were read", len(all))
	}
	return all
}

// operation is one that begins so long after what is shown does, and lasts so long.
func operation(after, long time.Duration) *model.SampleStream {
	s := &model.SampleStream{}
	for at := shown.Start.Add(after); !at.After(shown.Start.Add(after + long)); at = at.Add(shown.Step) {
		s.Values = append(s.Values, model.SamplePair{Timestamp: model.TimeFromUnix(at.Unix()), Value: 1})
	}
	return s
}

// values are made up for labels, by their names.
var values = map[string][]string{
	"rookery_namespace": {"demo", "infra"}, "rookery_service": {"web", "shardkv"}, "rookery_node": {"node-a", "node-b"},
	"rookery_ordinal": {"0", "1"}, "rookery_state": {"ready", "silent", "draining"}, "rookery_reason": {"no room for memory", "node lost"},
	"rookery_phase": {"stop", "start", "online"}, "rookery_operation": {"update", "restart", "scale"}, "rookery_outcome": {"done", "failed"},
	"rookery_stream":      {"ROOKERY_COMMANDS", "ROOKERY_LOG", "ROOKERY_STATUS", "ROOKERY_ORDERS"},
	"rookery_engine_call": {"create", "inspect", "list", "pull", "remove", "start", "stop"}, "rookery_reached": {"placed", "online"},
	"error_type": {"timeout"}, "instance": {"127.0.0.1:9101", "127.0.0.1:9102"}, "alertname": {"RookeryNoLeader", "RookeryLag"},
	"about": {"demo/web", "infra/db"},
}

// magnitudes are of made-up values, by their units. Those without a unit are counts, but for cores.
var magnitudes = map[string]float64{"short": 3, "cores": 0.0004, "s": 0.4, "bytes": 300e6, "Bps": 20e3, "percentunit": 0.6, "ops": 3}

// madeUp are answers to all of a panel's targets, the same each time.
func madeUp(t *testing.T, p written.Panel) []model.Value {
	t.Helper()
	var answers []model.Value
	for i, target := range p.Targets {
		labels := labelsOf(t, p, target)
		unit := p.FieldConfig.Defaults.Unit
		if p.FieldConfig.Defaults.Custom.AxisLabel == "cores" {
			unit = "cores"
		}
		size := magnitudes[unit]
		if size == 0 {
			t.Fatalf("no value is made up for the unit %s", unit)
		}
		var vector model.Vector
		var matrix model.Matrix
		for _, metric := range combinations(labels) {
			h := fnv.New32()
			fmt.Fprint(h, p.Title, i, metric)
			own := size * float64(1+h.Sum32()%97) / 40
			rounded := func(v float64) model.SampleValue {
				if unit == "short" {
					v = math.Round(v)
				}
				return model.SampleValue(v)
			}
			stream := &model.SampleStream{Metric: metric}
			for at := shown.Start; !at.After(shown.End); at = at.Add(shown.Step) {
				wave := 1 + 0.3*math.Sin(float64(h.Sum32()%7)+at.Sub(shown.Start).Minutes()/5)
				stream.Values = append(stream.Values, model.SamplePair{Timestamp: model.TimeFromUnix(at.Unix()), Value: rounded(own * wave)})
			}
			matrix = append(matrix, stream)
			vector = append(vector, &model.Sample{Metric: metric, Timestamp: model.TimeFromUnix(shown.End.Unix()), Value: rounded(own)})
		}
		if target.Instant {
			answers = append(answers, vector)
		} else {
			answers = append(answers, matrix)
		}
	}
	return answers
}

var hole = regexp.MustCompile(`\{\{(\w+)\}\}`)

// labelsOf are those that a target's answer has: the ones in its legend, or of a table's columns.
func labelsOf(t *testing.T, p written.Panel, target written.Target) []string {
	t.Helper()
	var labels []string
	for _, found := range hole.FindAllStringSubmatch(target.LegendFormat, -1) {
		labels = append(labels, found[1])
	}
	for _, change := range p.Transformations {
		for name := range change.Options.RenameByName {
			if !strings.HasPrefix(name, "Value") {
				labels = append(labels, name)
			}
		}
	}
	for _, label := range labels {
		if values[label] == nil {
			t.Fatalf("%s: no value is made up for the label %s", p.Title, label)
		}
	}
	slices.Sort(labels)
	return labels
}

func combinations(labels []string) []model.Metric {
	all := []model.Metric{{}}
	for _, label := range labels {
		var next []model.Metric
		for _, metric := range all {
			for _, value := range values[label] {
				with := metric.Clone()
				with[model.LabelName(label)] = model.LabelValue(value)
				next = append(next, with)
			}
		}
		all = next
	}
	return all
}

func TestEachScreenIsDrawnWhole(t *testing.T) {
	for _, s := range screens(t) {
		t.Run(s.File, func(t *testing.T) {
			t.Parallel()
			var said pictures.Answers
			for _, p := range s.Panels {
				said.Panels = append(said.Panels, madeUp(t, p))
			}
			for i := range s.Annotations.List {
				said.Annotations = append(said.Annotations, model.Matrix{operation(10*time.Minute*time.Duration(1+i), 4*time.Minute)})
			}
			picture, err := pictures.Paint(s, said, shown)
			if err != nil {
				t.Fatal(err)
			}
			if len(picture.Empty) > 0 {
				t.Errorf("nothing is shown by %q", picture.Empty)
			}
			if picture.Width != 1800 || picture.Height < 1000 {
				t.Errorf("it is %d wide and %d high", picture.Width, picture.Height)
			}
			look(t, picture, strings.TrimSuffix(s.File, ".json"))
		})
	}
}

// look writes the picture into the folder that the developer has named.
func look(t *testing.T, p pictures.Picture, name string) {
	t.Helper()
	if *keep == "" {
		return
	}
	body, err := p.PNG()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(*keep, name+".png"), body, 0o600); err != nil {
		t.Error(err)
	}
}
