package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
	"github.com/spf13/cobra"

	"github.com/rookery-project/rookery/cmd/rookery/secure"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

// joining is a host that asks to join as a node.
type joining struct {
	name string
	// folder is where the node's key and credentials are.
	folder string
}

func nodeJoinCommand() *cobra.Command {
	j := &joining{}
	cmd := &cobra.Command{
		Use:   "join TOKEN",
		Short: "Join a cluster as a node, with a token",
		Long: `Make the key of a node on this host, and ask the cluster for credentials with a token of rookery token create. Then start rookery node with
the NATS context that this prints. TOKEN is - to read the token from standard input, so that no list of processes has it.

The key stays on this host. The credentials last for seven days, and rookery node renews them; a node that was away for longer renews them when it
starts. If this is interrupted, run it again: the key is the same, and the token is not used twice.`,
		Example: `  rookery node join rookery-token-1.eyJ1c… --name edge-1
  rookery node join - --name edge-1 < token
  rookery node --name edge-1 --context ~/.config/rookery/nodes/edge-1.json`,
		Args: arguments("TOKEN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			token, err := readToken(cmd, args[0])
			if err != nil {
				return err
			}
			if !events.ValidName(j.name) {
				return usage(cmd, badNodeName(j.name))
			}
			return j.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), token)
		},
	}
	nodeNameFlag(cmd, &j.name)
	folder := ""
	if config, err := os.UserConfigDir(); err == nil {
		folder = filepath.Join(config, "rookery", "nodes")
	}
	cmd.Flags().StringVar(&j.folder, "dir", folder, "`folder` for the node's key and credentials")
	cmd.Flags().Lookup("dir").DefValue = "rookery/nodes in the folder of the user's configuration"
	return cmd
}

// readToken reads a token from the command line, or, for -, from standard input.
func readToken(cmd *cobra.Command, text string) (secure.Token, error) {
	if text == "-" {
		const longest = 64 << 10
		read, err := io.ReadAll(io.LimitReader(cmd.InOrStdin(), longest))
		if err != nil {
			return secure.Token{}, err
		}
		text = string(read)
	}
	token, err := secure.ParseToken(text)
	if err != nil {
		return token, usage(cmd, err)
	}
	return token, nil
}

func badNodeName(name string) error {
	return fmt.Errorf("--name %q is not a name: want 1 to %d of a-z, 0-9 and \"-\"", name, events.MaxName)
}

func (j *joining) run(ctx context.Context, out, notes io.Writer, token secure.Token) error {
	const ownFolder = 0o700
	folder, err := filepath.Abs(j.folder)
	if err == nil {
		err = os.MkdirAll(folder, ownFolder)
	}
	if err != nil {
		return err
	}
	kept := &secured{folder}
	return kept.aloneWith(j.name, func() error { return j.ask(ctx, out, notes, kept, token) })
}

func (j *joining) ask(ctx context.Context, out, notes io.Writer, kept *secured, token secure.Token) error {
	seed, key, err := kept.nodeKey(keyFile(j.name))
	if err != nil {
		return err
	}
	fmt.Fprintf(notes, "%s asks to join with the key %s\n", j.name, key)
	creds, err := secure.Credentials(token.JWT, []byte(token.Seed))
	if err != nil {
		return err
	}
	asks := &applicant{url: token.URL, ca: []byte(token.CA), creds: creds, question: events.JoinQuestion{Node: j.name, Key: key}}
	answer, err := asks.patiently(ctx, notes)
	if err != nil {
		return err
	}
	files, err := secure.NodeFiles(secure.NodeCreds(j.name), seed, answer)
	if err != nil {
		return err
	}
	contextFile := j.name + ".json"
	files[secure.CAFile(j.name)] = []byte(token.CA)
	if files[contextFile], err = token.Context(j.name, kept.folder); err != nil {
		return err
	}
	if err := kept.write(files); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s has joined, and its credentials end at %s unless they are renewed\nStart it: rookery node --name %[1]s --context %[3]s\n",
		j.name, answer.Until.Local().Format(time.DateTime), filepath.Join(kept.folder, contextFile))
	return err
}

// keyFile is where the key of a node stands.
func keyFile(node string) string { return node + ".key" }

// nodeKey returns the key of a node in the file, and makes it first where there is none.
func (s *secured) nodeKey(file string) (seed []byte, public events.NodeKey, err error) {
	if seed, public, err = s.readKey(file); !errors.Is(err, fs.ErrNotExist) {
		return seed, public, err
	}
	pair, err := nkeys.CreateUser()
	if err == nil {
		seed, err = pair.Seed()
	}
	if err == nil {
		err = s.write(secure.Files{file: seed})
	}
	if err != nil {
		return nil, "", fmt.Errorf("make the key of the node in %s: %w", filepath.Join(s.folder, file), err)
	}
	return s.readKey(file)
}

// readKey reads the key of a node.
func (s *secured) readKey(file string) (seed []byte, public events.NodeKey, err error) {
	err = s.in(func(root *os.Root) (err error) {
		seed, err = root.ReadFile(file)
		return err
	})
	var pair nkeys.KeyPair
	if err == nil {
		pair, err = nkeys.FromSeed(seed)
	}
	var text string
	if err == nil {
		text, err = pair.PublicKey()
	}
	if err != nil {
		return nil, "", fmt.Errorf("the key of the node in %s: %w", filepath.Join(s.folder, file), err)
	}
	return seed, events.NodeKey(text), nil
}

// applicant asks for the credentials of a node.
type applicant struct {
	// url is where it connects, and ca the certificate of the servers' authority; nil for one that the host trusts.
	url string
	ca  []byte
	// creds are those of a token, or those with which a node asks again.
	creds    []byte
	question events.JoinQuestion
}

const (
	// askToJoin is how often a node asks that must be admitted first, or that hears no coordinator.
	askToJoin = 2 * time.Second
	// mustWait and unavailable are the codes of refusals after which it asks again, and forbidden that of one after which it does not.
	mustWait, unavailable, forbidden = 425, 503, 403
)

// patiently asks until the coordinator has decided. It says what it waits for.
func (a *applicant) patiently(ctx context.Context, notes io.Writer) (events.JoinAnswer, error) {
	said := ""
	for {
		answer, err := a.ask(ctx)
		var refused *bus.QuestionError
		passes := errors.Is(err, bus.ErrNoAnswer) || (errors.As(err, &refused) && (refused.Code == mustWait || refused.Code == unavailable))
		if err == nil || !passes {
			return answer, err
		}
		why := "no coordinator answers"
		if refused != nil {
			why = refused.Reason
		}
		if why != said {
			said = why
			fmt.Fprintf(notes, "waiting: %s\n", why)
		}
		select {
		case <-time.After(askToJoin):
		case <-ctx.Done():
			return answer, ctx.Err()
		}
	}
}

// ask asks once.
func (a *applicant) ask(ctx context.Context) (answer events.JoinAnswer, err error) {
	u, _, err := secure.ReadCredentials(a.creds)
	if err != nil {
		return answer, err
	}
	trusted := &tls.Config{MinVersion: tls.VersionTLS12}
	if a.ca != nil {
		trusted.RootCAs = x509.NewCertPool()
		if !trusted.RootCAs.AppendCertsFromPEM(a.ca) {
			return answer, errors.New("the certificate of the servers' authority cannot be read")
		}
	}
	conn, err := nats.Connect(a.url, nats.Name("rookery node join"), nats.UserCredentialBytes(a.creds), nats.Secure(trusted), nats.CustomInboxPrefix(secure.JoinInboxOf(u.Name)))
	if err != nil {
		return answer, fmt.Errorf("connect to %s as %s: %w", a.url, u.Name, joinAdvice(err))
	}
	b, done, err := busOn(conn)
	if err != nil {
		return answer, err
	}
	defer done()
	body, err := json.Marshal(a.question)
	if err != nil {
		return answer, err
	}
	call, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	m, err := b.Request(call, events.Message{Subject: events.JoinSubject(u.Name), Header: events.Header{}, Body: body})
	if err == nil {
		err = bus.Refused(m)
	}
	if err != nil {
		return answer, err
	}
	return answer, json.Unmarshal(m.Body, &answer)
}

// joinAdvice adds what to do where the servers do not take the credentials.
func joinAdvice(err error) error {
	if errors.Is(err, nats.ErrAuthorization) || errors.Is(err, nats.ErrAuthExpired) {
		return fmt.Errorf("%w: the token has ended, or the key of the node is revoked: join again with a new token", err)
	}
	return err
}
