package events

import (
	"strconv"
	"strings"
)

// How much is kept of what a container has printed before it failed: in bytes, and in lines.
const (
	MaxOutput      = 8 << 10
	MaxOutputLines = 50
)

// OutputKey is the key under which the last lines of an attempt's container are kept: <namespace>.<name>.<ordinal>.
// <generation>.<attempt>. Statuses and events name it and never hold the lines: those may have secrets in them.
func OutputKey(id InstanceID, attempt uint32) string {
	return strings.Join([]string{
		id.Service.Namespace, id.Service.Name, strconv.FormatUint(uint64(id.Ordinal), 10),
		strconv.FormatUint(uint64(id.Generation), 10), strconv.FormatUint(uint64(attempt), 10),
	}, ".")
}

// checkOutput holds a key to be that of the instance's attempt: operators type it, and a node may report only on its own instances.
func (s InstanceState) checkOutput() error {
	if want := OutputKey(s.ID(), s.Attempt); s.Output != "" && s.Output != want {
		return Reject(CodeInvalidValue, "output", "output is %s, and that of the instance's attempt is %s", quote(s.Output), want)
	}
	return nil
}
