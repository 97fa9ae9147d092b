package events

import "testing"

// TestAScaleThatATopologyCannotHave holds what one instance is told to what one message may be.
func TestAScaleThatATopologyCannotHave(t *testing.T) {
	spec := Spec{Image: "i", TopologySpec: TopologySpec{Topology: &TopologyRules{}}}
	for _, tt := range []struct {
		ports         int
		most, refused uint32
		says          string
	}{
		{0, MaxTopologyScale, MaxTopologyScale + 1, "more than 256"},
		{MaxPorts, MaxTopologyPorts / MaxPorts, MaxTopologyPorts/MaxPorts + 1, "more than 4096"},
	} {
		spec.Ports = make([]Port, tt.ports)
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
