package pictures

import (
	"math"
	"time"
)

// axis is what values or times are measured by, with a mark every step.
type axis struct{ from, to, step float64 }

// at is the place of a value on a length.
func (a axis) at(value float64, length int) int {
	share := (value - a.from) / (a.to - a.from)
	return int(math.Round(min(1, max(0, share)) * float64(length)))
}

// marks are the values that are written beside the axis.
func (a axis) marks() []float64 {
	var all []float64
	for i := math.Ceil(a.from/a.step - 1e-9); i*a.step <= a.to+a.step*1e-9; i++ {
		all = append(all, i*a.step)
	}
	return all
}

// axisOf has round marks, at most so many, and room for values from the least to the greatest.
func axisOf(unit string, decimals *int, least, greatest float64, most int) axis {
	if greatest <= least {
		greatest = least + 1
	}
	finest := 0.0
	if decimals != nil {
		finest = math.Pow(10, -float64(*decimals))
	}
	step := round(unit, max(finest, (greatest-least)/float64(most)))
	return axis{math.Floor(least/step+1e-9) * step, math.Ceil(greatest/step-1e-9) * step, step}
}

// round returns the smallest step that reads well in the unit and is at least as long as least.
func round(unit string, least float64) float64 {
	switch {
	case unit == "bytes" && least > 1:
		return math.Exp2(math.Ceil(math.Log2(least)))
	case unit == "s" && least > 20:
		for _, step := range []float64{
			30, minute, 2 * minute, 5 * minute, 10 * minute, 20 * minute, 30 * minute, hour, 2 * hour, 6 * hour, 12 * hour,
			day, 2 * day, week, 4 * week,
		} {
			if step >= least {
				return step
			}
		}
	}
	power := math.Pow(10, math.Floor(math.Log10(least)))
	for _, times := range []float64{1, 2, 5} {
		if times*power >= least*(1-1e-9) {
			return times * power
		}
	}
	return 10 * power
}

// clock are the times that are written below a chart: at most so many, on whole steps of the clock.
func clock(from, to time.Time, most int) (marks []time.Time, layout string) {
	least := to.Sub(from) / time.Duration(most)
	step := 24 * time.Hour
	for _, s := range []time.Duration{
		time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute,
		10 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour,
	} {
		if s >= least {
			step = s
			break
		}
	}
	layout = "15:04"
	switch {
	case step < time.Minute:
		layout = "15:04:05"
	case step >= 24*time.Hour:
		layout = "01-02"
	}
	for at := from.Truncate(step); !at.After(to); at = at.Add(step) {
		if !at.Before(from) {
			marks = append(marks, at)
		}
	}
	return marks, layout
}
