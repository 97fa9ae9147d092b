package bus

import (
	"slices"
	"strings"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"

	"github.com/rookery-project/rookery/events"
)

// RoleTag begins the tag that each user of Rookery's accounts has, with the name of its role.
const RoleTag = "rookery-role:"

// user is one of Rookery's accounts.
type user struct {
	name string // "" for one that these accounts do not know
	// namespaces are those that it may see, in order; none for all.
	namespaces []string
}

// userOf returns the user that connects.
func userOf(conn *nats.Conn) user {
	if conn.Opts.UserJWT == nil {
		return user{}
	}
	token, err := conn.Opts.UserJWT()
	if err != nil {
		return user{}
	}
	return userIn(token)
}

// userIn returns the user of a token, which the server verifies.
func userIn(token string) user {
	claims, err := jwt.DecodeUserClaims(token)
	if err != nil || !hasRole(claims) {
		return user{}
	}
	return user{claims.Name, NamespacesIn(claims.Tags)}
}

// NamespacesIn returns the namespaces among the tags of a user, in order.
func NamespacesIn(tags jwt.TagList) []string {
	var all []string
	for _, tag := range tags {
		if ns, is := strings.CutPrefix(tag, NamespaceTag); is {
			all = append(all, ns)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func hasRole(claims *jwt.UserClaims) bool {
	return slices.ContainsFunc(claims.Tags, func(tag string) bool { return strings.HasPrefix(tag, RoleTag) })
}

// NamespaceTag begins the tag of a user that has a namespace.
const NamespaceTag = "ns:"

// User implements Bus.
func (b *JetStream) User() string { return b.user.name }

// Namespaces returns those that the user may see, in order; none for all.
func (b *JetStream) Namespaces() []string { return b.user.namespaces }

// QuestionSubject returns where this connection asks the question of this name: with its user, where accounts are on. The question is about one
// namespace, or "" for all that the user may see.
func (b *JetStream) QuestionSubject(name, namespace string) string {
	if b.user.name == "" {
		return events.QuestionSubject(name)
	}
	if len(b.user.namespaces) == 0 || namespace == "" {
		namespace = events.AllNamespaces
	}
	return events.QuestionBy(b.user.name, namespace, name)
}

// CommandSubject returns where this connection publishes the command that others publish to the subject: with its user, where accounts are on.
func (b *JetStream) CommandSubject(subject string) string {
	if b.user.name == "" {
		return subject
	}
	return events.CommandBy(b.user.name, subject)
}

// The values of metadataAccounts.
const accountsOn, accountsOff = "on", "off"

// accounts is what a stream that this connection makes says of accounts: only users of Rookery's accounts can make it there.
func (b *JetStream) accounts() string {
	if b.user.name == "" {
		return accountsOff
	}
	return accountsOn
}
