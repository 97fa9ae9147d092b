package main

import (
	"testing"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections/views"
)

// TestAPausedUpdateGoesOn applies a file that equals the service's spec. The plan sends a command only if the update to that spec
// is paused.
func TestAPausedUpdateGoesOn(t *testing.T) {
	scale := int64(2)
	wanted := map[string]events.ServiceEnsure{"web": {Spec: events.Spec{Image: "localhost/web:1"}, Scale: &scale}}
	for state, want := range map[string]action{"running": actionUnchanged, "updating": actionUnchanged, views.StatePaused: actionChange} {
		view := views.Service{Namespace: "demo", Name: "web", State: state, Scale: 2, Spec: events.Spec{Image: "localhost/web:1"}}
		p, err := newPlan("demo", wanted, presentServices{views: map[string]views.Service{"web": view}, sequence: 7})
		if err != nil {
			t.Fatal(err)
		}
		if s := p.Steps[0]; s.Action != want || (s.ask != nil) != (want == actionChange) {
			t.Errorf("the plan for a service that is %s is %s with %v, want %s", state, s.Action, s.ask, want)
		}
	}
}
