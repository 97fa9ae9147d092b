package screens

import (
	"encoding/json"
	"fmt"

	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// RulesFile is the name of the file with the alert rules.
const RulesFile = "rules.yaml"

// Files returns all files by their names.
func Files() (map[string][]byte, error) {
	files := map[string][]byte{}
	for name, s := range map[string]*screen{
		"fleet.json":       fleet(),
		"service.json":     service(),
		"operations.json":  operations(),
		"coordinator.json": coordinator(),
		"node.json":        node(),
	} {
		made, err := s.Build()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		number(made.Panels)
		body, err := json.MarshalIndent(made, "", "  ")
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		files[name] = append(body, '\n')
	}
	rules, err := rules()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", RulesFile, err)
	}
	files[RulesFile] = rules
	return files, nil
}

// number gives panels and rows their ids, by their position. Links to single panels use these ids.
func number(panels []dashboard.PanelOrRowPanel) {
	for i, p := range panels {
		id := uint32(i + 1)
		if p.Panel != nil {
			p.Panel.Id = &id
		} else {
			p.RowPanel.Id = id
		}
	}
}
