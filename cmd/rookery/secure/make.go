package secure

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"
)

// Server is one of the NATS servers of a cluster. Its name is a DNS label. Its address is a host name or an IP address, at which clients and the
// other servers reach it.
type Server struct {
	Name    string `json:"name"`
	Address string `json:"address"`
}

// The ports of a server.
const (
	ClientPort  = 4222
	ClusterPort = 6222
)

// ClientURL is where clients connect to the server.
func (s Server) ClientURL() string { return s.at(ClientPort) }

// RouteURL is where other servers connect to the server.
func (s Server) RouteURL() string { return s.at(ClusterPort) }

func (s Server) at(port int) string {
	return "tls://" + net.JoinHostPort(s.Address, strconv.Itoa(port))
}

// Files are the contents of files by their paths below the folder of a cluster's security, with slashes. All of them are for their owner only.
type Files map[string][]byte

// The folders and files. The keys in Offline sign all others, and belong on a disk that is locked away.
const (
	Offline      = "offline"
	Keys         = "keys"
	operatorKey  = Offline + "/operator.nk"
	caKey        = Offline + "/ca.key"
	CA           = "ca.crt"
	clusterFile  = Keys + "/cluster.json"
	signingKey   = Keys + "/operator-signing.nk"
	systemKey    = Keys + "/system-signing.nk"
	AccountFile  = Keys + "/rookery.jwt"
	SystemCreds  = Keys + "/system.creds"
	tokensUnder  = Keys + "/users"
	serversUnder = "servers"
	usersUnder   = "users"
)

func roleKey(role string) string { return Keys + "/" + role + ".nk" }

// Cluster is what the folder of a cluster's security knows of it.
type Cluster struct {
	Servers []Server `json:"servers"`
	// URL is where clients connect: the addresses of all servers, divided by commas.
	URL string `json:"url"`
	// Account is the public key of the account in which everything of Rookery is, and System that of NATS's own.
	Account string `json:"account"`
	System  string `json:"system"`
}

// urls is where clients connect.
func urls(servers []Server) string {
	all := make([]string, len(servers))
	for i, s := range servers {
		all[i] = s.ClientURL()
	}
	return strings.Join(all, ",")
}

// Make makes the files for a new cluster with these servers: a certificate authority and each server's certificate and configuration, the operator
// and accounts, a signing key for each role, the credentials with which an operator changes accounts, and the first users: one operator and one
// coordinator. Two calls never make the same keys.
func Make(servers []Server, now time.Time) (Files, error) {
	files := Files{}
	keys, err := makeKeys(files)
	if err != nil {
		return nil, err
	}
	c := Cluster{Servers: servers, URL: urls(servers), Account: keys.account, System: keys.system}
	if err := keys.accounts(files, c); err != nil {
		return nil, err
	}
	if err := makeCertificates(files, servers, now); err != nil {
		return nil, err
	}
	if files[clusterFile], err = json.MarshalIndent(c, "", "  "); err != nil {
		return nil, err
	}
	for _, s := range servers {
		if err := keys.configure(files, c, s); err != nil {
			return nil, err
		}
	}
	for _, role := range []string{Operator, Coordinator} {
		made, err := NewUser(files, User{Name: role, Role: role})
		if err != nil {
			return nil, err
		}
		maps.Copy(files, made)
	}
	return files, nil
}

// keys are the key pairs that sign others.
type keys struct {
	operator, signing nkeys.KeyPair
	// account and system are public keys of accounts. Their own keys sign nothing, and are not kept: the operator's signing key can change both.
	account, system string
	systemSigning   nkeys.KeyPair
	roles           map[string]string // public keys, by role
	operatorToken   string
	tokens          map[string]string // of accounts, by their public keys
}

func makeKeys(files Files) (*keys, error) {
	k := &keys{roles: map[string]string{}, tokens: map[string]string{}}
	var failed error
	// pair makes a key pair, and returns its public key as well.
	pair := func(of func() (nkeys.KeyPair, error)) (nkeys.KeyPair, string) {
		made, err := of()
		public := ""
		if err == nil {
			public, err = made.PublicKey()
		}
		failed = errors.Join(failed, err)
		return made, public
	}
	// keep is pair for one that signs others.
	keep := func(name string, of func() (nkeys.KeyPair, error)) (made nkeys.KeyPair, public string) {
		if made, public = pair(of); failed == nil {
			files[name], failed = made.Seed()
		}
		return made, public
	}
	k.operator, _ = keep(operatorKey, nkeys.CreateOperator)
	k.signing, _ = keep(signingKey, nkeys.CreateOperator)
	k.systemSigning, _ = keep(systemKey, nkeys.CreateAccount)
	_, k.account = pair(nkeys.CreateAccount)
	_, k.system = pair(nkeys.CreateAccount)
	for _, r := range roles {
		_, k.roles[r.Name] = keep(roleKey(r.Name), nkeys.CreateAccount)
	}
	return k, failed
}

// accounts makes the tokens of the operator and the accounts, and the credentials with which accounts are changed.
func (k *keys) accounts(files Files, c Cluster) error {
	operator, err := k.operator.PublicKey()
	if err != nil {
		return err
	}
	signing, err := k.signing.PublicKey()
	if err != nil {
		return err
	}
	systemSigning, err := k.systemSigning.PublicKey()
	if err != nil {
		return err
	}
	o := jwt.NewOperatorClaims(operator)
	o.Name, o.SystemAccount, o.StrictSigningKeyUsage = "rookery", c.System, true
	o.SigningKeys.Add(signing)
	if k.operatorToken, err = o.Encode(k.operator); err != nil {
		return err
	}
	system := jwt.NewAccountClaims(c.System)
	system.Name = "SYSTEM"
	system.SigningKeys.Add(systemSigning)
	account := jwt.NewAccountClaims(c.Account)
	account.Name = "ROOKERY"
	account.Limits.JetStreamLimits = jwt.JetStreamLimits{MemoryStorage: jwt.NoLimit, DiskStorage: jwt.NoLimit, Streams: jwt.NoLimit, Consumer: jwt.NoLimit}
	for _, r := range roles {
		account.SigningKeys.AddScopedSigner(r.scope(k.roles[r.Name]))
	}
	for _, a := range []*jwt.AccountClaims{system, account} {
		if k.tokens[a.Subject], err = a.Encode(k.signing); err != nil {
			return err
		}
	}
	files[AccountFile] = []byte(k.tokens[c.Account])
	_, files[SystemCreds], err = credentials(k.systemSigning, c.System, User{Name: Operator, Role: Operator}, false)
	return err
}

// configure makes the folder of a server: its configuration, and the key of what it stores.
func (k *keys) configure(files Files, c Cluster, s Server) error {
	folder := path.Join(serversUnder, s.Name)
	files[path.Join(folder, "encryption.conf")] = fmt.Appendf(nil, "key: %q\n", randomText())
	var text strings.Builder
	err := configuration.Execute(&text, struct {
		Server
		Cluster
		Operator                string
		AccountToken            string
		SystemToken             string
		Others                  []Server
		ClientPort, ClusterPort int
	}{
		s, c, k.operatorToken, k.tokens[c.Account], k.tokens[c.System],
		slices.DeleteFunc(slices.Clone(c.Servers), func(other Server) bool { return other == s || len(c.Servers) == 1 }), ClientPort, ClusterPort,
	})
	files[path.Join(folder, "nats.conf")] = []byte(text.String())
	return err
}
