package events

import (
	"strconv"
	"strings"
)

// Ordinals names slots of a service, in an order. As text those that follow one another stand together: "3,0-2,7".
type Ordinals []uint32

// MarshalText writes the ordinals as "3,0-2,7".
func (o Ordinals) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// String returns the ordinals as "3,0-2,7".
func (o Ordinals) String() string {
	var text []byte
	for i := 0; i < len(o); {
		last := i
		for last+1 < len(o) && o[last+1] == o[last]+1 {
			last++
		}
		if i > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendUint(text, uint64(o[i]), 10)
		if last > i {
			text = strconv.AppendUint(append(text, '-'), uint64(o[last]), 10)
		}
		i = last + 1
	}
	return string(text)
}

// UnmarshalText reads "3,0-2,7", of MaxScale ordinals at most. Its errors are *Rejection.
func (o *Ordinals) UnmarshalText(text []byte) error {
	*o = nil
	if len(text) == 0 {
		return nil
	}
	for part := range strings.SplitSeq(string(text), ",") {
		from, to, several := strings.Cut(part, "-")
		if !several {
			to = from
		}
		first, okFirst := parseNumber(from)
		last, okLast := parseNumber(to)
		if !okFirst || !okLast || last < first || len(*o)+int(last-first) >= MaxScale {
			return Reject(CodeInvalidValue, "", "%s names no slots: write them as 0-3,7, %d at most", quote(part), MaxScale)
		}
		for n := first; n <= last; n++ {
			*o = append(*o, n)
		}
	}
	return nil
}
