package compose

import (
	"time"

	"github.com/compose-spec/compose-go/v2/types"

	"github.com/rookery-project/rookery/events"
)

// Defaults of the Compose specification.
const (
	checkEvery   = events.Duration(30 * time.Second)
	checkWithin  = events.Duration(30 * time.Second)
	checkRetries = 3
)

// health maps the check by which the node decides whether an instance serves.
func (o *one) health() {
	h := o.HealthCheck
	if h == nil || h.Disable || len(h.Test) == 0 {
		if h != nil && !h.Disable {
			o.refuse("healthcheck.test", nil, "Rookery does not use the health check of an image: write the test here")
		}
		return
	}
	made := &events.Health{Interval: checkEvery, Timeout: checkWithin, Retries: checkRetries}
	switch test := h.Test; test[0] {
	case "NONE":
		return
	case "CMD":
		made.Exec = test[1:]
	case "CMD-SHELL":
		made.Exec = append([]string{"/bin/sh", "-c"}, test[1:]...)
	default:
		o.refuse("healthcheck.test", test[0], "a test must begin with CMD, CMD-SHELL or NONE")
		return
	}
	for _, d := range []struct {
		given *types.Duration
		made  *events.Duration
	}{{h.Interval, &made.Interval}, {h.Timeout, &made.Timeout}, {h.StartPeriod, &made.StartPeriod}} {
		if d.given != nil {
			*d.made = events.Duration(*d.given)
		}
	}
	if h.Retries != nil {
		made.Retries = uint32(*h.Retries)
	}
	o.is.Health = made
}
