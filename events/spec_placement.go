package events

import "slices"

// Placement says on which nodes the instances of a service may run, and beside what.
type Placement struct {
	// NodeSelector names labels and the values that a node must have for them.
	NodeSelector map[string]string `json:"node_selector,omitempty"`
	// Zones are those that a node must be in one of; any where there are none.
	Zones []string `json:"zones,omitempty" jsonschema:"minLength=1"`
	// AntiAffinity chooses, by the labels of their services, instances of the same namespace. No node may run one of them beside an
	// instance of this service.
	AntiAffinity []Selector `json:"anti_affinity,omitempty"`
	// Spread chooses, by the labels of their services, all instances of the same namespace that are spread over the zones together.
	// Default: the service's own instances.
	Spread []Selector `json:"spread,omitempty"`
	// MaxPerNode is the most instances of the service that one node runs; 0 for any number.
	MaxPerNode uint32 `json:"max_per_node,omitzero"`
}

// MaxZones bounds the zones of a spec.
const MaxZones = 64

func (p Placement) check() error {
	if len(p.NodeSelector) > MaxLabels {
		return Reject(CodeOutOfRange, "node_selector", "node_selector has %d entries, more than %d", len(p.NodeSelector), MaxLabels)
	}
	for _, name := range sortedKeys(p.NodeSelector) {
		field := "node_selector." + printable(name)
		if name == "" {
			return Reject(CodeInvalidName, field, "node_selector has a label without a name")
		}
		if err := checkText(field, p.NodeSelector[name]); err != nil {
			return err
		}
	}
	if len(p.Zones) > MaxZones {
		return Reject(CodeOutOfRange, "zones", "zones has %d entries, more than %d", len(p.Zones), MaxZones)
	}
	if i := slices.Index(p.Zones, ""); i >= 0 {
		return Reject(CodeInvalidValue, "zones", "zones[%d] is empty: nodes without a zone are in none that could be named", i)
	}
	if err := checkList("zones", p.Zones); err != nil {
		return err
	}
	if err := checkSelectors("anti_affinity", p.AntiAffinity); err != nil {
		return err
	}
	return checkSelectors("spread", p.Spread)
}

// withDefaults returns the placement with no list or map that is there but empty.
func (p Placement) withDefaults() Placement {
	if len(p.NodeSelector) == 0 {
		p.NodeSelector = nil
	}
	if len(p.Zones) == 0 {
		p.Zones = nil
	}
	p.AntiAffinity, p.Spread = tidy(p.AntiAffinity), tidy(p.Spread)
	return p
}

func tidy(selectors []Selector) []Selector {
	selectors = append([]Selector(nil), selectors...) // nil where there are none
	for i := range selectors {
		if len(selectors[i].Values) == 0 {
			selectors[i].Values = nil
		}
	}
	return selectors
}
