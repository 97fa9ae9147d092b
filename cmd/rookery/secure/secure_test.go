package secure

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
)

var noon = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

func made(t *testing.T, servers ...Server) Files {
	t.Helper()
	files, err := Make(servers, noon)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestAccountsAreValid decodes what the servers get, and holds it to NATS's own rules.
func TestAccountsAreValid(t *testing.T) {
	files := made(t, Server{"nats-1", "10.0.0.1"}, Server{"nats-2", "nats.example"}, Server{"nats-3", "fd00::3"})
	signers := 0
	for _, name := range accounts {
		account, err := jwt.DecodeAccountClaims(string(files[AccountFile(name)]))
		if err != nil {
			t.Fatal(err)
		}
		results := jwt.CreateValidationResults()
		account.Validate(results)
		for _, issue := range results.Issues {
			if issue.Blocking {
				t.Errorf("%s: %s", name, issue.Description)
			}
		}
		signers += len(account.SigningKeys)
	}
	if signers != len(roles) {
		t.Errorf("the accounts have %d signing keys for %d roles", signers, len(roles))
	}
	text := string(files["servers/nats-1/nats.conf"])
	for _, want := range []string{"tls://nats.example:6222", "tls://[fd00::3]:6222", "handshake_first: auto"} {
		if !strings.Contains(text, want) {
			t.Errorf("the configuration of nats-1 lacks %s", want)
		}
	}
	if strings.Contains(text, "10.0.0.1") {
		t.Error("nats-1 has a route to itself")
	}
}

// TestServersGetNoKeyThatSigns looks for signing keys among what is copied to servers.
func TestServersGetNoKeyThatSigns(t *testing.T) {
	files := made(t, Server{"nats-1", "10.0.0.1"})
	for name, content := range files {
		if strings.HasPrefix(name, "servers/") {
			for _, key := range []string{operatorKey, signingKey, systemKey, CAKey, roleKey(Node), SystemCreds} {
				if strings.Contains(string(content), strings.TrimSpace(string(files[key]))) {
					t.Errorf("%s has %s", name, key)
				}
			}
		}
	}
}

func TestUsersAreChecked(t *testing.T) {
	files := made(t, Server{"nats-1", "10.0.0.1"})
	for _, row := range []struct {
		user User
		want string
	}{
		{User{Name: "ann", Role: "deployer", Namespaces: []string{"demo", "shop"}}, ""},
		{User{Name: "*", Role: "viewer"}, `"*" is not a name`},
		{User{Name: "a.b", Role: "viewer"}, `"a.b" is not a name`},
		{User{Name: "ann", Role: "deployer", Namespaces: []string{"*"}}, `"*" is not a namespace`},
		{User{Name: "ann", Role: "deployer"}, "needs a namespace at least"},
		{User{Name: "ann", Role: "auditor", Namespaces: []string{"demo"}}, "has all namespaces"},
		{User{Name: "ann", Role: "root"}, `there is no role "root": known are viewer, deployer`},
	} {
		got, err := NewUser(files, row.user)
		if row.want != "" {
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("%v: %v, want %s", row.user, err, row.want)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		users, err := got.Users()
		if err != nil || len(users) != 1 || users[0].Role != row.user.Role || !slices.Equal(users[0].Namespaces, row.user.Namespaces) {
			t.Errorf("%v was read back as %v (%v)", row.user, users, err)
		}
	}
}

// TestRevokedUsersStayRevoked revokes one user after another, each with the folder as it was in the beginning.
func TestRevokedUsersStayRevoked(t *testing.T) {
	files := made(t, Server{"nats-1", "10.0.0.1"})
	users, err := files.Users()
	if err != nil {
		t.Fatal(err)
	}
	users = slices.DeleteFunc(users, func(u User) bool { return in(t, u) != Core })
	servers := files[AccountFile(Core)]
	for i, u := range users {
		if servers, err = files.Revoke(Core, []string{u.Key}, servers); err != nil {
			t.Fatal(err)
		}
		account, err := jwt.DecodeAccountClaims(string(servers))
		if err != nil {
			t.Fatal(err)
		}
		for j, other := range users {
			claims, err := jwt.DecodeUserClaims(string(files[other.tokenFile()]))
			if err != nil {
				t.Fatal(err)
			}
			claims.IssuedAt += int64((365 * 24 * time.Hour).Seconds()) // as by a coordinator whose clock is ahead
			if revoked := account.IsClaimRevoked(claims); revoked != (j <= i) {
				t.Errorf("after %s is revoked, %s is revoked: %t", u.Name, other.Name, revoked)
			}
		}
	}
}

func in(t *testing.T, u User) string {
	t.Helper()
	name, err := u.Account()
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// TestRenewedCertificatesAreOfTheSameAuthority renews those of three servers, and refuses what would not be valid.
func TestRenewedCertificatesAreOfTheSameAuthority(t *testing.T) {
	files := made(t, Server{"nats-1", "10.0.0.1"}, Server{"nats-2", "nats.example"}, Server{"nats-3", "fd00::3"})
	later := noon.AddDate(0, 11, 0)
	renewed, until, err := Renew(files, later)
	if err != nil {
		t.Fatal(err)
	}
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM(files[CA]) {
		t.Fatal("there is no certificate of the authority")
	}
	for name, address := range map[string]string{"nats-1": "10.0.0.1", "nats-2": "nats.example", "nats-3": "fd00::3"} {
		folder := "servers/" + name
		pair, err := tls.X509KeyPair(renewed[folder+"/server.crt"], renewed[folder+"/server.key"])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := pair.Leaf.Verify(x509.VerifyOptions{DNSName: address, Roots: authorities, CurrentTime: until.Add(-time.Minute)}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if bytes.Equal(renewed[folder+"/server.key"], files[folder+"/server.key"]) {
			t.Errorf("%s has the key of before", name)
		}
	}
	if len(renewed) != 6 {
		t.Errorf("%d files are renewed, want a key and a certificate of each server", len(renewed))
	}
	if _, _, err := Renew(files, noon.AddDate(9, 6, 0)); err == nil || !strings.Contains(err.Error(), "before a new certificate would") {
		t.Errorf("a certificate would outlive its authority: %v", err)
	}
	files[CAKey] = made(t, Server{"nats-1", "10.0.0.1"})[CAKey]
	if _, _, err := Renew(files, later); err == nil {
		t.Error("the key of another authority signs")
	}
}

// TestAnotherAuthorityTakesOver makes another authority, and certificates of it: between, clients trust both.
func TestAnotherAuthorityTakesOver(t *testing.T) {
	files := made(t, Server{"nats-1", "10.0.0.1"})
	first := files[CA]
	signs := func(ca []byte) bool {
		authorities := x509.NewCertPool()
		if !authorities.AppendCertsFromPEM(ca) {
			t.Fatal("there is no certificate of an authority")
		}
		pair, err := tls.X509KeyPair(files["servers/nats-1/server.crt"], files["servers/nats-1/server.key"])
		if err != nil {
			t.Fatal(err)
		}
		_, err = pair.Leaf.Verify(x509.VerifyOptions{DNSName: "10.0.0.1", Roots: authorities, CurrentTime: noon.Add(time.Hour)})
		return err == nil
	}
	both, err := files.NewAuthority(noon)
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(files, both)
	if !signs(files[CA]) || !signs(first) || !bytes.Equal(files["servers/nats-1/ca.crt"], files[CA]) {
		t.Error("clients with both authorities do not trust a server that has a certificate of the one before")
	}
	if _, err := files.OnlyNewestAuthority(); err == nil {
		t.Error("the authority before counts no longer, before all servers have certificates of the new one")
	}
	again, err := files.NewAuthority(noon) // as after an interruption
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(files, again)
	if !signs(files[CA]) {
		t.Error("another authority again ends the trust in one that a server still needs")
	}
	renewed, _, err := Renew(files, noon)
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(files, renewed)
	if !signs(files[CA]) || signs(first) {
		t.Error("the server has no certificate of the new authority")
	}
	newest, err := files.OnlyNewestAuthority()
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(files, newest)
	if bytes.Contains(files[CA], first) || !signs(files[CA]) || !bytes.Equal(files["servers/nats-1/ca.crt"], files[CA]) {
		t.Error("the authority before counts still, or the new one does not")
	}
}

func TestAStorageKeyIsChangedOnceAtATime(t *testing.T) {
	files := made(t, Server{"nats-1", "10.0.0.1"})
	name := Server{Name: "nats-1"}.StorageFile()
	before := bytes.TrimPrefix(files[name], []byte("key: "))
	changed, err := files.NewStorageKeys()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasSuffix(changed[name], append([]byte("prev_encryption_key: "), before...)) || bytes.HasPrefix(changed[name], files[name][:len(files[name])-1]) {
		t.Errorf("the key was in %s and is in %s", files[name], changed[name])
	}
	maps.Copy(files, changed)
	if _, err := files.NewStorageKeys(); err == nil {
		t.Error("a key is made while the server may still need the one before the last")
	}
}
