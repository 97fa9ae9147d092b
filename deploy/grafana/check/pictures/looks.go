package pictures

import (
	"encoding/json"
	"fmt"

	"github.com/rookery-project/rookery/deploy/grafana/written"
)

// looks are those of a field: a panel's, but for what an override says.
type looks struct {
	written.Looks
	coloured bool // a cell's text has the colour of its threshold
}

// looks are those of the field with this title.
func (p panel) looks(title string) looks {
	if l, known := p.overridden[title]; known {
		return l
	}
	return looks{Looks: p.FieldConfig.Defaults}
}

// overriddenBy reads the overrides of a panel, by the titles of fields. It fails for an override that this package cannot draw.
func overriddenBy(p written.Panel) (map[string]looks, error) {
	if err := told(p.FieldConfig.Defaults.Unit); err != nil {
		return nil, err
	}
	all := map[string]looks{}
	for _, o := range p.FieldConfig.Overrides {
		if o.Matcher.ID != "byName" {
			return nil, fmt.Errorf("an override matches %s: fields are known by their names alone", o.Matcher.ID)
		}
		l := looks{Looks: p.FieldConfig.Defaults}
		for _, property := range o.Properties {
			var err error
			switch property.ID {
			case "unit":
				err = json.Unmarshal(property.Value, &l.Unit)
			case "thresholds":
				l.Thresholds = written.Thresholds{}
				err = json.Unmarshal(property.Value, &l.Thresholds)
			case "custom.cellOptions":
				var cell struct{ Type string }
				err = json.Unmarshal(property.Value, &cell)
				l.coloured = cell.Type == "color-text"
			}
			if err != nil {
				return nil, fmt.Errorf("the %s of %s: %w", property.ID, o.Matcher.Options, err)
			}
		}
		if err := told(l.Unit); err != nil {
			return nil, fmt.Errorf("%s: %w", o.Matcher.Options, err)
		}
		all[o.Matcher.Options] = l
	}
	return all, nil
}

// told fails for a unit that this package cannot write.
func told(unit string) error {
	if scales[unit] == nil {
		return fmt.Errorf("unit %q is not supported: add it to scales", unit)
	}
	return nil
}
