package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/rookery-project/rookery/cmd/rookery/secure"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

// renewal keeps the credentials of a node valid that has joined with a token.
type renewal struct {
	log *slog.Logger
	// url, ca and creds are what the node connects with: the file creds is read again with each connection.
	url, ca, creds string
	conn           *nats.Conn
	// key is the one that the connection was made with.
	key string
}

// renews runs a renewal until stop is called, if the credentials of this connection end.
func (l *link) renews(ctx context.Context, conn *nats.Conn, log *slog.Logger) (stop func()) {
	r := &renewal{log: log, url: l.used.url, ca: l.used.ca, creds: l.used.creds, conn: conn}
	if r.creds == "" {
		return func() {}
	}
	switch u, _, err := r.read(); {
	case err != nil:
		log.Warn("the credentials of the node are not renewed", "file", r.creds, "error", err)
		return func() {}
	case u.Ends.IsZero():
		return func() {}
	default:
		r.key = u.Key
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.run(ctx)
	}()
	return func() {
		cancel()
		<-ended
	}
}

func (r *renewal) read() (u secure.User, seed []byte, err error) {
	creds, err := os.ReadFile(r.creds)
	if err != nil {
		return u, nil, err
	}
	return secure.ReadCredentials(creds)
}

// A renewal is tried again after a hundredth of the time that the credentials last, within these bounds. A timer does not count while the host
// sleeps, so that the time is looked at as often.
const (
	renewAgainAfter  = time.Second
	renewAgainWithin = 10 * time.Minute
	triesToRenew     = 100
)

// run renews the credentials at two thirds of the time that they last, again and again. It connects again where they are of another key.
func (r *renewal) run(ctx context.Context) {
	for wait := time.Duration(0); ; {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
		u, _, err := r.read()
		lasts := u.Ends.Sub(u.Issued)
		due := u.Issued.Add(lasts * 2 / 3)
		wait = min(max(lasts/triesToRenew, renewAgainAfter), renewAgainWithin)
		if err == nil && u.Key != r.key {
			r.log.Info("the node connects with another key", "key", u.Key)
			if err := r.conn.ForceReconnect(); err != nil {
				r.log.Warn("the node does not connect again", "error", err)
			} else {
				r.key = u.Key
			}
		}
		if left := time.Until(due); err == nil && left > 0 {
			wait = min(wait, left)
			continue
		}
		if err == nil {
			err = r.once(ctx)
		}
		if err != nil {
			r.log.Warn("the credentials of the node were not renewed", "end", u.Ends, "error", err)
		}
	}
}

// once gets new credentials, and connects with them.
func (r *renewal) once(ctx context.Context) error {
	u, _, err := r.read()
	if err != nil {
		return err
	}
	var key events.NodeKey
	var until time.Time
	err = r.folder().aloneWith(u.Name, func() (err error) {
		key, until, err = r.again(ctx)
		return err
	})
	if err != nil {
		return err
	}
	r.key = string(key)
	r.log.Info("the credentials of the node are renewed", "end", until)
	return r.conn.ForceReconnect()
}

// nextKeyFile has the key that a node is to have in place of its own, until it has credentials for it.
func nextKeyFile(node string) string { return node + ".next.key" }

// again gets new credentials for the node's key, or for the one that it is to have in its place, and returns that key and until when they last. Where it was
// interrupted, it goes on. A key that the coordinator refuses is removed.
func (r *renewal) again(ctx context.Context) (key events.NodeKey, until time.Time, err error) {
	u, seed, err := r.read()
	if err != nil {
		return key, until, err
	}
	next, nextKey, err := r.folder().readKey(nextKeyFile(u.Name))
	if errors.Is(err, fs.ErrNotExist) {
		key = events.NodeKey(u.Key)
		until, err = r.ask(ctx, events.JoinQuestion{Node: u.Name, Key: key}, seed)
		return key, until, err
	}
	if err != nil {
		return key, until, err
	}
	question := events.JoinQuestion{Node: u.Name, Key: nextKey}
	if string(nextKey) != u.Key {
		former, err := nkeys.FromSeed(seed)
		if err == nil {
			question, err = question.Replacing(former)
		}
		if err != nil {
			return key, until, err
		}
	}
	if until, err = r.ask(ctx, question, next); err != nil {
		if refused := (*bus.QuestionError)(nil); errors.As(err, &refused) && refused.Code == forbidden {
			err = errors.Join(err, r.folder().remove(nextKeyFile(u.Name)))
		}
		return key, until, err
	}
	if err = r.folder().write(secure.Files{keyFile(u.Name): next}); err == nil {
		err = r.folder().remove(nextKeyFile(u.Name))
	}
	return nextKey, until, err
}

// folder has the credentials.
func (r *renewal) folder() *secured { return &secured{filepath.Dir(r.creds)} }

// ask gets credentials for the key of the question, whose seed this is, and returns until when they last.
func (r *renewal) ask(ctx context.Context, q events.JoinQuestion, seed []byte) (until time.Time, err error) {
	creds, err := os.ReadFile(secure.AgainFile(r.creds))
	if err != nil {
		return until, fmt.Errorf("read the credentials with which the node asks again: %w", err)
	}
	var ca []byte
	if r.ca != "" {
		if ca, err = os.ReadFile(r.ca); err != nil {
			return until, err
		}
	}
	answer, err := (&applicant{url: r.url, ca: ca, creds: creds, question: q}).ask(ctx)
	if err != nil {
		return until, err
	}
	files, err := secure.NodeFiles(filepath.Base(r.creds), seed, answer)
	if err != nil {
		return until, err
	}
	return answer.Until, r.folder().write(files)
}
