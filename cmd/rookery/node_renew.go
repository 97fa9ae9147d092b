package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/rookery-project/rookery/cmd/rookery/secure"
	"github.com/rookery-project/rookery/events"
)

// renewal keeps the credentials of a node valid that has joined with a token.
type renewal struct {
	log *slog.Logger
	// url, ca and creds are what the node connects with: the file creds is read again with each connection.
	url, ca, creds string
	conn           *nats.Conn
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

// run renews the credentials at two thirds of the time that they last, again and again.
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
	u, seed, err := r.read()
	if err != nil {
		return err
	}
	creds, err := os.ReadFile(secure.AgainFile(r.creds))
	if err != nil {
		return fmt.Errorf("read the credentials with which the node asks again: %w", err)
	}
	var ca []byte
	if r.ca != "" {
		if ca, err = os.ReadFile(r.ca); err != nil {
			return err
		}
	}
	asks := &applicant{url: r.url, ca: ca, creds: creds, question: events.JoinQuestion{Node: u.Name, Key: events.NodeKey(u.Key)}}
	answer, err := asks.ask(ctx)
	if err != nil {
		return err
	}
	files, err := secure.NodeFiles(filepath.Base(r.creds), seed, answer)
	if err != nil {
		return err
	}
	if err := (&secured{filepath.Dir(r.creds)}).write(files); err != nil {
		return err
	}
	r.log.Info("the credentials of the node are renewed", "end", answer.Until)
	return r.conn.ForceReconnect()
}
