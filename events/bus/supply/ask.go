package supply

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/events/bus/session"
)

// asking is a Supply that the leader gives.
type asking struct {
	bus  bus.Bus
	node string
}

// Ask returns the node's supply by questions to the leader. Without a leader its calls return bus.ErrNoAnswer.
func Ask(b bus.Bus, node string) Supply { return asking{b, node} }

// ask asks a short question.
func (a asking) ask(ctx context.Context, question string, q asked) ([]byte, error) {
	body, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	answer, err := a.bus.Request(ctx, events.Message{Subject: subject(question, a.node), Header: events.Header{}, Body: body})
	if err == nil {
		err = bus.Refused(answer)
	}
	return answer.Body, fromWire(err)
}

// How long open asks again while the leader is busy or changes, and how often.
const (
	openFor   = 2 * progressWithin
	openAgain = 250 * time.Millisecond
)

// open asks a question whose answer, or what is stored, is a stream of bytes. It asks again for a while if the leader is busy or changes.
func (a asking) open(ctx context.Context, question string, q asked) (*session.Conn, error) {
	body, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	over := time.After(openFor)
	for {
		c, err := session.OpenAs(ctx, a.bus, a.node, subject(question, a.node), body)
		if err == nil || !passing(err) {
			return c, fromWire(err)
		}
		select {
		case <-time.After(openAgain):
		case <-over:
			return nil, fromWire(err)
		case <-ctx.Done():
			return nil, fromWire(err)
		}
	}
}

// passing reports whether another try may find a leader that answers.
func passing(err error) bool {
	var refused *bus.QuestionError
	return errors.Is(err, bus.ErrNoAnswer) || (errors.As(err, &refused) && (refused.Code == busy || refused.Code == unavailable))
}

// Orders implements Supply.
func (a asking) Orders(ctx context.Context) (all []events.Message, err error) {
	c, err := a.open(ctx, askOrders, asked{})
	if err != nil {
		return nil, err
	}
	defer c.Close(nil, nil)
	orders := jsontext.NewDecoder(&reader{ctx: ctx, c: c})
	for {
		var m events.Message
		err := json.UnmarshalDecode(orders, &m)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read orders: %w", err)
		}
		all = append(all, m)
	}
}

// Config implements Supply.
func (a asking) Config(ctx context.Context, id events.InstanceID, name string) ([]byte, error) {
	return a.ask(ctx, askConfig, asked{Instance: id, Config: name})
}

// KeepOutput implements Supply.
func (a asking) KeepOutput(ctx context.Context, id events.InstanceID, attempt uint32, lines []byte) error {
	_, err := a.ask(ctx, askKeepOutput, asked{Instance: id, Attempt: attempt, Lines: lines})
	return err
}

// HasVolume implements Supply.
func (a asking) HasVolume(ctx context.Context, id events.InstanceID, digest string) (bool, error) {
	answer, err := a.ask(ctx, askHasVolume, asked{Instance: id, Digest: digest})
	if err != nil {
		return false, err
	}
	var f found
	err = json.Unmarshal(answer, &f)
	return f.Found, err
}

// StoreVolume implements Supply.
func (a asking) StoreVolume(ctx context.Context, id events.InstanceID, digest string, content io.Reader) error {
	c, err := a.open(ctx, askStoreVolume, asked{Instance: id, Digest: digest})
	if err != nil {
		return err
	}
	switch err := send(ctx, c, content); {
	case errors.Is(err, io.EOF): // the leader has ended it well before: it has the content
		c.Close(nil, nil)
		return nil
	case err != nil:
		c.Close(nil, err)
		return fromWire(err)
	}
	defer c.Close(nil, nil)
	switch _, err := c.Receive(ctx); {
	case errors.Is(err, io.EOF):
		return nil
	case err == nil:
		return fmt.Errorf("store the content %s: the leader sends something back", digest)
	default:
		return fromWire(err)
	}
}

// Volume implements Supply.
func (a asking) Volume(ctx context.Context, id events.InstanceID, digest string) (io.ReadCloser, error) {
	c, err := a.open(ctx, askVolume, asked{Instance: id, Digest: digest})
	if err != nil {
		return nil, err
	}
	return &reader{ctx: ctx, c: c}, nil
}
