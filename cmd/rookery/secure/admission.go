package secure

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"github.com/rookery-project/rookery/events"
)

// nodeLasts is how long the credentials of a node last that has joined with a token. It renews them at two thirds.
const nodeLasts = 7 * 24 * time.Hour

// Issuer signs the credentials of nodes that join.
type Issuer struct {
	// Lasts is how long those for a node's work last.
	Lasts        time.Duration
	account      string
	node, joiner nkeys.KeyPair
}

// Issuer reads what a coordinator needs to sign credentials of nodes: the files in Admission.
func (f Files) Issuer() (*Issuer, error) {
	i := &Issuer{Lasts: nodeLasts, account: strings.TrimSpace(string(f[NodesAccount]))}
	if !nkeys.IsValidPublicAccountKey(i.account) {
		return nil, fmt.Errorf("%s has no key of an account: copy the folder %s of rookery secure init", path.Base(NodesAccount), Admission)
	}
	for role, into := range map[string]*nkeys.KeyPair{Node: &i.node, Joiner: &i.joiner} {
		pair, err := nkeys.FromSeed(f[roleKey(role)])
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", path.Base(roleKey(role)), err)
		}
		*into = pair
	}
	return i, nil
}

// ReadAdmission reads the folder Admission, wherever it was copied to.
func ReadAdmission(folder fs.FS) (Files, error) {
	files := Files{}
	for _, name := range []string{NodesAccount, roleKey(Node), roleKey(Joiner), roundsKeys} {
		content, err := fs.ReadFile(folder, path.Base(name))
		if name == roundsKeys && errors.Is(err, fs.ErrNotExist) {
			continue // keys of before rounds were signed
		}
		if err != nil {
			return nil, err
		}
		files[name] = content
	}
	return files, nil
}

// Signers reads the keys that sign rounds, the present one first and then all those before it; none where there are none.
func (f Files) Signers() (all []*events.Signer, err error) {
	for seed := range bytes.FieldsSeq(f[roundsKeys]) {
		s, err := events.NewSigner(seed)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", path.Base(roundsKeys), err)
		}
		all = append(all, s)
	}
	return all, nil
}

// Issue signs credentials of a node for its key.
func (i *Issuer) Issue(node string, key events.NodeKey, now time.Time) (a events.JoinAnswer, err error) {
	u := User{Name: node, Role: Node, Key: string(key), Ends: now.Add(i.Lasts)}
	again := User{Name: node, Role: Joiner, Key: string(key)}
	if a.Node, err = u.token(i.node, i.account, true); err == nil {
		a.Again, err = again.token(i.joiner, i.account, true)
	}
	a.Until = u.Ends.UTC().Truncate(time.Second)
	return a, err
}

// Token is what a new node needs to ask for credentials.
type Token struct {
	// URL is where it connects, and CA the certificate of the authority that all servers have theirs from.
	URL string `json:"url"`
	CA  string `json:"ca"`
	// JWT and Seed are the credentials with which it asks.
	JWT  string `json:"jwt"`
	Seed string `json:"seed"`
}

// tokenPrefix begins the text of a token, so that one that is lost in a text can be found.
const tokenPrefix = "rookery-token-1."

// maxToken is the length of the longest token in bytes.
const maxToken = 16 << 10

// NewToken makes a token that ends then. The cluster's log must have one of the same id.
func NewToken(f Files, id string, ends time.Time) (Token, error) {
	c, err := f.Cluster()
	if err != nil {
		return Token{}, err
	}
	signer, err := nkeys.FromSeed(f[roleKey(Joiner)])
	if err != nil {
		return Token{}, fmt.Errorf("read %s, which rookery secure init makes: %w", roleKey(Joiner), err)
	}
	token, seed, err := newCredentials(signer, c.Accounts[Nodes], User{Name: id, Role: Joiner, Ends: ends}, true)
	return Token{URL: c.URL, CA: string(f[CA]), JWT: token, Seed: string(seed)}, err
}

// String returns the token as one word.
func (t Token) String() string {
	body, err := json.Marshal(t)
	if err != nil {
		panic("a token of plain fields does not encode: " + err.Error())
	}
	return tokenPrefix + base64.RawURLEncoding.EncodeToString(body)
}

// ParseToken reads a token. Its error does not repeat the text, which is secret.
func ParseToken(text string) (t Token, err error) {
	text = strings.TrimSpace(text)
	coded, ours := strings.CutPrefix(text, tokenPrefix)
	if !ours || len(text) > maxToken {
		return t, fmt.Errorf("this is not a token: want one word that begins with %s, as rookery token create prints it", tokenPrefix)
	}
	body, err := base64.RawURLEncoding.DecodeString(coded)
	if err != nil {
		return t, fmt.Errorf("the token is cut off or changed: %w", err)
	}
	if err := json.Unmarshal(body, &t, json.RejectUnknownMembers(true)); err != nil {
		return Token{}, fmt.Errorf("the token is cut off or changed: %w", err)
	}
	if _, err := t.User(); err != nil {
		return Token{}, fmt.Errorf("the token is cut off or changed: %w", err)
	}
	for _, server := range strings.Split(t.URL, ",") {
		if u, err := url.Parse(server); err != nil || u.Scheme != "tls" || u.Host == "" {
			return Token{}, errors.New("the token names no server to connect to with TLS")
		}
	}
	if t.CA == "" {
		return Token{}, errors.New("the token has no certificate of an authority")
	}
	return t, nil
}

// User is the one that the token connects as. It is its id.
func (t Token) User() (User, error) { return readUser([]byte(t.JWT)) }

// Credentials returns a credentials file of NATS with this token of a user and its seed.
func Credentials(token string, seed []byte) ([]byte, error) { return jwt.FormatUserConfig(token, seed) }

// NodeFiles returns the credentials of a node with this seed: those for its work in the file creds, and those with which it asks again beside it.
func NodeFiles(creds string, seed []byte, a events.JoinAnswer) (Files, error) {
	work, err := Credentials(a.Node, seed)
	if err != nil {
		return nil, fmt.Errorf("the credentials that the coordinator gave: %w", err)
	}
	again, err := Credentials(a.Again, seed)
	if err != nil {
		return nil, fmt.Errorf("the credentials that the coordinator gave to ask again: %w", err)
	}
	return Files{creds: work, AgainFile(creds): again}, nil
}

// credsSuffix ends the names of credentials files.
const credsSuffix = ".creds"

// NodeCreds is where a node keeps the credentials for its work.
func NodeCreds(node string) string { return node + credsSuffix }

// AgainFile is where the credentials stand with which a node asks again, beside those for its work.
func AgainFile(creds string) string {
	return strings.TrimSuffix(creds, credsSuffix) + ".again" + credsSuffix
}

// Context returns the NATS context of a node that joined with the token. Its files are in the folder, which is absolute.
func (t Token) Context(node, folder string) ([]byte, error) {
	return contextOf(node, t.URL, path.Join(folder, NodeCreds(node)), path.Join(folder, CAFile(node)))
}

// CAFile is where a node keeps the certificate of the authority.
func CAFile(node string) string { return node + ".ca.crt" }

// ReadCredentials reads who a credentials file is of, and when its token was issued. The seed signs for the user.
func ReadCredentials(creds []byte) (u User, seed []byte, err error) {
	token, err := jwt.ParseDecoratedJWT(creds)
	if err != nil {
		return u, nil, err
	}
	if u, err = readUser([]byte(token)); err != nil {
		return u, nil, err
	}
	pair, err := jwt.ParseDecoratedUserNKey(creds)
	if err != nil {
		return u, nil, err
	}
	seed, err = pair.Seed()
	return u, seed, err
}
