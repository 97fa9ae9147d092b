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

// userOf returns the name of the user that connects, or "" for one that Rookery's accounts do not know. The server verifies the token.
func userOf(conn *nats.Conn) string {
	if conn.Opts.UserJWT == nil {
		return ""
	}
	token, err := conn.Opts.UserJWT()
	if err != nil {
		return ""
	}
	claims, err := jwt.DecodeUserClaims(token)
	if err != nil || !hasRole(claims) {
		return ""
	}
	return claims.Name
}

func hasRole(claims *jwt.UserClaims) bool {
	return slices.ContainsFunc(claims.Tags, func(tag string) bool { return strings.HasPrefix(tag, RoleTag) })
}

// CommandSubject returns where this connection publishes the command that others publish to the subject: with its user, where accounts are on.
func (b *JetStream) CommandSubject(subject string) string {
	if b.user == "" {
		return subject
	}
	return events.CommandBy(b.user, subject)
}

// The values of metadataAccounts.
const accountsOn, accountsOff = "on", "off"

// accounts is what a stream that this connection makes says of accounts: only users of Rookery's accounts can make it there.
func (b *JetStream) accounts() string {
	if b.user == "" {
		return accountsOff
	}
	return accountsOn
}
