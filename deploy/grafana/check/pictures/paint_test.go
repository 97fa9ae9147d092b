package pictures_test

import (
	"bytes"
	"image"
	"image/png"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"

	"github.com/rookery-project/rookery/deploy/grafana/check/pictures"
	"github.com/rookery-project/rookery/deploy/grafana/written"
)

// oneOfEach is a screen with a panel of each type, the first of them twice.
func oneOfEach() written.Screen {
	s := written.Screen{File: "each.json", Title: "Each type"}
	s.Annotations.List = []written.Annotation{{Name: "Operations", Expr: "operations", IconColor: "red"}}
	for i, kind := range []string{"stat", "stat", "bargauge", "table", "timeseries"} {
		p := written.Panel{Type: kind, Title: kind, Targets: []written.Target{
			{RefID: "A", Expr: "first", LegendFormat: "{{node}}", Instant: kind != "timeseries"},
			{RefID: "B", Expr: "second", LegendFormat: "{{ node }} again", Instant: kind != "timeseries"},
		}}
		p.GridPos = written.Place{X: 6 * (i % 4), Y: 6 * (i / 4), W: 6, H: 6}
		p.FieldConfig.Defaults.Unit = "s"
		s.Panels = append(s.Panels, p)
	}
	s.Panels[4].GridPos.W = 24
	return s
}

// vector has a value for each node.
func vector(values ...float64) model.Vector {
	var all model.Vector
	for i, v := range values {
		all = append(all, &model.Sample{
			Metric: model.Metric{"node": model.LabelValue(rune('a' + i))}, Timestamp: model.TimeFromUnix(shown.End.Unix()), Value: model.SampleValue(v),
		})
	}
	return all
}

// matrix is the same over time, with holes, and a value alone.
func matrix(values ...float64) model.Matrix {
	var all model.Matrix
	for _, last := range vector(values...) {
		stream := operation(0, 20*time.Minute)
		stream.Values = append(stream.Values, operation(30*time.Minute, 0).Values...)
		stream.Values = append(stream.Values, operation(40*time.Minute, 20*time.Minute).Values...)
		for i := range stream.Values {
			stream.Values[i].Value = last.Value
		}
		all = append(all, &model.SampleStream{Metric: last.Metric, Values: stream.Values})
	}
	return all
}

func answers(s written.Screen, values ...float64) pictures.Answers {
	said := pictures.Answers{Annotations: []model.Value{model.Matrix{operation(15*time.Minute, 5*time.Minute)}}}
	for _, p := range s.Panels {
		both := []model.Value{vector(values...), vector(values...)}
		if p.Type == "timeseries" {
			both = []model.Value{matrix(values...), matrix(values...)}
		}
		said.Panels = append(said.Panels, both)
	}
	return said
}

func decoded(t *testing.T, p pictures.Picture) image.Image {
	t.Helper()
	body, err := p.PNG()
	if err != nil {
		t.Fatal(err)
	}
	seen, err := png.Decode(bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return seen
}

func TestPanelsLieOnTheGrid(t *testing.T) {
	s := oneOfEach()
	picture, err := pictures.Paint(s, answers(s, 0.002, 0.0005, 3), shown)
	if err != nil {
		t.Fatal(err)
	}
	look(t, picture, "each")
	if len(picture.Empty) > 0 {
		t.Errorf("nothing is shown by %q", picture.Empty)
	}
	seen := decoded(t, picture)
	if seen.Bounds() != image.Rect(0, 0, 1800, picture.Height) {
		t.Errorf("it takes %v", seen.Bounds())
	}
	ground := seen.At(0, 0)
	for _, p := range s.Panels {
		left, top := 16+74*p.GridPos.X, 64+38*p.GridPos.Y
		right, bottom := left+74*p.GridPos.W-9, top+38*p.GridPos.H-9
		frame := seen.At(left, top)
		if frame == ground || seen.At(right, bottom) != frame {
			t.Errorf("the frame of %q is not at %d, %d and %d, %d", p.Title, left, top, right, bottom)
		}
		if seen.At(left-1, top-1) != ground || seen.At(right+1, bottom+1) != ground {
			t.Errorf("%q is larger than its place", p.Title)
		}
	}
}

func TestTheSameAnswersGiveTheSamePicture(t *testing.T) {
	s := oneOfEach()
	s.Panels = s.Panels[2:4]
	s.Panels[0].GridPos.H, s.Panels[1].GridPos.H = 4, 4
	said := answers(s, 1, 2, 3)
	first, err := pictures.Paint(s, said, shown)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range said.Panels {
		for _, answer := range p {
			slices.Reverse(answer.(model.Vector))
		}
	}
	second, err := pictures.Paint(s, said, shown)
	if err != nil {
		t.Fatal(err)
	}
	one, err := first.PNG()
	if err != nil {
		t.Fatal(err)
	}
	other, err := second.PNG()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(one, other) {
		t.Error("answers in another order give another picture")
	}
}

func TestPanelsWithNothingToShowAreNamed(t *testing.T) {
	s := oneOfEach()
	s.Panels[1].FieldConfig.Defaults.NoValue = "Nothing has happened"
	want := []string{"stat", "stat", "bargauge", "table", "timeseries"}
	for _, c := range []struct {
		what string
		said pictures.Answers
	}{
		{"no series", answers(s)},
		{"values that are not numbers", answers(s, math.NaN(), math.NaN())},
	} {
		picture, err := pictures.Paint(s, c.said, shown)
		if err != nil {
			t.Fatal(err)
		}
		look(t, picture, "empty")
		if !slices.Equal(picture.Empty, want) {
			t.Errorf("with %s, %q are empty", c.what, picture.Empty)
		}
	}
	said := answers(s)
	said.Panels[2][1] = vector(1)
	picture, err := pictures.Paint(s, said, shown)
	if err != nil {
		t.Fatal(err)
	}
	if slices.Contains(picture.Empty, "bargauge") {
		t.Error("a panel with one of two answers is said to be empty")
	}
}

func TestSmallPanelsCountWhatHasNoRoom(t *testing.T) {
	s := oneOfEach()
	for i := range s.Panels {
		s.Panels[i].GridPos.W, s.Panels[i].GridPos.H = 6, 4
	}
	picture, err := pictures.Paint(s, answers(s, 1, 2, 3, 4, 5, 6, 7, 8, 9), shown)
	if err != nil {
		t.Fatal(err)
	}
	look(t, picture, "small")
	if len(picture.Empty) > 0 {
		t.Errorf("nothing is shown by %q", picture.Empty)
	}
}

func TestWhatNobodyKnowsHowToDrawIsRefused(t *testing.T) {
	for _, c := range []struct {
		change func(*written.Panel)
		want   string
	}{
		{func(p *written.Panel) { p.Type = "piechart" }, `each.json, stat: panel type "piechart" is not supported`},
		{func(p *written.Panel) { p.FieldConfig.Defaults.Unit = "furlong" }, `each.json, stat: unit "furlong" is not supported`},
		{func(p *written.Panel) {
			o := written.Override{}
			o.Matcher.ID = "byRegexp"
			p.FieldConfig.Overrides = append(p.FieldConfig.Overrides, o)
		}, "each.json, stat: an override matches byRegexp"},
	} {
		s := oneOfEach()
		c.change(&s.Panels[0])
		_, err := pictures.Paint(s, answers(s, 1), shown)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("the error is %v, not %s", err, c.want)
		}
	}
}
