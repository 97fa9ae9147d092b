package podman

import (
	"encoding/json"
	"fmt"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

// labelBeforeStop holds what a main container is asked before it is stopped; not there where that is nothing.
const labelBeforeStop = events.ReservedLabel + "before-stop"

func labelWithBeforeStop(labels map[string]string, asked *node.BeforeStop) error {
	if asked == nil {
		return nil
	}
	text, err := json.Marshal(asked)
	if err != nil {
		return fmt.Errorf("encoding what comes before a stop: %w", err)
	}
	labels[labelBeforeStop] = string(text)
	return nil
}

// beforeStop reads what the container of these labels is asked before it is stopped.
func beforeStop(labels map[string]string) (*node.BeforeStop, error) {
	text, ok := labels[labelBeforeStop]
	if !ok {
		return nil, nil
	}
	asked := new(node.BeforeStop)
	if err := json.Unmarshal([]byte(text), asked); err != nil {
		return nil, fmt.Errorf("label %s: %w", labelBeforeStop, err)
	}
	return asked, nil
}
