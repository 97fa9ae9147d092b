package secure

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
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

// Listens is the address on which the server listens: a loopback address alone, else all of its machine. The address may be a
// name, or that of a machine in between.
func (s Server) Listens() string {
	if address, err := netip.ParseAddr(s.Address); err == nil && address.Is4() && address.IsLoopback() {
		return s.Address
	}
	return "0.0.0.0"
}

func (s Server) folder() string { return path.Join(serversUnder, s.Name) }

func (s Server) at(port int) string {
	return "tls://" + net.JoinHostPort(s.Address, strconv.Itoa(port))
}

// Files are the contents of files by their paths below the folder of a cluster's security, with slashes. All of them are for their owner only.
type Files map[string][]byte

// The folders and files. The keys in Offline sign all others, and belong on a disk that is locked away.
const (
	Offline = "offline"
	Keys    = "keys"
	// Admission has what a coordinator signs with: credentials of nodes that join, and rounds.
	Admission = "admission"
	// NodesAccount is the account of nodes, and a file of each folder Admission.
	NodesAccount = Admission + "/account"
	// roundsKeys has the key that signs rounds, and below it those before.
	roundsKeys   = Admission + "/rounds.nk"
	operatorKey  = Offline + "/operator.nk"
	CAKey        = Offline + "/ca.key"
	CA           = "ca.crt"
	clusterFile  = Keys + "/cluster.json"
	signingKey   = Keys + "/operator-signing.nk"
	systemKey    = Keys + "/system-signing.nk"
	SystemCreds  = Keys + "/system.creds"
	tokensUnder  = Keys + "/users"
	serversUnder = "servers"
	usersUnder   = "users"
)

// roleKey is where the key stands that signs users of the role. Coordinators have those for nodes.
func roleKey(role string) string {
	folder := Keys
	if role == Node || role == Joiner {
		folder = Admission
	}
	return path.Join(folder, role+".nk")
}

// The accounts. No user reaches one from another, but for the subjects that are shared.
const (
	// Core has all streams. Coordinators and those who operate the cluster are in it.
	Core = "ROOKERY"
	// Clients and Nodes have no streams. A server's answer to their users, as to a command or a status, stays among them, whatever subject they
	// name for it.
	Clients = "CLIENTS"
	Nodes   = "NODES"
	// System is NATS's own.
	System = "SYSTEM"
)

// accounts are those that have users of Rookery.
var accounts = []string{Core, Clients, Nodes}

// AccountFile is where the token of an account stands.
func AccountFile(account string) string { return Keys + "/" + strings.ToLower(account) + ".jwt" }

// Cluster is what the folder of a cluster's security knows of it.
type Cluster struct {
	Servers []Server `json:"servers"`
	// URL is where clients connect: the addresses of all servers, divided by commas.
	URL string `json:"url"`
	// Accounts are the public keys of accounts, by their names.
	Accounts map[string]string `json:"accounts"`
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
	c := Cluster{Servers: servers, URL: urls(servers), Accounts: keys.accounts}
	if err := keys.sign(files); err != nil {
		return nil, err
	}
	if err := makeCertificates(files, servers, now); err != nil {
		return nil, err
	}
	files[NodesAccount] = []byte(keys.accounts[Nodes] + "\n")
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
	// accounts are public keys of accounts. Their own keys sign nothing, and are not kept: the operator's signing key can change all.
	accounts      map[string]string
	systemSigning nkeys.KeyPair
	roles         map[string]string // public keys, by role
	operatorToken string
	tokens        map[string]string // of accounts
}

func makeKeys(files Files) (*keys, error) {
	k := &keys{accounts: map[string]string{}, roles: map[string]string{}, tokens: map[string]string{}}
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
	_, _ = keep(roundsKeys, nkeys.CreateCluster)
	k.systemSigning, _ = keep(systemKey, nkeys.CreateAccount)
	for _, name := range append([]string{System}, accounts...) {
		_, k.accounts[name] = pair(nkeys.CreateAccount)
	}
	for _, r := range roles {
		_, k.roles[r.Name] = keep(roleKey(r.Name), nkeys.CreateAccount)
	}
	return k, failed
}

// sign makes the tokens of the operator and the accounts, and the credentials with which accounts are changed.
func (k *keys) sign(files Files) error {
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
	o.Name, o.SystemAccount, o.StrictSigningKeyUsage = "rookery", k.accounts[System], true
	o.SigningKeys.Add(signing)
	if k.operatorToken, err = o.Encode(k.operator); err != nil {
		return err
	}
	claims := map[string]*jwt.AccountClaims{}
	for name, key := range k.accounts {
		claims[name] = jwt.NewAccountClaims(key)
		claims[name].Name = name
	}
	claims[System].SigningKeys.Add(systemSigning)
	claims[Core].Limits.JetStreamLimits = jwt.JetStreamLimits{MemoryStorage: jwt.NoLimit, DiskStorage: jwt.NoLimit, Streams: jwt.NoLimit, Consumer: jwt.NoLimit}
	for _, s := range shared {
		claims[s.of].Exports.Add(&jwt.Export{Name: s.name(), Subject: jwt.Subject(s.subject), Type: s.how, ResponseType: s.answers})
		for _, to := range s.to {
			claims[to].Imports.Add(&jwt.Import{Name: s.name(), Subject: jwt.Subject(s.subject), Account: k.accounts[s.of], Type: s.how})
		}
	}
	for _, r := range roles {
		claims[r.account].SigningKeys.AddScopedSigner(r.scope(k.roles[r.Name]))
	}
	for name, c := range claims {
		if k.tokens[name], err = c.Encode(k.signing); err != nil {
			return err
		}
	}
	for _, name := range accounts {
		files[AccountFile(name)] = []byte(k.tokens[name])
	}
	token, seed, err := newCredentials(k.systemSigning, k.accounts[System], User{Name: Operator, Role: Operator}, false)
	if err == nil {
		files[SystemCreds], err = Credentials(token, seed)
	}
	return err
}

// configure makes the folder of a server: its configuration, and the key of what it stores.
func (k *keys) configure(files Files, c Cluster, s Server) error {
	folder := s.folder()
	files[s.StorageFile()] = fmt.Appendf(nil, "key: %q\n", randomText())
	tokens := map[string]string{}
	for name, token := range k.tokens {
		tokens[k.accounts[name]] = token
	}
	var text strings.Builder
	err := configuration.Execute(&text, struct {
		Server
		Cluster
		Operator, System        string
		Tokens                  map[string]string // of accounts, by their public keys
		Others                  []Server
		ClientPort, ClusterPort int
	}{
		s, c, k.operatorToken, k.accounts[System], tokens,
		slices.DeleteFunc(slices.Clone(c.Servers), func(other Server) bool { return other == s || len(c.Servers) == 1 }), ClientPort, ClusterPort,
	})
	files[path.Join(folder, "nats.conf")] = []byte(text.String())
	return err
}
