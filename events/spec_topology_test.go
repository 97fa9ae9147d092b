package events

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

// TestAScaleThatATopologyCannotHave holds what one instance is told to what one message may be.
func TestAScaleThatATopologyCannotHave(t *testing.T) {
	spec := Spec{Image: "i", TopologySpec: TopologySpec{Topology: &TopologyRules{}}}
	for _, tt := range []struct {
		ports         int
		most, refused uint32
		says          string
	}{
		{0, MaxTopologyScale, MaxTopologyScale + 1, "more than 256"},
		{MaxPorts, 102, 103, "more than 524288"},
	} {
		spec.Ports = make([]Port, tt.ports)
		for i := range spec.Ports {
			spec.Ports[i].Name = strings.Repeat("p", MaxName)
		}
		if err := spec.CheckScale(tt.most); err != nil {
			t.Errorf("%d ports at scale %d: %v", tt.ports, tt.most, err)
		}
		wantRejection(t, spec.CheckScale(tt.refused), CodeOutOfRange, "scale", tt.says)
	}
	spec.Topology = nil
	if err := spec.CheckScale(MaxScale); err != nil {
		t.Errorf("without a topology: %v", err)
	}
}

// TestATopologyOfDefaultsIsSent holds a spec that a program writes to say that there is a topology, although it says nothing of it.
func TestATopologyOfDefaultsIsSent(t *testing.T) {
	spec := Spec{Image: "localhost/web:1", TopologySpec: TopologySpec{Topology: &TopologyRules{}}}
	body, err := json.Marshal(ServiceEnsure{Spec: spec}, json.Deterministic(true))
	if err != nil || string(body) != `{"image":"localhost/web:1","topology":{}}` {
		t.Errorf("sent is %s, %v", body, err)
	}
}
