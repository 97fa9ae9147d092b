package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
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
		Long: `Make the credentials of a user, and a NATS context with them. The servers know the user at once. Nodes need none: they join with rookery
token create.

` + rolesHelp(),
		Example: `  rookery user add ann --role deployer --namespace demo
  rookery user add vera --role viewer --namespace demo --namespace shop`,
		Args: usageOf(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			u.Name = args[0]
			return s.alone(func() error {
				files, err := s.read()
				if err != nil {
					return err
				}
				switch known, err := named(files, u.Name); {
				case err == nil:
					return fmt.Errorf("user %s exists, as %s: remove it with rookery user rm, or renew it with rookery user rotate", u.Name, known.Role)
				case !errors.Is(err, errMissing):
					return err
				}
				made, err := s.newUser(files, u)
				if err == nil {
					err = s.write(made)
				}
				if err != nil {
					return err
				}
				return s.sayUser(cmd, u)
			})
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

// newUser makes the files of a user with a new key.
func (s *secured) newUser(files secure.Files, u secure.User) (secure.Files, error) {
	made, err := secure.NewUser(files, u)
	if err == nil {
		err = s.withContexts(files, made)
	}
	return made, err
}

// sayUser says where the credentials of a user are.
func (s *secured) sayUser(cmd *cobra.Command, u secure.User) error {
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s is a %s, with the NATS context %s\n", u.Name, u.Role, filepath.Join(s.folder, secure.ContextFile(u.Name)))
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
		Long:    "List the users that were added and not removed.",
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
			return s.onUser(args[0], func(files secure.Files, u secure.User) error {
				if err := s.revokeUser(cmd.Context(), files, u); err != nil {
					return err
				}
				if err := s.remove(secure.FilesOf(u.Name)...); err != nil {
					return err
				}
				_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s is removed\n", u.Name)
				return err
			})
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
			return s.onUser(args[0], func(files secure.Files, u secure.User) error {
				made, err := s.newUser(files, u) // before the old credentials end
				if err == nil {
					err = s.revokeUser(cmd.Context(), files, u)
				}
				if err == nil {
					err = s.write(made)
				}
				if err != nil {
					return err
				}
				return s.sayUser(cmd, u)
			})
		},
	}
}

// onUser calls a function with the keys and a user, while no other command changes the folder.
func (s *secured) onUser(name string, part func(secure.Files, secure.User) error) error {
	return s.alone(func() error {
		files, err := s.read()
		if err != nil {
			return err
		}
		u, err := named(files, name)
		if err != nil {
			return err
		}
		return part(files, u)
	})
}

// remove deletes files, of which none need exist.
func (s *secured) remove(names ...string) error {
	return s.in(func(root *os.Root) error {
		for _, name := range names {
			if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		return nil
	})
}

// revokeUser tells the servers that a user's key is not valid.
func (s *secured) revokeUser(ctx context.Context, files secure.Files, u secure.User) error {
	in, err := u.Account()
	if err != nil {
		return err
	}
	return s.revoke(ctx, files, in, u.Name, u.Key)
}

// revoke tells the servers that keys of a user of the account are not valid. Whatever ends it halfway, the same command again does the rest.
func (s *secured) revoke(ctx context.Context, files secure.Files, in, user string, keys ...string) error {
	c, err := files.Cluster()
	if err != nil {
		return err
	}
	conn, err := nats.Connect(c.URL, nats.Name("rookery user"), nats.UserCredentialBytes(files[secure.SystemCreds]), nats.RootCAs(filepath.Join(s.folder, secure.CA)))
	if err != nil {
		return fmt.Errorf("connect to %s, to revoke the credentials of %s: %w", c.URL, user, err)
	}
	defer conn.Close()
	call, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	theirs, err := conn.RequestWithContext(call, "$SYS.REQ.ACCOUNT."+c.Accounts[in]+".CLAIMS.LOOKUP", nil)
	if err != nil {
		return fmt.Errorf("ask the NATS servers for the account: %w", err)
	}
	account, err := files.Revoke(in, keys, theirs.Data)
	if err != nil {
		return err
	}
	if err := s.write(secure.Files{secure.AccountFile(in): account}); err != nil {
		return err
	}
	m, err := conn.RequestWithContext(call, "$SYS.REQ.CLAIMS.UPDATE", account)
	if err != nil {
		return fmt.Errorf("send the NATS servers the account without %s: %w", user, err)
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
