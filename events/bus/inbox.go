package bus

import "strings"

// inboxRoot begins the subjects that clients of NATS are answered on: alone, or with an underscore and a name behind it.
const inboxRoot = "_INBOX"

// IsInbox reports whether the subject is an inbox, on which a client waits for answers: below _INBOX, as _INBOX.ann with a prefix of the
// client's own, or below a root such as _INBOX_ann. Rookery answers on no other subject: a client must not borrow the permissions of the
// process that answers.
func IsInbox(subject string) bool {
	root, rest, _ := strings.Cut(subject, ".")
	ours := root == inboxRoot || strings.HasPrefix(root, inboxRoot+"_")
	return ours && rest != "" && !strings.ContainsAny(subject, " \t\r\n*>")
}

// answerable reports whether a request is answered there. Where it came from another account or cluster of servers, the server has put a
// subject of its own in the place of the inbox, or before it.
func answerable(reply string) bool {
	const otherAccount, otherCluster, tokens = "_R_.", "_GR_.", 4 // before an inbox are _GR_ and two tokens
	if strings.HasPrefix(reply, otherCluster) {
		parts := strings.SplitN(reply, ".", tokens)
		reply = parts[len(parts)-1]
	}
	return IsInbox(reply) || strings.HasPrefix(reply, otherAccount)
}
