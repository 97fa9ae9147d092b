package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/rookery-project/rookery/coordinator/runner/api"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

// ask asks a coordinator, and reads its answer. stale says why the answer may be old; "" where it is not. Without an answer the error says why.
func ask(ctx context.Context, b *bus.JetStream, name string, within time.Duration, question api.Question, answer any) (stale string, err error) {
	body, err := json.Marshal(question)
	if err != nil {
		return "", err
	}
	call, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	m, err := b.RequestWhole(call, events.Message{Subject: b.QuestionSubject(name, question.About()), Header: events.Header{}, Body: body})
	if err != nil {
		return "", unanswered(ctx, b, err)
	}
	if err := refusal(m); err != nil {
		return "", err
	}
	if err := json.Unmarshal(m.Body, answer); err != nil {
		return "", fmt.Errorf("read the coordinator's answer: %w", err)
	}
	return m.Header.Get(bus.HeaderStale), nil
}

// unanswered returns the error for a question without an answer, with the next step.
func unanswered(ctx context.Context, b *bus.JetStream, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, bus.ErrForbidden) {
		return err
	}
	_, wrong := logState(ctx, b)
	if b.WrongServer(wrong) != "" || errors.Is(wrong, bus.ErrNoStream) || errors.Is(wrong, bus.ErrNoAnswer) {
		return wrong
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("no answer in time: %w: run this again; if it fails again, read the coordinator's log", err)
	}
	return fmt.Errorf("no coordinator answers: %w: start one with `rookery coordinator`", err)
}

// warn says on the standard error why an answer may be old.
func warn(stale string) {
	if stale != "" {
		complain(os.Stderr, "warning: "+stale)
	}
}

// listed asks for what a view has, page by page, and returns it with the place in the log that all of it has reached at least. Of a user that sees
// some namespaces alone it asks for each of these.
func listed[T any](ctx context.Context, b *bus.JetStream, bucket string, q api.ListQuestion) (all []T, at uint64, stale string, err error) {
	q.Limit = api.MostListed
	namespaces := b.Namespaces()
	if bucket == bus.BucketNodes || q.Namespace != "" || len(namespaces) == 0 {
		namespaces = []string{q.Namespace}
	}
	for _, q.Namespace = range namespaces {
		some, reached, late, err := pages[T](ctx, b, bucket, q)
		if err != nil {
			return nil, 0, "", err
		}
		if all, stale = append(all, some...), cmp.Or(stale, late); at == 0 || reached < at {
			at = reached
		}
	}
	return all, at, stale, nil
}

// pages is listed for one question.
func pages[T any](ctx context.Context, b *bus.JetStream, bucket string, q api.ListQuestion) (all []T, at uint64, stale string, err error) {
	for {
		var page api.List[T]
		late, err := ask(ctx, b, bus.ViewOf(bucket), answerTimeout, q, &page)
		if err != nil {
			return nil, 0, "", err
		}
		if all, stale = append(all, page.Items...), cmp.Or(stale, late); at == 0 || page.LogSequence < at {
			at = page.LogSequence
		}
		if q.Continue = page.Continue; q.Continue == "" {
			return all, at, stale, nil
		}
	}
}

// readList is listed for a command that shows it once.
func readList[T any](ctx context.Context, b *bus.JetStream, bucket string, q api.ListQuestion) ([]T, error) {
	all, _, stale, err := listed[T](ctx, b, bucket, q)
	warn(stale)
	return all, err
}

// item is what the key of a value consists of: for nodes the name alone.
type item struct {
	Namespace string          `json:"namespace"`
	Name      string          `json:"name"`
	Ordinal   *jsontext.Value `json:"ordinal"`
}

// changesIn returns what a view has as changes, by their keys.
func changesIn(ctx context.Context, b *bus.JetStream, bucket string, q api.ListQuestion) (all []bus.Change, stale string, err error) {
	values, _, stale, err := listed[jsontext.Value](ctx, b, bucket, q)
	for _, value := range values {
		var i item
		if err := json.Unmarshal(value, &i); err != nil {
			return nil, "", fmt.Errorf("read a value of %s: %w", bucket, err)
		}
		key := i.Name
		if i.Namespace != "" {
			key = i.Namespace + "." + i.Name
		}
		if i.Ordinal != nil {
			key += "." + strings.TrimSpace(string(*i.Ordinal))
		}
		all = append(all, bus.Change{Bucket: bucket, Key: key, Value: value})
	}
	return all, stale, err
}

// listsOf returns how a watch lists views. An answer that may be old shows that nothing new is seen.
func listsOf(b *bus.JetStream) func(ctx context.Context, bucket string) ([]bus.Change, error) {
	return func(ctx context.Context, bucket string) ([]bus.Change, error) {
		all, stale, err := changesIn(ctx, b, bucket, api.ListQuestion{})
		if stale != "" {
			err = errors.Join(err, errors.New(stale))
		}
		return all, err
	}
}
