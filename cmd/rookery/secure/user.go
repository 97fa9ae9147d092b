package secure

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

// User is who connects to the bus. Its name and namespaces are DNS labels.
type User struct {
	Name       string    `json:"name"`
	Role       string    `json:"role"`
	Namespaces []string  `json:"namespaces,omitempty"`
	Issued     time.Time `json:"issued"`
	// Ends is when its credentials end; the zero time where they do not.
	Ends time.Time `json:"ends,omitzero"`
	// Key is the public key of its credentials.
	Key string `json:"key"`
}

func (u User) credsFile() string   { return path.Join(usersUnder, u.Name+".creds") }
func (u User) contextFile() string { return path.Join(usersUnder, u.Name+".json") }
func (u User) tokenFile() string   { return path.Join(tokensUnder, u.Name+".jwt") }

// CredsFile is where the credentials of a user stand.
func CredsFile(name string) string { return User{Name: name}.credsFile() }

// ContextFile is where the NATS context of a user stands.
func ContextFile(name string) string { return User{Name: name}.contextFile() }

// FilesOf returns the files of a user. The last is the one by which the folder knows it.
func FilesOf(name string) []string {
	u := User{Name: name}
	return []string{u.credsFile(), u.contextFile(), u.tokenFile()}
}

// check returns an error for a user that its role does not allow.
func (u User) check(r Role) error {
	if !events.ValidName(u.Name) {
		return fmt.Errorf("%q is not a name: use 1 to %d of a-z, 0-9 and \"-\", with no \"-\" at either end", u.Name, events.MaxName)
	}
	for _, ns := range u.Namespaces {
		if !events.ValidName(ns) {
			return fmt.Errorf("%q is not a namespace: use 1 to %d of a-z, 0-9 and \"-\", with no \"-\" at either end", ns, events.MaxName)
		}
	}
	switch {
	case r.ByNamespace && len(u.Namespaces) == 0:
		return fmt.Errorf("a %s needs a namespace at least: add --namespace, as in --namespace demo", r.Name)
	case !r.ByNamespace && len(u.Namespaces) > 0:
		return fmt.Errorf("a %s has all namespaces: leave --namespace out", r.Name)
	}
	return nil
}

// NewUser makes the credentials of a user with a new key, and the token by which the folder knows the user. The files have the signing keys.
func NewUser(files Files, u User) (Files, error) {
	r, err := RoleNamed(u.Role)
	if err != nil {
		return nil, err
	}
	if err := u.check(r); err != nil {
		return nil, err
	}
	c, err := files.Cluster()
	if err != nil {
		return nil, err
	}
	signer, err := nkeys.FromSeed(files[roleKey(r.Name)])
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", roleKey(r.Name), err)
	}
	token, seed, err := newCredentials(signer, c.Accounts[r.account], u, true)
	if err != nil {
		return nil, err
	}
	creds, err := Credentials(token, seed)
	return Files{u.credsFile(): creds, u.tokenFile(): []byte(token)}, err
}

// Context returns the NATS context of a user, for a folder of the cluster's security at this absolute path.
func (f Files) Context(u User, folder string) ([]byte, error) {
	c, err := f.Cluster()
	if err != nil {
		return nil, err
	}
	return contextOf(u.Name, c.URL, path.Join(folder, u.credsFile()), path.Join(folder, CA))
}

func contextOf(user, url, creds, ca string) ([]byte, error) {
	return json.MarshalIndent(map[string]string{
		"description": "Rookery, as " + user, "url": url, "creds": creds, "ca": ca, "inbox_prefix": InboxOf(user),
	}, "", "  ")
}

// newCredentials makes a key, and the token for it. Scoped says that the signing key has the permissions.
func newCredentials(signer nkeys.KeyPair, account string, u User, scoped bool) (token string, seed []byte, err error) {
	pair, err := nkeys.CreateUser()
	if err != nil {
		return "", nil, err
	}
	if u.Key, err = pair.PublicKey(); err != nil {
		return "", nil, err
	}
	if seed, err = pair.Seed(); err != nil {
		return "", nil, err
	}
	token, err = u.token(signer, account, scoped)
	return token, seed, err
}

// token returns NATS's token for the user's key.
func (u User) token(signer nkeys.KeyPair, account string, scoped bool) (string, error) {
	claims := jwt.NewUserClaims(u.Key)
	claims.Name, claims.IssuerAccount = u.Name, account
	claims.SetScoped(scoped)
	claims.Tags.Add(bus.RoleTag + u.Role)
	for _, ns := range u.Namespaces {
		claims.Tags.Add(bus.NamespaceTag + ns)
	}
	if !u.Ends.IsZero() {
		claims.Expires = u.Ends.Unix()
	}
	return claims.Encode(signer)
}

// Cluster returns what the files know of the cluster.
func (f Files) Cluster() (c Cluster, err error) {
	if err := json.Unmarshal(f[clusterFile], &c); err != nil {
		return c, fmt.Errorf("read %s: %w", clusterFile, err)
	}
	for _, name := range append([]string{System}, accounts...) {
		if c.Accounts[name] == "" {
			return c, fmt.Errorf("%s has no account %s: make new keys with rookery secure init", clusterFile, name)
		}
	}
	return c, nil
}

// Users returns the users whose tokens are among the files, by name.
func (f Files) Users() (all []User, err error) {
	for name, content := range f {
		if path.Dir(name) != tokensUnder || path.Ext(name) != ".jwt" {
			continue
		}
		u, err := readUser(content)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		all = append(all, u)
	}
	slices.SortFunc(all, func(a, b User) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

func readUser(token []byte) (User, error) {
	claims, err := jwt.DecodeUserClaims(string(token))
	if err != nil {
		return User{}, err
	}
	u := User{Name: claims.Name, Namespaces: bus.NamespacesIn(claims.Tags), Issued: time.Unix(claims.IssuedAt, 0), Key: claims.Subject}
	if claims.Expires > 0 {
		u.Ends = time.Unix(claims.Expires, 0)
	}
	for _, tag := range claims.Tags {
		if role, is := strings.CutPrefix(tag, bus.RoleTag); is {
			u.Role = role
		}
	}
	return u, nil
}

// Account is the account that the user is in.
func (u User) Account() (string, error) {
	r, err := RoleNamed(u.Role)
	return r.account, err
}

// Revoke returns an account without these keys. Keys that the servers' version of the account revokes stay revoked: the folder may be an older copy.
// Servers that get the account close the connections with these keys. A key that is revoked never comes back, whatever the clock says of when it was
// signed for.
func (f Files) Revoke(account string, keys []string, servers []byte) (token []byte, err error) {
	claims, err := jwt.DecodeAccountClaims(string(f[AccountFile(account)]))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", AccountFile(account), err)
	}
	theirs, err := jwt.DecodeAccountClaims(string(servers))
	if err != nil {
		return nil, fmt.Errorf("read the account of a server: %w", err)
	}
	signer, err := nkeys.FromSeed(f[signingKey])
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", signingKey, err)
	}
	for _, key := range keys {
		claims.RevokeAt(key, forever)
	}
	for key, until := range theirs.Revocations {
		claims.Revocations[key] = max(claims.Revocations[key], until)
	}
	text, err := claims.Encode(signer)
	return []byte(text), err
}

// forever is after every time at which a token of a user is signed.
var forever = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
