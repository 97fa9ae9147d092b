package supply

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

// The questions. Those of orders and of the contents of volumes open sessions.
const (
	askOrders      = "orders"
	askConfig      = "config"
	askKeepOutput  = "keep-output"
	askHasVolume   = "has-volume"
	askStoreVolume = "store-volume"
	askVolume      = "volume"
)

// subject is where a node asks the question.
func subject(question, node string) string { return events.SupplyRoot + "." + question + "." + node }

// nodeOf reads the node from the subject of a question.
func nodeOf(subject string) string { return subject[strings.LastIndex(subject, ".")+1:] }

// asked is the body of a question, but for that of orders, which has none.
type asked struct {
	Instance events.InstanceID `json:"instance"`
	Config   string            `json:"config,omitempty"`
	Digest   string            `json:"digest,omitempty"`
	Attempt  uint32            `json:"attempt,omitzero"`
	Lines    []byte            `json:"lines,omitempty"`
}

// found is the answer to askHasVolume.
type found struct {
	Found bool `json:"found"`
}

// allows reports whether a node with this order for the instance may ask the question.
func (q asked) allows(question string, o events.Order) bool {
	switch question {
	case askConfig:
		return o.Spec != nil && slices.ContainsFunc(o.Spec.Configs, func(c events.Config) bool { return c.Name == q.Config })
	case askKeepOutput:
		return o.Action != events.ActionForget
	case askHasVolume, askStoreVolume:
		return o.Ask != nil && o.Ask.Phase == events.OperationExport
	case askVolume:
		return o.Restore != nil && slices.ContainsFunc(o.Restore.Volumes, func(e events.Export) bool { return e.Digest == q.Digest })
	}
	return false
}

// The codes of refusals after which a node asks again.
const (
	busy        = 429
	unavailable = 503
)

// codes are what errors of a Supply are on the wire.
var codes = []struct {
	code int
	err  error
}{
	{403, bus.ErrForbidden}, {404, bus.ErrNoKey}, {409, ErrDigest}, {413, bus.ErrTooLarge}, {507, bus.ErrFull},
}

// toWire returns the error as a node is told of it.
func toWire(err error) error {
	for _, known := range codes {
		if errors.Is(err, known.err) {
			return &bus.QuestionError{Code: known.code, Reason: err.Error()}
		}
	}
	return err
}

// fromWire returns the error that a node was told of.
func fromWire(err error) error {
	var refused *bus.QuestionError
	if !errors.As(err, &refused) {
		return err
	}
	for _, known := range codes {
		if refused.Code == known.code {
			return fmt.Errorf("%w: the leader says: %w", known.err, err)
		}
	}
	return err
}
