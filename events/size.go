package events

import (
	"math"
	"strconv"
	"strings"
)

// Size is a number of bytes, written with the greatest unit that divides it: "64MiB", "1GiB", "100B".
type Size uint64

var sizeUnits = []struct {
	name  string
	bytes uint64
}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}}

// String returns the size as "64MiB".
func (s Size) String() string {
	for _, unit := range sizeUnits {
		if uint64(s) >= unit.bytes && uint64(s)%unit.bytes == 0 {
			return strconv.FormatUint(uint64(s)/unit.bytes, 10) + unit.name
		}
	}
	return "0B"
}

// MarshalText writes the size as "64MiB".
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads "64MiB". Its errors are *Rejection.
func (s *Size) UnmarshalText(text []byte) error {
	for _, unit := range sizeUnits {
		digits, ok := strings.CutSuffix(string(text), unit.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseUint(digits, 10, 64)
		if err != nil || n > math.MaxInt64/unit.bytes {
			break
		}
		*s = Size(n * unit.bytes)
		return nil
	}
	return Reject(CodeInvalidValue, "", "%s is not a size: write a whole number with its unit, as in 512KiB, 64MiB or 2GiB", quote(string(text)))
}
