package secure

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"github.com/rookery-project/rookery/events"
)

// User is who connects to the bus. Its name and namespaces are DNS labels.
type User struct {
	Name       string    `json:"name"`
	Role       string    `json:"role"`
	Namespaces []string  `json:"namespaces,omitempty"`
	Issued     time.Time `json:"issued"`
	// Key is the public key of its credentials.
	Key string `json:"key"`
}

func (u User) credsFile() string   { return path.Join(usersUnder, u.Name+".creds") }
func (u User) contextFile() string { return path.Join(usersUnder, u.Name+".json") }

// CredsFile is where the credentials of a user stand.
func CredsFile(name string) string { return User{Name: name}.credsFile() }

// ContextFile is where the NATS context of a user stands.
func ContextFile(name string) string { return User{Name: name}.contextFile() }

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

// NewUser makes the credentials of a user with a new key, and the NATS context with which programs find them. The files have the signing keys.
func NewUser(files Files, u User, now time.Time) (Files, error) {
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
	creds, err := credentials(signer, c.Account, u, now, true)
	return Files{u.credsFile(): creds}, err
}

// Context returns the NATS context of a user, for a folder of the cluster's security at this absolute path.
func (f Files) Context(u User, folder string) ([]byte, error) {
	c, err := f.Cluster()
	if err != nil {
		return nil, err
	}
	return json.MarshalIndent(map[string]string{
		"description": "Rookery, as " + u.Name, "url": c.URL, "creds": path.Join(folder, u.credsFile()), "ca": path.Join(folder, CA),
		"inbox_prefix": inboxOf(u.Name),
	}, "", "  ")
}

// credentials makes a key, and the token for it. Scoped says that the signing key has the permissions.
func credentials(signer nkeys.KeyPair, account string, u User, now time.Time, scoped bool) ([]byte, error) {
	pair, err := nkeys.CreateUser()
	if err != nil {
		return nil, err
	}
	public, err := pair.PublicKey()
	if err != nil {
		return nil, err
	}
	seed, err := pair.Seed()
	if err != nil {
		return nil, err
	}
	claims := jwt.NewUserClaims(public)
	claims.Name, claims.IssuerAccount = u.Name, account
	claims.SetScoped(scoped)
	claims.Tags.Add("role:" + u.Role)
	for _, ns := range u.Namespaces {
		claims.Tags.Add(namespaceTag + ns)
	}
	token, err := claims.Encode(signer)
	if err != nil {
		return nil, err
	}
	return jwt.FormatUserConfig(token, seed)
}

// Cluster returns what the files know of the cluster.
func (f Files) Cluster() (c Cluster, err error) {
	if err := json.Unmarshal(f[clusterFile], &c); err != nil {
		return c, fmt.Errorf("read %s: %w", clusterFile, err)
	}
	return c, nil
}

// Users returns the users whose credentials are among the files, by name.
func (f Files) Users() (all []User, err error) {
	for name, content := range f {
		if path.Dir(name) != usersUnder || path.Ext(name) != ".creds" {
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

func readUser(creds []byte) (User, error) {
	token, err := jwt.ParseDecoratedJWT(creds)
	if err != nil {
		return User{}, err
	}
	claims, err := jwt.DecodeUserClaims(token)
	if err != nil {
		return User{}, err
	}
	u := User{Name: claims.Name, Namespaces: namespaces(claims.Tags), Issued: time.Unix(claims.IssuedAt, 0), Key: claims.Subject}
	for _, tag := range claims.Tags {
		if role, is := strings.CutPrefix(tag, "role:"); is {
			u.Role = role
		}
	}
	return u, nil
}

// Revoke returns the account without the user's key. Servers that get it close the user's connections.
func (f Files) Revoke(u User) (account []byte, err error) {
	claims, err := jwt.DecodeAccountClaims(string(f[AccountFile]))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", AccountFile, err)
	}
	signer, err := nkeys.FromSeed(f[signingKey])
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", signingKey, err)
	}
	if u.Key == "" {
		return nil, errors.New("the user has no key")
	}
	claims.Revoke(u.Key)
	token, err := claims.Encode(signer)
	return []byte(token), err
}
