package pictures

import (
	"slices"
	"time"
)

// mostLines is how many lines a chart draws at most: more would hide each other.
const mostLines = 40

// chart is a panel of values over time, with the places of its parts.
type chart struct {
	canvas
	panel
	plot    box
	values  axis
	stacked bool
}

// timeseries are lines, areas or bars over time, with a legend below.
func timeseries(c canvas, b box, p panel) bool {
	all := allSeries(p.Panel, p.said)
	if len(all) == 0 {
		return false
	}
	drawn := foremost(all, mostLines)
	for i := range drawn {
		drawn[i].ink = nth(i)
	}
	l := legendOf(c, b, drawn, len(all), p.FieldConfig.Defaults)
	ch := chart{canvas: c, panel: p, stacked: p.FieldConfig.Defaults.Custom.Stacking.Mode == "normal"}
	ch.measure(box{b.x, b.y + 4, b.w, b.h - l.h - 26}, drawn)
	ch.grid()
	ch.annotate()
	ch.series(drawn)
	l.draw(c, p.FieldConfig.Defaults)
	return true
}

// measure finds the axis of values, and what it leaves for the plot.
func (ch *chart) measure(b box, all []series) {
	looks := ch.FieldConfig.Defaults
	least, greatest := all[0].last(), all[0].last()
	for _, s := range all {
		for _, v := range s.values {
			least, greatest = min(least, v.value), max(greatest, v.value)
		}
	}
	if ch.stacked {
		for _, sum := range stack(all)[len(all)-1] {
			greatest = max(greatest, sum)
		}
	}
	if looks.Min != nil {
		least = min(least, *looks.Min)
	}
	if looks.Max != nil {
		greatest = max(greatest, *looks.Max)
	}
	ch.values = axisOf(looks.Unit, looks.Decimals, least, greatest, max(2, b.h/28))
	labels := 0
	for _, v := range ch.values.marks() {
		labels = max(labels, ch.width(tick(looks.Unit, v), small))
	}
	if looks.Custom.AxisLabel != "" {
		labels = max(labels, ch.width(looks.Custom.AxisLabel, small))
	}
	ch.plot = b.inner(labels+8, 4, 10, 0)
	if looks.Custom.AxisLabel != "" {
		ch.left(looks.Custom.AxisLabel, small, dim, box{b.x, b.y - 12, labels, 12})
		ch.plot = ch.plot.inner(0, 8, 0, 0)
	}
}

// x and y are the places of a time and a value.
func (ch *chart) x(at time.Time) int {
	span := axis{from: 0, to: ch.shown.End.Sub(ch.shown.Start).Seconds()}
	return ch.plot.x + span.at(at.Sub(ch.shown.Start).Seconds(), ch.plot.w)
}

func (ch *chart) y(value float64) int { return ch.plot.y + ch.plot.h - ch.values.at(value, ch.plot.h) }

// grid is what values and times are read by.
func (ch *chart) grid() {
	for _, v := range ch.values.marks() {
		y := ch.y(v)
		ch.fill(box{ch.plot.x, y, ch.plot.w, 1}, rule)
		ch.right(tick(ch.FieldConfig.Defaults.Unit, v), small, dim, box{ch.plot.x - 108, y - 8, 100, 16})
	}
	marks, layout := clock(ch.shown.Start, ch.shown.End, max(1, ch.plot.w/80))
	for _, at := range marks {
		x := ch.x(at)
		ch.fill(box{x, ch.plot.y, 1, ch.plot.h}, rule)
		// A label is not cut off at the sheet's end.
		left := min(x-40, ch.plot.x+ch.plot.w+10-80)
		ch.centre(at.Format(layout), small, dim, box{left, ch.plot.y + ch.plot.h + 3, 80, 16})
	}
}

// annotate marks the times of the screen's annotations.
func (ch *chart) annotate() {
	for _, m := range ch.marks {
		from, to := ch.x(m.from), ch.x(m.to)
		ch.fill(box{from, ch.plot.y, max(1, to-from), ch.plot.h}, faint(m.ink, 0.10))
		ch.fill(box{from, ch.plot.y + ch.plot.h, max(3, to-from), 3}, m.ink)
	}
}

// series draws what the chart is for.
func (ch *chart) series(all []series) {
	floors := make([]map[time.Time]float64, len(all)+1)
	if ch.stacked {
		copy(floors[1:], stack(all))
	}
	opacity := ch.FieldConfig.Defaults.Custom.FillOpacity / 100
	for i := range slices.Backward(all) {
		s, floor := all[i], floors[i]
		if ch.FieldConfig.Defaults.Custom.DrawStyle == "bars" {
			ch.bars(s, floor, faint(s.ink, opacity))
			continue
		}
		for _, part := range parts(s.values, ch.shown.Step) {
			var top, bottom []point
			for _, v := range part {
				below := floor[v.at]
				top = append(top, point{X: ch.x(v.at), Y: ch.y(below + v.value)})
				bottom = append(bottom, point{X: ch.x(v.at), Y: ch.y(max(ch.values.from, below))})
			}
			slices.Reverse(bottom)
			ch.area(faint(s.ink, opacity), slices.Concat(top, bottom, top[:1])...)
			ch.line(s.ink, 1.5, top...)
		}
	}
}

// bars draws a bar for each value, side by side in time.
func (ch *chart) bars(s series, floor map[time.Time]float64, i ink) {
	half := ch.shown.Step / 2
	for _, v := range s.values {
		if v.value == 0 {
			continue
		}
		top, bottom := ch.y(floor[v.at]+v.value), ch.y(floor[v.at])
		left, right := ch.x(v.at.Add(-half)), ch.x(v.at.Add(half))
		if right-left > 5 {
			right--
		}
		ch.fill(box{left, top, max(1, right-left), max(1, bottom-top)}, i)
	}
}

// stack has for each series the sums of it and all before it, by their times.
func stack(all []series) []map[time.Time]float64 {
	var sums []map[time.Time]float64
	times := map[time.Time]float64{}
	for _, s := range all {
		for _, v := range s.values {
			times[v.at] = 0
		}
	}
	for _, s := range all {
		sum := make(map[time.Time]float64, len(times))
		for at, below := range times {
			sum[at] = below
		}
		for _, v := range s.values {
			sum[v.at] += v.value
		}
		sums, times = append(sums, sum), sum
	}
	return sums
}
