package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"

	"github.com/rookery-project/rookery/cmd/rookery/secure"
)

func userCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "user",
		Short: "Add, list, and remove users of the bus",
		Long:  "Add, list, renew and remove users of a bus whose keys rookery secure init has made. A user has one role:\n\n" + rolesHelp(),
		Example: `  rookery user add ann --role deployer --namespace demo
  rookery user ls`,
	}
	s := &secured{}
	s.flag(cmd)
	cmd.AddCommand(userAddCommand(s), userListCommand(s), userRemoveCommand(s), userRotateCommand(s))
	return cmd
}

// rolesHelp lists the roles with what they are for.
func rolesHelp() string {
	var lines []string
	for _, r := range secure.Roles() {
		lines = append(lines, fmt.Sprintf("  %-12s %s", r.Name, r.About))
	}
	return strings.Join(lines, "\n")
}

func userAddCommand(s *secured) *cobra.Command {
	u := secure.User{}
	cmd := &cobra.Command{
		Use:   "add NAME --role ROLE",
		Short: "Add a user",
		Long: `Make the credentials of a user, and a NATS context with them. The servers know the user at once. A node has the name that it joins with.

` + rolesHelp(),
		Example: `  rookery user add ann --role deployer --namespace demo
  rookery user add edge-1 --role node`,
		Args: usageOf(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			u.Name = args[0]
			files, err := s.read()
			if err != nil {
				return err
			}
			if known, err := named(files, u.Name); err == nil {
				return fmt.Errorf("user %s exists, as %s: remove it with rookery user rm, or renew it with rookery user rotate", u.Name, known.Role)
			}
			return s.issue(cmd, files, u)
		},
	}
	cmd.Flags().StringVar(&u.Role, "role", "", "`role` of the user")
	cmd.Flags().StringSliceVarP(&u.Namespaces, "namespace", "n", nil, "`namespace` of the user; repeat it for several")
	var names []string
	for _, r := range secure.Roles() {
		names = append(names, r.Name)
	}
	mustComplete(cmd, "role", names)
	if err := cmd.MarkFlagRequired("role"); err != nil {
		panic("no flag is named role: " + err.Error())
	}
	return cmd
}

// issue writes new credentials of a user, and says how to use them.
func (s *secured) issue(cmd *cobra.Command, files secure.Files, u secure.User) error {
	made, err := secure.NewUser(files, u, time.Now())
	if err == nil {
		err = s.withContexts(files, made)
	}
	if err == nil {
		err = s.write(made)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s is a %s, with the NATS context %s\n", u.Name, u.Role, filepath.Join(s.folder, secure.ContextFile(u.Name)))
	return err
}

// named returns the user of this name.
func named(files secure.Files, name string) (secure.User, error) {
	all, err := files.Users()
	if err != nil {
		return secure.User{}, err
	}
	if i := slices.IndexFunc(all, func(u secure.User) bool { return u.Name == name }); i >= 0 {
		return all[i], nil
	}
	names := make([]string, len(all))
	for i, u := range all {
		names[i] = u.Name
	}
	return secure.User{}, missing("user", name, names)
}

func userListCommand(s *secured) *cobra.Command {
	var out output
	cmd := &cobra.Command{
		Use:     "ls",
		Aliases: []string{"list"},
		Short:   "List users",
		Long:    "List the users whose credentials are in the folder.",
		Example: `  rookery user ls
  rookery user ls --output json`,
		Args: usageOf(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			files, err := s.read()
			if err != nil {
				return err
			}
			all, err := files.Users()
			if err != nil {
				return err
			}
			if out.json() {
				return out.print(cmd.OutOrStdout(), all)
			}
			rows := make([]string, len(all))
			for i, u := range all {
				rows[i] = fmt.Sprintf("%s\t%s\t%s\t%s", u.Name, u.Role, strings.Join(u.Namespaces, ","), u.Issued.Local().Format(time.DateTime))
			}
			return table(cmd.OutOrStdout(), "NAME\tROLE\tNAMESPACES\tISSUED", rows)
		},
	}
	out.flag(cmd)
	return cmd
}

func userRemoveCommand(s *secured) *cobra.Command {
	return &cobra.Command{
		Use:     "rm NAME",
		Aliases: []string{"remove"},
		Short:   "Remove a user, and close its connections",
		Long: `Revoke the credentials of a user, and delete them. The servers close its connections at once. One of them must be reachable: if none is,
nothing is done.`,
		Example: `  rookery user rm ann`,
		Args:    usageOf(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			files, err := s.read()
			if err != nil {
				return err
			}
			u, err := named(files, args[0])
			if err != nil {
				return err
			}
			if err := s.revoke(cmd.Context(), files, u); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s is removed\n", u.Name)
			return err
		},
	}
}

func userRotateCommand(s *secured) *cobra.Command {
	return &cobra.Command{
		Use:   "rotate NAME",
		Short: "Give a user new credentials",
		Long: `Revoke the credentials of a user, and make new ones with the same role and namespaces. The servers close its connections at once. One of
them must be reachable: if none is, nothing is done.`,
		Example: `  rookery user rotate ann`,
		Args:    usageOf(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			files, err := s.read()
			if err != nil {
				return err
			}
			u, err := named(files, args[0])
			if err != nil {
				return err
			}
			if err := s.revoke(cmd.Context(), files, u); err != nil {
				return err
			}
			return s.issue(cmd, files, u)
		},
	}
}

// revoke tells the servers that a user's key is not valid, and removes the user's files.
func (s *secured) revoke(ctx context.Context, files secure.Files, u secure.User) error {
	account, err := files.Revoke(u)
	if err != nil {
		return err
	}
	if err := s.tell(ctx, files, account); err != nil {
		return fmt.Errorf("revoke the credentials of %s: %w", u.Name, err)
	}
	if err := s.write(secure.Files{secure.AccountFile: account}); err != nil {
		return err
	}
	return s.in(func(root *os.Root) error {
		return errors.Join(root.Remove(secure.CredsFile(u.Name)), root.Remove(secure.ContextFile(u.Name)))
	})
}

// tell sends the servers a new version of the account. A server that is not reachable now gets it from the others.
func (s *secured) tell(ctx context.Context, files secure.Files, account []byte) error {
	c, err := files.Cluster()
	if err != nil {
		return err
	}
	conn, err := nats.Connect(c.URL, nats.Name("rookery user"), nats.UserCredentialBytes(files[secure.SystemCreds]), nats.RootCAs(filepath.Join(s.folder, secure.CA)))
	if err != nil {
		return fmt.Errorf("connect to %s: %w", c.URL, err)
	}
	defer conn.Close()
	call, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	m, err := conn.RequestWithContext(call, "$SYS.REQ.CLAIMS.UPDATE", account)
	if err != nil {
		return err
	}
	var answer struct {
		Error *struct {
			Description string `json:"description"`
		} `json:"error"`
	}
	if err := json.Unmarshal(m.Data, &answer); err != nil {
		return fmt.Errorf("read the answer of a NATS server: %w", err)
	}
	if answer.Error != nil {
		return fmt.Errorf("a NATS server refuses the account: %s", answer.Error.Description)
	}
	return nil
}
