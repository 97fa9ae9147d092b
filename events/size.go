package events

import (
	"slices"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"
)

// Size is an amount of memory or disk in bytes, written with a unit: "256MiB", "1.5GiB", "500MB". MiB is 2^20 bytes and
// MB 10^6.
type Size uint64

// MaxSize is the greatest size that a message takes: 1 PiB.
const MaxSize Size = 1 << 50

// sizeUnits are those that a size is written with. Without one it is not clear what is meant.
var sizeUnits = []string{"B", "kB", "KB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB"}

// AppendText writes the size in the greatest binary unit that it is a whole number of, and else in bytes.
func (s Size) AppendText(text []byte) ([]byte, error) {
	for i, unit := range [...]string{"TiB", "GiB", "MiB", "KiB"} {
		if one := Size(1) << (10 * (4 - i)); s >= one && s%one == 0 {
			return append(strconv.AppendUint(text, uint64(s/one), 10), unit...), nil
		}
	}
	return append(strconv.AppendUint(text, uint64(s), 10), 'B'), nil
}

// MarshalText is AppendText to nothing.
func (s Size) MarshalText() ([]byte, error) { return s.AppendText(nil) }

// String returns the size as AppendText writes it.
func (s Size) String() string {
	text, _ := s.AppendText(nil)
	return string(text)
}

// UnmarshalText reads "256MiB". Its errors are *Rejection.
func (s *Size) UnmarshalText(text []byte) error {
	unit := strings.TrimLeft(string(text), "0123456789.")
	n, err := humanize.ParseBytes(string(text))
	if err != nil || !slices.Contains(sizeUnits, unit) {
		return Reject(CodeInvalidValue, "", "%s is not a size: write it with its unit, as in 64MiB, 1.5GiB or 500MB", quote(string(text)))
	}
	if Size(n) > MaxSize {
		return Reject(CodeOutOfRange, "", "%s is more than %s", quote(string(text)), MaxSize)
	}
	*s = Size(n)
	return nil
}
