package secure_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/rookery-project/rookery/cmd/rookery/secure"
)

// served is a NATS server that the test runs, and how to connect to it.
type served struct {
	*testing.T
	url   string
	files secure.Files // nil for a server without accounts
	// all are keys that sign users who may do everything in their account.
	all map[string]nkeys.KeyPair
}

// serve runs a server with the accounts of a new cluster until the test ends. Its configuration names files beside it, so the test goes there.
func serve(t *testing.T) *served {
	t.Helper()
	files, err := secure.Make([]secure.Server{{Name: "nats-1", Address: "127.0.0.1"}}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]nkeys.KeyPair{}
	for _, account := range accounts {
		all[account] = signsAll(t, files, account)
	}
	folder := t.TempDir()
	const under = "servers/nats-1/"
	for name, content := range files {
		if below, is := strings.CutPrefix(name, under); is {
			text := strings.ReplaceAll(string(content), fmt.Sprintf("0.0.0.0:%d", secure.ClientPort), "127.0.0.1:-1")
			if err := os.WriteFile(filepath.Join(folder, below), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Chdir(folder)
	options, err := server.ProcessConfigFile("nats.conf")
	if err != nil {
		t.Fatal(err)
	}
	return &served{t, runs(t, options), files, all}
}

// signsAll adds to an account a key that signs users who may do everything in it.
func signsAll(t *testing.T, files secure.Files, account string) nkeys.KeyPair {
	t.Helper()
	before := string(files[secure.AccountFile(account)])
	claims, err := jwt.DecodeAccountClaims(before)
	if err != nil {
		t.Fatal(err)
	}
	operator, err := nkeys.FromSeed(files["keys/operator-signing.nk"])
	if err != nil {
		t.Fatal(err)
	}
	key, err := nkeys.CreateAccount()
	if err != nil {
		t.Fatal(err)
	}
	public, err := key.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	claims.SigningKeys.Add(public)
	after, err := claims.Encode(operator)
	if err != nil {
		t.Fatal(err)
	}
	const configuration = "servers/nats-1/nats.conf"
	files[configuration] = []byte(strings.ReplaceAll(string(files[configuration]), before, after))
	return key
}

// connectsAll connects as a user who may do everything in an account. Without accounts there is one for both.
func (s *served) connectsAll(account string) *nats.Conn {
	s.Helper()
	if s.files == nil {
		return s.connect(secure.User{Name: "all"})
	}
	pair, err := nkeys.CreateUser()
	if err != nil {
		s.Fatal(err)
	}
	public, err := pair.PublicKey()
	if err != nil {
		s.Fatal(err)
	}
	claims := jwt.NewUserClaims(public)
	c, err := s.files.Cluster()
	if err != nil {
		s.Fatal(err)
	}
	claims.Name, claims.IssuerAccount = "all", c.Accounts[account]
	token, err := claims.Encode(s.all[account])
	if err != nil {
		s.Fatal(err)
	}
	return s.dial(nats.UserJWT(func() (string, error) { return token, nil }, pair.Sign))
}

// serveOpen runs a server without accounts until the test ends.
func serveOpen(t *testing.T) *served {
	t.Helper()
	return &served{t, runs(t, &server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir()}), nil, nil}
}

func runs(t *testing.T, options *server.Options) (url string) {
	t.Helper()
	options.NoSigs, options.NoLog = true, true
	s, err := server.NewServer(options)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	if !s.ReadyForConnections(time.Minute) {
		t.Fatal("the server is not ready")
	}
	return s.ClientURL()
}

// connect connects as a user of the role until the test ends. A server without accounts does not ask who connects.
func (s *served) connect(user secure.User, more ...nats.Option) *nats.Conn {
	s.Helper()
	options := append([]nats.Option{nats.CustomInboxPrefix("_INBOX." + user.Name), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})}, more...)
	if s.files != nil {
		made, err := secure.NewUser(s.files, user)
		if err != nil {
			s.Fatal(err)
		}
		options = append(options, nats.UserCredentialBytes(made[secure.CredsFile(user.Name)]))
	}
	return s.dial(options...)
}

func (s *served) dial(options ...nats.Option) *nats.Conn {
	s.Helper()
	if s.files != nil {
		ca := filepath.Join(s.TempDir(), "ca.crt")
		if err := os.WriteFile(ca, s.files[secure.CA], 0o600); err != nil {
			s.Fatal(err)
		}
		options = append(options, nats.RootCAs(ca))
	}
	conn, err := nats.Connect(s.url, append(options, nats.Timeout(time.Minute))...)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(conn.Close)
	return conn
}
