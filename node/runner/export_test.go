package runner_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rookery-project/rookery/events"
)

// TestAVolumeThatCannotBeKeptIsGivenUpWithTheReason asks for a volume that the engine does not read, and expects the answer as soon as no
// time is left for another try.
func TestAVolumeThatCannotBeKeptIsGivenUpWithTheReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		spec := specOf(good)
		spec.Volumes = []events.Volume{{Name: "data", Path: failing, Kind: events.VolumeNamed, State: true}}
		spec.Update = &events.Update{HealthyDeadline: events.Duration(10500 * time.Millisecond)}
		w.tellSpec(0, events.ActionRun, spec)
		w.live <- w.storeOrder(0, events.Order{
			Action: events.ActionRun, Spec: spec, Ask: &events.Ask{Operation: 7, Phase: events.OperationExport, Version: 1},
		})
		<-time.After(10400 * time.Millisecond)
		synctest.Wait()
		all := w.said()
		if last := string(all[len(all)-1].Body); !strings.Contains(last, `"refused":"its export of its volumes: volume data: it says no"`) {
			t.Errorf("the node says %s", last)
		}
	})
}
