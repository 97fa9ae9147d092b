package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"
	"github.com/synadia-io/orbit.go/natscontext"

	"github.com/rookery-project/rookery/events/bus"
)

// link says how to reach the bus: by flags, NATS_* variables or a NATS context, as in every NATS tool.
type link struct {
	server  string
	creds   string
	context string
	// used is what the last connection was made with: files, and the address of the server.
	used struct{ url, creds, ca string }
	// end ends the command that runs, with what a server said, if it needs streams.
	end   context.CancelCauseFunc
	needs bool
}

func (l *link) flags(cmd *cobra.Command) {
	f := cmd.PersistentFlags()
	f.StringVarP(&l.server, "server", "s", os.Getenv("NATS_URL"), "NATS server `URL` (NATS_URL)")
	f.StringVar(&l.creds, "creds", os.Getenv("NATS_CREDS"), "NATS credentials `file` (NATS_CREDS)")
	f.StringVar(&l.context, "context", os.Getenv("NATS_CONTEXT"), "NATS context `name`, or a path of one (NATS_CONTEXT; default the selected context)")
	setBy(f, "server", "NATS_URL")
	setBy(f, "creds", "NATS_CREDS")
	setBy(f, "context", "NATS_CONTEXT")
}

// The client pings the server to detect a connection that died silently. It drops and replaces such a connection within
// (deafPings + 1) * pingEvery.
const (
	pingEvery = 2 * time.Second
	deafPings = 2
)

// connect returns a connection. Coordinators and nodes wait for an unreachable server; other commands return an error.
func (l *link) connect(name string, options ...nats.Option) (*nats.Conn, error) {
	options = append([]nats.Option{
		nats.Name(name), nats.MaxReconnects(-1), nats.ReconnectWait(250 * time.Millisecond),
		nats.PingInterval(pingEvery), nats.MaxPingsOutstanding(deafPings), nats.ErrorHandler(l.heard),
	}, options...)
	if l.server != "" {
		if l.creds != "" {
			options = append(options, nats.UserCredentials(l.creds))
		}
		l.used.url, l.used.creds = l.server, l.creds
		return explain(l.server)(nats.Connect(l.server, options...))
	}
	conn, settings, err := natscontext.Connect(l.contextName(), options...)
	l.used.url, l.used.creds, l.used.ca = settings.URL, inHome(settings.Creds), inHome(settings.CA)
	if prefix := settings.InboxPrefix; err == nil && prefix != "" && !bus.IsInbox(prefix+".x") {
		conn.Close()
		return nil, fmt.Errorf("the NATS context has the inbox_prefix %q, where Rookery does not answer: start it with _INBOX, as in "+
			"_INBOX.%s", prefix, prefix)
	}
	if err != nil && l.context == "" && settings.URL == "" {
		return explain(nats.DefaultURL)(nats.Connect(nats.DefaultURL, options...))
	}
	return explain(cmp.Or(settings.URL, "the servers of the context "+l.contextName()))(conn, err)
}

// inHome returns a path that may begin with ~/, as in a NATS context.
func inHome(path string) string {
	rest, below := strings.CutPrefix(path, "~/")
	if home, err := os.UserHomeDir(); below && err == nil {
		return filepath.Join(home, rest)
	}
	return path
}

// heard ends a command that needs streams where the server does not let it read or change one: its call would wait for an answer in vain. Other
// commands look at streams only to explain why no answer comes.
func (l *link) heard(_ *nats.Conn, _ *nats.Subscription, err error) {
	switch ofStream := errors.Is(err, nats.ErrPermissionViolation) && toStream.MatchString(err.Error()); {
	case !ofStream:
		fmt.Fprintln(os.Stderr, err)
	case l.needs:
		l.end(fmt.Errorf("%w: it needs a user that may read and change streams, as an operator: %w", bus.ErrForbidden, err))
	}
}

// toStream matches what a server says of a message that would read or change a stream, a bucket or an object.
var toStream = regexp.MustCompile(`(?i)publish to "\$(JS|KV|O)\.`)

// contextName returns the name of the NATS context, or the whole path of its file.
func (l *link) contextName() string {
	if !strings.ContainsRune(l.context, filepath.Separator) {
		return l.context
	}
	if whole, err := filepath.Abs(l.context); err == nil {
		return whole
	}
	return l.context
}

func explain(where string) func(*nats.Conn, error) (*nats.Conn, error) {
	return func(conn *nats.Conn, err error) (*nats.Conn, error) {
		if err != nil {
			return nil, fmt.Errorf("cannot connect to NATS at %s: %w: start one with `rookery dev`, or name yours with --server,"+
				" NATS_URL or a NATS context", strings.TrimSpace(where), err)
		}
		return conn, nil
	}
}

// open returns the bus and a function that closes its connection.
func (l *link) open(name string, options ...nats.Option) (*bus.JetStream, func(), error) {
	conn, err := l.connect(name, options...)
	if err != nil {
		return nil, nil, err
	}
	return busOn(conn)
}

// busOn returns the bus on the connection, and a function that closes both.
func busOn(conn *nats.Conn) (*bus.JetStream, func(), error) {
	b, err := bus.New(conn)
	if err != nil {
		conn.Close()
		return nil, nil, err
	}
	return b, conn.Close, nil
}

// sayAgain is how often a process that runs for long says that the server does not take its credentials.
const sayAgain = time.Minute

// patient makes a coordinator or a node wait until its server is reachable, and takes its credentials. It says when they are refused.
func patient() nats.Option {
	return func(o *nats.Options) error {
		var said time.Time
		o.AsyncErrorCB = nil          // what the server says ends no process that runs for long
		o.IgnoreAuthErrorAbort = true // its credentials are read again with each try, and may have been renewed
		o.ReconnectErrCB = func(_ *nats.Conn, err error) {
			if refused := errors.Is(err, nats.ErrAuthorization) || errors.Is(err, nats.ErrAuthExpired); refused && time.Since(said) > sayAgain {
				said = time.Now()
				logger().Warn("the NATS server does not take the credentials: they have ended, or are revoked", "error", err)
			}
		}
		return nats.RetryOnFailedConnect(true)(o)
	}
}
