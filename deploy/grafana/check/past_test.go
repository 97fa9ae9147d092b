package check_test

import (
	"context"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	engine "github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/rookery-project/rookery/deploy/grafana/query"
)

// scraped is how far the values of a past are from each other.
const scraped = 15 * time.Second

// began is when every past begins.
var began = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

// past is all series that a Prometheus has, in the notation of its own tests: a series and its values, 15 s from each other. 1x3 is a value
// and three repetitions, _ is a gap, and stale is the mark of a target that no longer reports the series.
type past []string

// told are the answers to a query, by their labels without the name.
type told map[string]float64

// ask makes the engine of Prometheus answer a query, so long after the beginning of the past.
func (p past) ask(t *testing.T, expr string, after time.Duration) told {
	t.Helper()
	e := engine.NewEngine(engine.EngineOpts{MaxSamples: math.MaxInt32, Timeout: time.Minute, Parser: promql})
	defer func() { _ = e.Close() }()
	asked, err := e.NewInstantQuery(t.Context(), p.stored(t), nil, query.Expand(expr, query.Everything()), began.Add(after))
	if err != nil {
		t.Fatalf("%v\n%s", err, expr)
	}
	defer asked.Close()
	answer, err := asked.Exec(t.Context()).Vector()
	if err != nil {
		t.Fatalf("%v\n%s", err, expr)
	}
	all := told{}
	for _, s := range answer {
		all[s.Metric.DropReserved(func(name string) bool { return name == model.MetricNameLabel }).String()] = s.F
	}
	return all
}

// stored reads a past.
func (p past) stored(t *testing.T) storage.Queryable {
	t.Helper()
	var all found
	for _, line := range p {
		named, values, err := promql.ParseSeriesDesc(line)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		s := engine.Series{Metric: named}
		for i, v := range values {
			if !v.Omitted {
				s.Floats = append(s.Floats, engine.FPoint{T: began.Add(time.Duration(i) * scraped).UnixMilli(), F: v.Value})
			}
		}
		all = append(all, engine.NewStorageSeries(s))
	}
	return all
}

// found are the series that a query can select. It answers only the methods that the tests call.
type found []storage.Series

func (f found) Querier(int64, int64) (storage.Querier, error) { return f, nil }

func (f found) Select(_ context.Context, _ bool, _ *storage.SelectHints, wanted ...*labels.Matcher) storage.SeriesSet {
	fits := func(s storage.Series) bool {
		return !slices.ContainsFunc(wanted, func(m *labels.Matcher) bool { return !m.Matches(s.Labels().Get(m.Name)) })
	}
	return &set{rest: slices.DeleteFunc(slices.Clone(f), func(s storage.Series) bool { return !fits(s) })}
}

func (found) LabelValues(context.Context, string, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

func (found) LabelNames(context.Context, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

func (found) Close() error { return nil }

// set yields series one after the other.
type set struct {
	at   storage.Series
	rest found
}

func (s *set) Next() bool {
	if len(s.rest) == 0 {
		return false
	}
	s.at, s.rest = s.rest[0], s.rest[1:]
	return true
}

func (s *set) At() storage.Series              { return s.at }
func (*set) Err() error                        { return nil }
func (*set) Warnings() annotations.Annotations { return nil }

// panelQuery is the query of a panel, by its place: a file, a title and a letter.
func panelQuery(t *testing.T, where string) string {
	t.Helper()
	for _, q := range queries(t) {
		if q.Where == where {
			return q.Expr
		}
	}
	t.Fatalf("there is no query of %s", where)
	return ""
}

// is reports whether the answers are these, to the thousandth.
func (a told) is(want told) bool {
	return maps.EqualFunc(a, want, func(x, y float64) bool { return math.Abs(x-y) < 0.001 })
}
