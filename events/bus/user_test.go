package bus

import (
	"slices"
	"testing"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"
)

// FuzzUserTokens reads users from any text. Only a user with a role of Rookery has a name.
func FuzzUserTokens(f *testing.F) {
	account, err := nkeys.CreateAccount()
	if err != nil {
		f.Fatal(err)
	}
	for _, tags := range [][]string{{RoleTag + "viewer", NamespaceTag + "demo", NamespaceTag + "demo", NamespaceTag + "a"}, {"other"}, nil} {
		pair, err := nkeys.CreateUser()
		if err != nil {
			f.Fatal(err)
		}
		public, err := pair.PublicKey()
		if err != nil {
			f.Fatal(err)
		}
		claims := jwt.NewUserClaims(public)
		claims.Name = "ann"
		claims.Tags.Add(tags...)
		token, err := claims.Encode(account)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(token)
		got := userIn(token)
		if want := len(tags) > 1; (got.name == "ann") != want || (want && !slices.Equal(got.namespaces, []string{"a", "demo"})) {
			f.Fatalf("the tags %q are of the user %+v", tags, got)
		}
	}
	f.Fuzz(func(t *testing.T, token string) {
		if got := userIn(token); got.name == "" && len(got.namespaces) > 0 {
			t.Fatalf("a user without a name has namespaces: %+v", got)
		}
	})
}
