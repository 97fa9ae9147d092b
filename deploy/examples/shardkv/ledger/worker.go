package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	// maxHints is how often in a row a worker goes at once where an instance sends it: two that know different
	// topologies may send it to each other.
	maxHints = 4
	// maxAnswer is as much of an answer as is read, in bytes.
	maxAnswer = 1 << 17
)

// worker is one client. It has one operation under way at a time.
type worker struct {
	*Ledger
	number  int
	written int
	dice    *rand.Rand
}

func (l *Ledger) worker(number int) *worker {
	return &worker{Ledger: l, number: number, dice: rand.New(rand.NewPCG(l.config.Seed, uint64(number)))}
}

// next draws an operation and does it. Every value is written by one operation alone.
func (w *worker) next(ctx context.Context) Operation {
	op := Operation{Key: w.key(w.dice.IntN(w.config.Keys))}
	if w.dice.IntN(2) == 0 {
		w.written++
		op.Put, op.Value = true, fmt.Sprintf("%s/%d/%d", op.Key, w.number, w.written)
	}
	return w.do(ctx, op)
}

// do tries the operation, at one instance after the other, until it is answered or the patience is at its end.
func (w *worker) do(ctx context.Context, op Operation) Operation {
	ctx, cancel := context.WithTimeout(ctx, w.config.Patience)
	defer cancel()
	op.Begin = w.now()
	for hints := 0; ctx.Err() == nil; hints++ {
		address := op.hint
		if address == "" || hints >= maxHints {
			hints, address = 0, w.choose()
		}
		op.hint = ""
		op.Start = w.now()
		err := w.attempt(ctx, &op, address)
		op.End = w.now()
		if err == nil {
			op.Answered, op.Failure = true, ""
			return op
		}
		op.Failure = err.Error()
		if op.hint == "" || hints+1 >= maxHints {
			select {
			case <-ctx.Done():
			case <-time.After(w.config.Pause):
			}
		}
	}
	op.End = w.now()
	return op
}

// choose draws one of the present addresses, or returns "".
func (w *worker) choose() string {
	addresses := w.config.Addresses()
	if len(addresses) == 0 {
		return ""
	}
	return addresses[w.dice.IntN(len(addresses))]
}

// attempt asks one instance. It returns an error unless that one has answered as one that serves the key.
func (w *worker) attempt(ctx context.Context, op *Operation, address string) error {
	if address == "" {
		return errors.New("there is no instance")
	}
	method, body := http.MethodGet, io.Reader(nil)
	if op.Put {
		method, body = http.MethodPut, strings.NewReader(op.Value)
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://"+address+"/keys/"+url.PathEscape(op.Key), body)
	if err != nil {
		return err
	}
	answer, err := w.client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil {
		return err
	}
	switch {
	case answer.StatusCode == http.StatusOK:
		if !op.Put {
			op.Value = string(text)
		}
		return readHeaders(op, answer.Header, true)
	case answer.StatusCode == http.StatusNotFound && !op.Put:
		return readHeaders(op, answer.Header, false)
	case answer.StatusCode == http.StatusMisdirectedRequest:
		var owner struct {
			Address string `json:"address"`
		}
		if err := json.Unmarshal(text, &owner); err != nil {
			return err
		}
		op.hint = owner.Address
	}
	return fmt.Errorf("%s from %s: %.200s", answer.Status, address, text)
}

// readHeaders reads who has answered, and of what version. A key that its owner does not have is of version 0.
func readHeaders(op *Operation, header http.Header, has bool) error {
	var ordinal uint64
	err := error(nil)
	number := func(name string, bits int, to *uint64) {
		n, e := strconv.ParseUint(header.Get(name), 10, bits)
		*to, err = n, errors.Join(err, e)
	}
	number("X-Ordinal", 32, &ordinal)
	number("X-Config-Version", 64, &op.ConfigVersion)
	op.Ordinal, op.Version = uint32(ordinal), 0
	if has {
		number("X-Version", 64, &op.Version)
	}
	if err != nil {
		return fmt.Errorf("an answer whose headers cannot be read: %w", err)
	}
	return nil
}
