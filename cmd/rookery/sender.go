package main

import (
	"cmp"
	"os"
	"os/user"
	"regexp"
	"strings"
)

// senderPrefix begins the source of commands that this program sends.
const senderPrefix = "/cli/"

// unsafe is what has no place in a source, which is a URI reference.
var unsafe = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// sender is the source of the commands that this process sends: who runs it, by its own word.
func sender() string {
	name := os.Getenv("USER")
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	host, _ := os.Hostname()
	plain := func(text string) string {
		return cmp.Or(strings.Trim(unsafe.ReplaceAllString(text, "-"), "-"), "unknown")
	}
	return senderPrefix + plain(name) + "@" + plain(host)
}

// senderWords are what is shown of a source: of one that this program gave, the user and host, which nothing verifies.
func senderWords(source string) string {
	said, ours := strings.CutPrefix(source, senderPrefix)
	if !ours {
		return source
	}
	return said + " (unverified)"
}
