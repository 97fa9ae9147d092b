package main

import (
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rookery-project/rookery/cmd/rookery/secure"
	"github.com/rookery-project/rookery/events"
)

// createdToken is what token create prints as JSON.
type createdToken struct {
	ID    string    `json:"id"`
	Token string    `json:"token"`
	Until time.Time `json:"until"`
}

func tokenCommand(l *link) *cobra.Command {
	s := &secured{}
	cmd := &cobra.Command{
		Use:     "token",
		Short:   "Make tokens with which nodes join",
		Long:    "Make tokens with which new hosts join as nodes, on a bus whose keys rookery secure init has made.",
		Example: "  rookery token create",
	}
	s.flag(cmd)
	cmd.AddCommand(tokenCreateCommand(l, s))
	return cmd
}

func tokenCreateCommand(l *link, s *secured) *cobra.Command {
	a := &asking{link: l, timeout: answerTimeout + noCoordinatorAfter}
	var out output
	var ttl time.Duration
	var uses uint32
	var approve bool
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Make a token, and print it",
		Long: `Make a token with which new hosts join as nodes, and print it. It has the address of the servers, the certificate of their authority, and
credentials that can ask to join and nothing else. Send it to the host in a way that you trust: each host that has it can join, until it ends.

With --approve each node waits until you admit it by its key, which rookery node join prints.`,
		Example: `  rookery token create
  rookery token create --ttl 10m --uses 20
  rookery token create --approve
The same with the nats CLI makes no credentials:
  nats req rookery.cmd.cluster.create-token '{"id":"t-1","ttl":"1h","uses":1}'`,
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if ttl <= 0 {
				return usage(cmd, fmt.Errorf("--ttl %s is not a time to come: want %s at least", ttl, time.Duration(events.MinTokenTTL)))
			}
			command := events.ClusterCreateToken{ID: newTokenID(), TTL: events.Duration(ttl), Uses: events.TokenUses(uses)}
			if approve {
				command.Uses, command.Approve = 0, true
			}
			files, err := s.read()
			if err == nil {
				err = s.readAlso(files, secure.CA)
			}
			if err != nil {
				return err
			}
			until := time.Now().Add(ttl)
			token, err := secure.NewToken(files, command.ID, until)
			if err != nil {
				return err
			}
			if err := a.publish(cmd, "cluster", nil, command); err != nil {
				return err
			}
			if out.json() {
				return out.print(cmd.OutOrStdout(), createdToken{command.ID, token.String(), until.UTC().Truncate(time.Second)})
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), token)
			return err
		},
	}
	out.flag(cmd)
	cmd.Flags().DurationVar(&ttl, "ttl", time.Duration(events.DefaultTokenTTL), fmt.Sprintf("how long nodes may join with it, from %s to %s",
		time.Duration(events.MinTokenTTL), time.Duration(events.MaxTokenTTL)))
	cmd.Flags().Uint32Var(&uses, "uses", 1, "how many `nodes` may join with it")
	cmd.Flags().BoolVar(&approve, "approve", false, "let nodes join only once an operator has admitted the key of each")
	cmd.MarkFlagsMutuallyExclusive("approve", "uses")
	return cmd
}

// newTokenID draws the id of a token. It is a user's name, of which nodes may have any.
func newTokenID() string {
	const length = 12
	return "t-" + strings.ToLower(rand.Text()[:length])
}
