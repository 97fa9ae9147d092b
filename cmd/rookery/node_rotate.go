package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/rookery-project/rookery/events"
)

func nodeRotateCommand(l *link) *cobra.Command {
	return &cobra.Command{
		Use:   "rotate",
		Short: "Give the node of this host another key",
		Long: `Make another key for the node that has joined from this host, and ask the cluster for credentials of it. The former key signs for that. Run it as
the user that runs the node, with the node's own NATS context.

The node connects with the new key within ten minutes, or when it is started again. Its containers stay, and no instance moves. From now on the former
key gets no credentials; those for the node's work that it has end by themselves within seven days. If this is interrupted, the node goes on with it when
it renews its credentials; or run it again.`,
		Example: `  rookery node rotate --context ~/.config/rookery/nodes/edge-1.json`,
		Args:    arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			conn, err := l.connect("rookery node rotate", patient())
			if err != nil {
				return err
			}
			defer conn.Close()
			if l.used.creds == "" {
				return usage(cmd, errors.New("without credentials there is no key: name the node's NATS context with --context"))
			}
			r := &renewal{url: l.used.url, ca: l.used.ca, creds: l.used.creds}
			return r.rotate(cmd.Context(), cmd.OutOrStdout())
		},
	}
}

// rotate gives the node another key.
func (r *renewal) rotate(ctx context.Context, out io.Writer) error {
	u, _, err := r.read()
	if err != nil {
		return err
	}
	if u.Ends.IsZero() {
		return fmt.Errorf("%s has not joined with a token: rookery user rotate %[1]s gives it another key where the keys of the cluster are", u.Name)
	}
	var key events.NodeKey
	var until time.Time
	err = r.folder().aloneWith(u.Name, func() error {
		_, _, err := r.folder().nodeKey(nextKeyFile(u.Name))
		if err == nil {
			key, until, err = r.again(ctx)
		}
		return err
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s has the key %s, and its credentials end at %s unless they are renewed\n", u.Name, key, until.Local().Format(time.DateTime))
	return err
}
