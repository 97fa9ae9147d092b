package pictures_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"

	"github.com/rookery-project/rookery/deploy/grafana/check/pictures"
	"github.com/rookery-project/rookery/deploy/grafana/query"
)

// prometheus answers what it knows, and remembers what it was asked.
type prometheus struct {
	promv1.API
	asked []string
	fails string
}

func (p *prometheus) Query(_ context.Context, q string, at time.Time, _ ...promv1.Option) (model.Value, promv1.Warnings, promv1.Infos, error) {
	if q == p.fails {
		return nil, nil, nil, errors.New("no such thing")
	}
	p.asked = append(p.asked, q+" at "+at.Format(time.TimeOnly))
	return vector(1), nil, nil, nil
}

func (p *prometheus) QueryRange(_ context.Context, q string, r promv1.Range, _ ...promv1.Option) (model.Value, promv1.Warnings, promv1.Infos, error) {
	if q == p.fails {
		return nil, nil, nil, errors.New("no such thing")
	}
	p.asked = append(p.asked, q+" from "+r.Start.Format(time.TimeOnly)+" to "+r.End.Format(time.TimeOnly)+" by "+r.Step.String())
	return matrix(1), nil, nil, nil
}

func TestDrawAsksAsGrafanaDoes(t *testing.T) {
	s := oneOfEach()
	s.Panels = s.Panels[3:]
	s.Panels[0].Targets[0].Expr = `up{node=~"$node"}`
	s.Panels[1].Targets[1].Expr = `rate(x[$__rate_interval])`
	ask := &prometheus{}
	picture, err := pictures.Draw(t.Context(), ask, s, query.Everything(), shown.Start, shown.End)
	if err != nil {
		t.Fatal(err)
	}
	if len(picture.Empty) > 0 {
		t.Errorf("nothing is shown by %q", picture.Empty)
	}
	want := []string{
		`up{node=~".*"} at 12:00:00`, "second at 12:00:00",
		"first from 11:00:00 to 12:00:00 by 15s", "rate(x[1m]) from 11:00:00 to 12:00:00 by 15s",
		"operations from 11:00:00 to 12:00:00 by 15s",
	}
	if !slices.Equal(ask.asked, want) {
		t.Errorf("asked was %q, not %q", ask.asked, want)
	}
}

func TestAQueryThatFailsIsNamed(t *testing.T) {
	for _, c := range []struct{ fails, want string }{
		{"second", "each.json, stat, B: no such thing"},
		{"operations", "each.json, annotation Operations: no such thing"},
	} {
		_, err := pictures.Draw(t.Context(), &prometheus{fails: c.fails}, oneOfEach(), query.Everything(), shown.Start, shown.End)
		if err == nil || err.Error() != c.want {
			t.Errorf("the error is %v, not %s", err, c.want)
		}
	}
	_, err := pictures.Draw(t.Context(), &prometheus{}, oneOfEach(), nil, shown.Start, shown.End)
	if err == nil {
		t.Error("without a step, something was asked")
	}
}
