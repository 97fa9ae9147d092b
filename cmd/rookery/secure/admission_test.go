package secure

import (
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"

	"github.com/rookery-project/rookery/events"
)

func issuing(t testing.TB) (Files, *Issuer) {
	t.Helper()
	files, err := Make([]Server{{"nats-1", "10.0.0.1"}}, noon)
	if err != nil {
		t.Fatal(err)
	}
	issuer, err := files.Issuer()
	if err != nil {
		t.Fatal(err)
	}
	return files, issuer
}

// TestATokenIsReadAsItWasMade reads a token, and what else an operator may give.
func TestATokenIsReadAsItWasMade(t *testing.T) {
	files, _ := issuing(t)
	ends := time.Now().Add(time.Hour).Truncate(time.Second)
	token, err := NewToken(files, "t-one", ends)
	if err != nil {
		t.Fatal(err)
	}
	got, err := ParseToken(" " + token.String() + "\n")
	if err != nil || got != token {
		t.Fatalf("read as %+v: %v", got, err)
	}
	if u, err := got.User(); err != nil || u.Name != "t-one" || u.Role != Joiner || !u.Ends.Equal(ends) {
		t.Errorf("the user is %+v: %v", u, err)
	}
	without := token
	without.URL = "nats://10.0.0.1:4222"
	for text, want := range map[string]string{
		"": "this is not a token", "hello": "this is not a token", token.String()[:200]: "cut off or changed", without.String(): "no server to connect to with TLS",
		Token{JWT: token.JWT, URL: token.URL}.String(): "no certificate", Token{URL: token.URL, CA: token.CA}.String(): "cut off or changed",
	} {
		if _, err := ParseToken(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %s", text, err, want)
		}
	}
}

// FuzzParseToken reads a token from any text: it names servers with TLS and a user, or there is an error.
func FuzzParseToken(f *testing.F) {
	files, _ := issuing(f)
	token, err := NewToken(files, "t-one", noon)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(token.String())
	f.Add("rookery-token-1.e30")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ParseToken(text)
		if err != nil {
			return
		}
		if _, err := got.User(); err != nil || !strings.HasPrefix(got.URL, "tls://") || got.CA == "" {
			t.Errorf("%q reads as %+v: %v", text, got, err)
		}
	})
}

// FuzzJoinQuestions signs credentials for any question that a node may ask: they are for its name and key alone, or there is an error.
func FuzzJoinQuestions(f *testing.F) {
	_, issuer := issuing(f)
	f.Add("edge-1", "UDXB6VSFQFQ4SBXW2YZSPZ4DFBWKQ36K2BBYKEL2AVOBU7D2IXQGXPKC")
	f.Add("*", "U")
	f.Fuzz(func(t *testing.T, node, key string) {
		q := events.JoinQuestion{Node: node, Key: events.NodeKey(key)}
		if q.Check() != nil {
			return
		}
		answer, err := issuer.Issue(q.Node, q.Key, noon)
		if err != nil {
			return // the checksum of the key is wrong
		}
		for _, token := range []string{answer.Node, answer.Again} {
			claims, err := jwt.DecodeUserClaims(token)
			if err != nil || claims.Name != node || claims.Subject != key || !events.ValidName(node) {
				t.Errorf("%q with %q gets %+v: %v", node, key, claims, err)
			}
		}
	})
}
