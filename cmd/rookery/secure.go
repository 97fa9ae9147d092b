package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/rookery-project/rookery/cmd/rookery/secure"
	"github.com/rookery-project/rookery/events"
)

// secured is the folder of a cluster's security.
type secured struct{ folder string }

func (s *secured) flag(cmd *cobra.Command) {
	folder := ""
	if config, err := os.UserConfigDir(); err == nil {
		folder = filepath.Join(config, "rookery", "secure")
	}
	cmd.PersistentFlags().StringVar(&s.folder, "dir", folder, "`folder` of the cluster's keys")
	cmd.PersistentFlags().Lookup("dir").DefValue = "rookery/secure in the folder of the user's configuration"
}

// in calls a function with the folder. Its error says what to do where the folder does not exist.
func (s *secured) in(part func(*os.Root) error) error {
	root, err := os.OpenRoot(s.folder)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s does not exist: make it with rookery secure init, or name another with --dir", s.folder)
	}
	if err != nil {
		return err
	}
	return errors.Join(part(root), root.Close())
}

// read reads the keys. The other folders are for servers, for users and for a locked disk, and may be elsewhere.
func (s *secured) read() (secure.Files, error) {
	files := secure.Files{}
	err := s.in(func(root *os.Root) error {
		read := func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			files[name], err = root.ReadFile(name)
			return err
		}
		err := fs.WalkDir(root.FS(), secure.Admission, read)
		if errors.Is(err, fs.ErrNotExist) { // it may be on coordinators alone
			err = nil
		}
		return errors.Join(err, fs.WalkDir(root.FS(), secure.Keys, read))
	})
	if err == nil {
		_, err = files.Cluster()
	}
	return files, err
}

// alone calls a function while no other command changes the folder.
func (s *secured) alone(part func() error) error { return holding(s.folder, os.O_RDONLY, part) }

// aloneWith calls a function while no other command changes what the folder has of a node. A host may have several nodes, of which one waits to join.
func (s *secured) aloneWith(node string, part func() error) error {
	return holding(filepath.Join(s.folder, node+".lock"), os.O_CREATE|os.O_RDWR, part)
}

// holding calls a function while no other process holds the file or folder, which is opened with these flags.
func holding(path string, flags int, part func() error) error {
	const own = 0o600
	held, err := os.OpenFile(path, flags, own)
	if errors.Is(err, fs.ErrNotExist) {
		return part() // which says what to do
	}
	if err != nil {
		return err
	}
	if err := syscall.Flock(int(held.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return errors.Join(fmt.Errorf("another command holds %s: run this again: %w", path, err), held.Close())
	}
	return errors.Join(part(), held.Close()) // which ends the lock
}

// write writes files into the folder, for their owner only. Each is there whole, or as it was.
func (s *secured) write(files secure.Files) error {
	const ownFolder = 0o700
	return s.in(func(root *os.Root) error {
		for _, name := range slices.Sorted(maps.Keys(files)) {
			if err := root.MkdirAll(filepath.Dir(name), ownFolder); err != nil {
				return err
			}
			if err := replace(root, name, files[name]); err != nil {
				return fmt.Errorf("write %s: %w", name, err)
			}
		}
		return nil
	})
}

// changes calls a function with the keys, and what they know of the cluster, while no other command changes the folder.
func (s *secured) changes(part func(secure.Files, secure.Cluster) error) error {
	return s.alone(func() error {
		files, err := s.read()
		if err != nil {
			return err
		}
		c, err := files.Cluster()
		if err != nil {
			return err
		}
		return part(files, c)
	})
}

func replace(root *os.Root, name string, content []byte) error {
	const own = 0o600
	begun := name + ".new"
	f, err := root.OpenFile(begun, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, own)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := root.Rename(begun, name); err != nil {
		return err
	}
	folder, err := root.Open(filepath.Dir(name))
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// withContexts adds the NATS contexts of the users among the files.
func (s *secured) withContexts(all, made secure.Files) error {
	folder, err := filepath.Abs(s.folder)
	if err != nil {
		return err
	}
	users, err := made.Users()
	if err != nil {
		return err
	}
	for _, u := range users {
		if made[secure.ContextFile(u.Name)], err = all.Context(u, folder); err != nil {
			return err
		}
	}
	return nil
}

func secureCommand(l *link) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "secure",
		Short: "Make the keys and accounts of a cluster's bus",
		Long: `Make the keys, certificates, accounts and configurations of NATS servers that know who connects, and that encrypt what they send and
store.`,
		Example: `  rookery secure init nats-1=10.0.0.1 nats-2=10.0.0.2 nats-3=10.0.0.3`,
	}
	s := &secured{}
	s.flag(cmd)
	cmd.AddCommand(secureInitCommand(s), secureAdoptCommand(l, s), secureRenewCommand(s), secureRotateCommand(s))
	return cmd
}

func secureInitCommand(s *secured) *cobra.Command {
	return &cobra.Command{
		Use:   "init [NAME=ADDRESS]...",
		Short: "Make the keys, accounts and server configurations",
		Long: `Make everything that one or three NATS servers need to know who connects: a certificate authority, a certificate and a configuration for each
server, accounts, and the credentials of an operator and a coordinator. ADDRESS is a host name or an IP address. Without arguments it is one
server on this machine. All files are in one folder, for their owner only. Nothing is sent anywhere.

  offline/      keys that sign everything else: move them to a disk that you lock away
  keys/         keys with which an operator adds users
  admission/    keys with which coordinators sign rounds of the log, and credentials of nodes that join: copy it to each coordinator
  servers/NAME  copy to the server, and start nats-server there
  users/        credentials and NATS contexts

The guide deploy/docs/security.md says what each key is for, and what to do when it is lost.`,
		Example: `  rookery secure init
  rookery secure init nats-1=10.0.0.1 nats-2=10.0.0.2 nats-3=10.0.0.3 --dir ./keys`,
		RunE: func(cmd *cobra.Command, args []string) error {
			servers, err := parseServers(args)
			if err != nil {
				return usage(cmd, err)
			}
			files, err := secure.Make(servers, time.Now())
			if err == nil {
				err = s.withContexts(files, files)
			}
			if err != nil {
				return err
			}
			if err := s.create(files); err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			fmt.Fprintf(out, "%d files are in %s\n", len(files), s.folder)
			fmt.Fprintf(out, "1. Move %s to a disk that you lock away.\n", filepath.Join(s.folder, secure.Offline))
			for _, server := range servers {
				fmt.Fprintf(out, "2. On %s, in a copy of %s: nats-server --config nats.conf\n", server.Address, filepath.Join(s.folder, "servers", server.Name))
			}
			fmt.Fprintf(out, "3. rookery bus init --replicas %d --context %s\n", len(servers), filepath.Join(s.folder, secure.ContextFile(secure.Operator)))
			fmt.Fprintf(out, "4. rookery coordinator --context %s --admission %s\n",
				filepath.Join(s.folder, secure.ContextFile(secure.Coordinator)), filepath.Join(s.folder, secure.Admission))
			fmt.Fprintf(out, "5. For each node: rookery token create --dir %s --context %s\n", s.folder, filepath.Join(s.folder, secure.ContextFile(secure.Operator)))
			return nil
		},
	}
}

func secureRenewCommand(s *secured) *cobra.Command {
	return &cobra.Command{
		Use:   "renew",
		Short: "Make new certificates for all servers",
		Long: `Make a new key and certificate for each server, valid for a year. Bring the folder offline back from its disk first: it has the key that signs
them. Servers read the new ones while they run, and connections stay. rookery doctor says when a certificate ends.`,
		Example: `  rookery secure renew --dir ./keys`,
		Args:    arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.changes(func(files secure.Files, cluster secure.Cluster) error {
				if err := s.readAlso(files, secure.CA, secure.CAKey); err != nil {
					return err
				}
				renewed, until, err := secure.Renew(files, time.Now())
				if err == nil {
					err = s.write(renewed)
				}
				if err != nil {
					return err
				}
				out := cmd.OutOrStdout()
				fmt.Fprintf(out, "Certificates are valid until %s\n", until.Format(time.DateOnly))
				for _, server := range cluster.Servers {
					fmt.Fprintf(out, "1. Copy server.crt and server.key from %s to %s, and run there: nats-server --signal reload\n",
						filepath.Join(s.folder, "servers", server.Name), server.Address)
				}
				fmt.Fprintf(out, "2. Move %s to its disk again.\n", filepath.Join(s.folder, secure.Offline))
				return nil
			})
		},
	}
}

// rotations are the keys that are made again, each with what is needed for that and what is left to do.
var rotations = map[string]struct {
	about string
	does  func(s *secured, files secure.Files, servers []secure.Server) (secure.Files, error)
	steps []string
}{
	"rounds": {
		"with which coordinators sign rounds of the log",
		func(s *secured, files secure.Files, _ []secure.Server) (secure.Files, error) {
			if err := s.readAlso(files, secure.NodesAccount); err != nil { // then the keys before are there, if the log has any
				return nil, err
			}
			return files.NewRoundsKey()
		},
		[]string{
			"Copy the folder " + secure.Admission + " to each coordinator.",
			"Then start the coordinators again, one after the other. The first one that leads changes the key in the log.",
		},
	},
	"storage": {
		"with which servers encrypt what they store",
		func(s *secured, files secure.Files, servers []secure.Server) (secure.Files, error) {
			if err := s.readAlso(files, ofServers(servers, secure.Server.StorageFile)...); err != nil {
				return nil, err
			}
			return files.NewStorageKeys()
		},
		[]string{
			"Copy encryption.conf from servers/NAME to each server, and start the server again, one after the other.",
			"Once all have started, remove the line prev_encryption_key there and here.",
		},
	},
	"ca": {
		"of the certificate authority; those before still count",
		func(s *secured, files secure.Files, _ []secure.Server) (secure.Files, error) {
			if err := s.readAlso(files, secure.CA, secure.CAKey); err != nil {
				return nil, err
			}
			return files.NewAuthority(time.Now())
		},
		[]string{
			copyCA + " They trust both authorities then.",
			"Then run rookery secure renew, which makes certificates of the new authority, and do what it prints.",
			"Once all servers have those, run rookery secure rotate former-ca.",
		},
	},
	"former-ca": {
		"of certificate authorities before the newest: they count no longer",
		func(s *secured, files secure.Files, servers []secure.Server) (secure.Files, error) {
			if err := s.readAlso(files, append(ofServers(servers, secure.Server.CertFile), secure.CA)...); err != nil {
				return nil, err
			}
			return files.OnlyNewestAuthority()
		},
		[]string{copyCA + " They trust only the newest authority then."},
	},
}

// copyCA says where the certificates of authorities are needed.
const copyCA = "Copy " + secure.CA + " to each server, and run there: nats-server --signal reload. Copy it to coordinators, nodes and users as well, where" +
	" \"ca\" in their contexts points."

func ofServers(servers []secure.Server, file func(secure.Server) string) (names []string) {
	for _, s := range servers {
		names = append(names, file(s))
	}
	return names
}

func secureRotateCommand(s *secured) *cobra.Command {
	kinds := slices.Sorted(maps.Keys(rotations))
	var about []string
	for _, kind := range kinds {
		about = append(about, fmt.Sprintf("  %-10s %s", kind, rotations[kind].about))
	}
	return &cobra.Command{
		Use:   "rotate KEY",
		Short: "Make a key again",
		Long: "Make a key again, as when a host that had it is not to be trusted any longer. For those of users, see rookery user rotate. KEY is one of:\n\n" +
			strings.Join(about, "\n") + "\n\nDo what this prints then. Commands, nodes and containers go on meanwhile.",
		Example: `  rookery secure rotate rounds --dir ./keys
  rookery secure rotate storage --dir ./keys`,
		Args:      arguments("KEY"),
		ValidArgs: kinds,
		RunE: func(cmd *cobra.Command, args []string) error {
			rotation, known := rotations[args[0]]
			if !known {
				return usage(cmd, fmt.Errorf("there is no key %q: known are %s", args[0], strings.Join(kinds, ", ")))
			}
			return s.changes(func(files secure.Files, c secure.Cluster) error {
				made, err := rotation.does(s, files, c.Servers)
				if err == nil {
					err = s.write(made)
				}
				if err != nil {
					return err
				}
				for i, step := range rotation.steps {
					fmt.Fprintf(cmd.OutOrStdout(), "%d. %s\n", i+1, step)
				}
				return nil
			})
		},
	}
}

// readAlso adds files that may be elsewhere.
func (s *secured) readAlso(files secure.Files, names ...string) error {
	return s.in(func(root *os.Root) (err error) {
		for _, name := range names {
			if files[name], err = root.ReadFile(name); err != nil {
				return fmt.Errorf("bring %s back to %s: %w", name, s.folder, err)
			}
		}
		return nil
	})
}

// parseServers reads the names and addresses of servers. Without any it is one, on this machine.
func parseServers(args []string) ([]secure.Server, error) {
	if len(args) == 0 {
		args = []string{"nats-1=127.0.0.1"}
	}
	const replicated = 3
	if len(args) != 1 && len(args) != replicated {
		return nil, fmt.Errorf("there are %d servers: a cluster has one or three", len(args))
	}
	var all []secure.Server
	for _, arg := range args {
		name, address, both := strings.Cut(arg, "=")
		if !both || !events.ValidName(name) || !validAddress(address) {
			return nil, fmt.Errorf("%q is not a server: want NAME=ADDRESS, as in nats-1=10.0.0.1, with a name of a-z, 0-9 and \"-\"", arg)
		}
		if slices.ContainsFunc(all, func(s secure.Server) bool { return s.Name == name || s.Address == address }) {
			return nil, fmt.Errorf("%q repeats the name or the address of another server", arg)
		}
		all = append(all, secure.Server{Name: name, Address: address})
	}
	return all, nil
}

// validAddress reports whether a text is a host name or an IP address. It stands in a configuration, so that nothing else may.
func validAddress(text string) bool {
	if _, err := netip.ParseAddr(text); err == nil {
		return !strings.Contains(text, "%")
	}
	return len(text) <= maxHost && !slices.ContainsFunc(strings.Split(text, "."), func(label string) bool { return !events.ValidName(label) })
}

// maxHost is the length of the longest host name in bytes.
const maxHost = 253

// create writes all files of a new folder. If it fails, the folder does not exist.
func (s *secured) create(files secure.Files) (err error) {
	entries, err := os.ReadDir(s.folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if len(entries) > 0 {
		return fmt.Errorf("%s is not empty, and keys cannot be made again: name another folder with --dir", s.folder)
	}
	const ownFolder = 0o700
	above := filepath.Dir(filepath.Clean(s.folder))
	if err := os.MkdirAll(above, ownFolder); err != nil {
		return err
	}
	begun, err := os.MkdirTemp(above, ".rookery-secure-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(begun)) }()
	if err := (&secured{begun}).write(files); err != nil {
		return err
	}
	if err := os.Remove(s.folder); err != nil && !errors.Is(err, fs.ErrNotExist) { // an empty one
		return err
	}
	return os.Rename(begun, s.folder)
}
