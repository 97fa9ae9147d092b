package events

import (
	"strings"
	"testing"
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
