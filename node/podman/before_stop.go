package podman

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

// labelBeforeStop holds the hook of a main container before its stop, and labelDrain how long that runs on before; each is absent where there is
// none.
const (
	labelBeforeStop = events.ReservedLabel + "before-stop"
	labelDrain      = events.ReservedLabel + "drain"
)

func labelWithBeforeStop(labels map[string]string, comes *node.BeforeStop) error {
	if comes == nil {
		return nil
	}
	if comes.Drain > 0 {
		labels[labelDrain] = time.Duration(comes.Drain).String()
	}
	if comes.Hook == nil {
		return nil
	}
	text, err := json.Marshal(comes)
	if err != nil {
		return fmt.Errorf("encoding what comes before a stop: %w", err)
	}
	labels[labelBeforeStop] = string(text)
	return nil
}

// beforeStop reads what comes before the stop of the container with these labels.
func beforeStop(labels map[string]string) (*node.BeforeStop, error) {
	var comes node.BeforeStop
	if text, has := labels[labelBeforeStop]; has {
		if err := json.Unmarshal([]byte(text), &comes); err != nil {
			return nil, fmt.Errorf("label %s: %w", labelBeforeStop, err)
		}
	}
	if text, has := labels[labelDrain]; has {
		if err := comes.Drain.UnmarshalText([]byte(text)); err != nil {
			return nil, fmt.Errorf("label %s: %w", labelDrain, err)
		}
	}
	if comes == (node.BeforeStop{}) {
		return nil, nil
	}
	return &comes, nil
}
