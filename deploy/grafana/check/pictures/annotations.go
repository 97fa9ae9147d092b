package pictures

import (
	"time"

	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"

	"github.com/rookery-project/rookery/deploy/grafana/written"
)

// mark is a time in all charts of a screen, from the first of points that follow each other to the last.
type mark struct {
	from, to time.Time
	ink      ink
}

// marksOf are those of the screen's annotations.
func marksOf(s written.Screen, said Answers, shown promv1.Range) []mark {
	var all []mark
	for i, a := range s.Annotations.List {
		for _, one := range seriesOf(said.Annotations[i]) {
			for _, part := range parts(one.values, shown.Step) {
				all = append(all, mark{part[0].at, part[len(part)-1].at, named[a.IconColor]})
			}
		}
	}
	return all
}

// parts are the samples that follow each other without one missing.
func parts(samples []sample, step time.Duration) [][]sample {
	var all [][]sample
	for i, s := range samples {
		if i == 0 || s.at.Sub(samples[i-1].at) > step*3/2 {
			all = append(all, nil)
		}
		all[len(all)-1] = append(all[len(all)-1], s)
	}
	return all
}
