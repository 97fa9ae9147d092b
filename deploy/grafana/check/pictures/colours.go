package pictures

import "github.com/rookery-project/rookery/deploy/grafana/written"

// Colours of Grafana's dark theme.
var (
	ground = rgb(0x111217)
	sheet  = rgb(0x1b1e24)
	rule   = rgb(0x2f333b)
	bright = rgb(0xe4e4ec)
	dim    = rgb(0xa6adb8)
)

// named are the colours that thresholds and annotations speak of.
var named = map[string]ink{
	"green": rgb(0x73bf69), "orange": rgb(0xff9830), "red": rgb(0xf2495c), "blue": rgb(0x6ea6ff), "yellow": rgb(0xfade2a),
}

// palette has the colours of series, in their order.
var palette = []ink{
	rgb(0x73bf69), rgb(0xf2cc0c), rgb(0x8ab8ff), rgb(0xff780a), rgb(0xf2495c), rgb(0x5794f2), rgb(0xb877d9), rgb(0x9d8cc7),
	rgb(0x37a13b), rgb(0xffee52), rgb(0x5fd3c8), rgb(0xffb357),
}

func nth(i int) ink { return palette[i%len(palette)] }

// colour is that of the highest threshold which the value has reached.
func colour(t written.Thresholds, value float64) ink {
	reached := bright
	for _, s := range t.Steps {
		if i, known := named[s.Color]; known && (s.Value == nil || value >= *s.Value) {
			reached = i
		}
	}
	return reached
}
