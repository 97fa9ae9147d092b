package pictures

import "fmt"

const (
	tallestBar  = 30
	shortestBar = 20
)

// bargauge draws a bar for each series, as long as its last value is large.
func bargauge(c canvas, b box, p panel) bool {
	all := allSeries(p.Panel, p.said)
	if len(all) == 0 {
		return false
	}
	looks := p.FieldConfig.Defaults
	room := max(1, b.h/shortestBar)
	first, more := all, 0
	if len(all) > room {
		first = foremost(all, room-1)
		more = len(all) - len(first)
	}
	greatest, names, values := 0.0, 0, 0
	for _, s := range all {
		greatest = max(greatest, s.last())
	}
	for _, s := range first {
		names = max(names, c.width(s.name, medium))
		values = max(values, c.width(tell(looks.Unit, looks.Decimals, s.last()), medium))
	}
	if looks.Max != nil {
		greatest = *looks.Max
	}
	names = min(names, b.w*2/5)
	whole := box{b.x + names + 12, b.y, b.w - names - values - 24, b.h}
	length := axis{from: 0, to: max(greatest, 1e-12)}
	tall := min(tallestBar, b.h/max(1, len(first)+min(1, more)))
	for i, s := range first {
		line := box{b.x, b.y + i*tall, b.w, tall}
		i := colour(looks.Thresholds, s.last())
		c.left(s.name, medium, bright, box{line.x, line.y, names, tall})
		bar := box{whole.x, line.y + 3, whole.w, tall - 6}
		c.fill(bar, rule)
		bar.w = length.at(s.last(), bar.w)
		c.fill(bar, i)
		c.right(tell(looks.Unit, looks.Decimals, s.last()), medium, i, line)
	}
	if more > 0 {
		c.left(fmt.Sprintf("and %d more", more), small, dim, box{b.x, b.y + len(first)*tall, b.w, tall})
	}
	return true
}
