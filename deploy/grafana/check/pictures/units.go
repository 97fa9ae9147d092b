package pictures

import (
	"math"
	"strconv"
	"strings"
)

// scale is a step of a unit: values from it on are told in parts of it.
type scale struct {
	from, per float64
	suffix    string
}

const (
	minute = 60
	hour   = 60 * minute
	day    = 24 * hour
	week   = 7 * day
	year   = 365 * day
)

// scales are those of Grafana's units, by the names that it has for them, from the least on.
var scales = map[string][]scale{
	"short":       {{0, 1, ""}, {1e3, 1e3, " K"}, {1e6, 1e6, " Mil"}, {1e9, 1e9, " Bil"}, {1e12, 1e12, " Tri"}},
	"percentunit": {{0, 0.01, "%"}},
	"ops":         {{0, 1, " ops/s"}, {1e3, 1e3, "K ops/s"}, {1e6, 1e6, "M ops/s"}, {1e9, 1e9, "B ops/s"}},
	"Bps":         {{0, 1, " B/s"}, {1e3, 1e3, " kB/s"}, {1e6, 1e6, " MB/s"}, {1e9, 1e9, " GB/s"}, {1e12, 1e12, " TB/s"}},
	"bytes": {
		{0, 1, " B"}, {1 << 10, 1 << 10, " KiB"}, {1 << 20, 1 << 20, " MiB"}, {1 << 30, 1 << 30, " GiB"}, {1 << 40, 1 << 40, " TiB"},
	},
	"s": {
		{0, 1e-9, " ns"},
		{1e-6, 1e-6, " µs"},
		{1e-3, 1e-3, " ms"},
		{1, 1, " s"},
		{minute, minute, " min"},
		{hour, hour, " hour"},
		{day, day, " day"},
		{week, week, " week"},
		{year, year, " year"},
	},
}

// tell writes a value as Grafana does: with three significant digits, or with the given number of decimals.
func tell(unit string, decimals *int, value float64) string {
	if value == 0 {
		return "0" + zero(unit)
	}
	of := scales[unit][0]
	for _, s := range scales[unit] {
		if math.Abs(value) >= s.from {
			of = s
		}
	}
	value /= of.per
	places := enough(value)
	if decimals != nil {
		places = *decimals
	}
	return strconv.FormatFloat(value, 'f', places, 64) + of.suffix
}

// zero is the unit of a 0.
func zero(unit string) string {
	if unit == "s" {
		return " s"
	}
	return scales[unit][0].suffix
}

// enough is how many decimals Grafana gives a value: 0 for a whole number.
func enough(value float64) int {
	if value == math.Trunc(value) {
		return 0
	}
	return max(0, 2-int(math.Floor(math.Log10(math.Abs(value)))))
}

// tick writes a value of an axis, without trailing zeros.
func tick(unit string, value float64) string {
	told := tell(unit, nil, value)
	number, suffix := told, ""
	if i := strings.IndexFunc(told, func(r rune) bool { return !strings.ContainsRune("-.0123456789", r) }); i >= 0 {
		number, suffix = told[:i], told[i:]
	}
	if strings.Contains(number, ".") {
		number = strings.TrimRight(strings.TrimRight(number, "0"), ".")
	}
	return number + suffix
}
