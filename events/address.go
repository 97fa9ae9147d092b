package events

import (
	"strconv"
	"strings"
)

// validAddress reports whether the text is an IP address, as in 10.0.0.7 or fd00::7. Zones, and IPv4 written within
// IPv6, are not taken.
func validAddress(s string) bool {
	if !strings.Contains(s, ":") {
		parts := strings.Split(s, ".")
		return len(parts) == 4 && all(parts, validOctet)
	}
	head, tail, short := strings.Cut(s, "::")
	groups := append(groupsOf(head), groupsOf(tail)...)
	if !all(groups, validGroup) {
		return false
	}
	return short && len(groups) < 8 || !short && len(groups) == 8
}

func groupsOf(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ":")
}

func all(parts []string, valid func(string) bool) bool {
	for _, part := range parts {
		if !valid(part) {
			return false
		}
	}
	return true
}

func validOctet(s string) bool {
	n, err := strconv.ParseUint(s, 10, 8)
	return err == nil && strconv.FormatUint(n, 10) == s
}

func validGroup(s string) bool {
	_, err := strconv.ParseUint(s, 16, 16)
	return err == nil && len(s) <= 4 && s[0] != '+'
}
