package events

import (
	"errors"
	"strings"
)

// errPercent occurs when a header's value has a "%" that two hexadecimal digits do not follow.
var errPercent = errors.New("not percent-encoded")

const hexDigits = "0123456789ABCDEF"

// percentEncode writes an attribute's value as CloudEvents puts it into a header: what is not printable ASCII, the
// space, the quote and the percent sign become the percent-encoded bytes of their UTF-8.
func percentEncode(s string) string {
	plain := func(c byte) bool { return c > ' ' && c <= '~' && c != '"' && c != '%' }
	encoded := 0
	for i := range len(s) {
		if !plain(s[i]) {
			encoded++
		}
	}
	if encoded == 0 {
		return s
	}
	b := make([]byte, 0, len(s)+2*encoded)
	for i := range len(s) {
		if c := s[i]; plain(c) {
			b = append(b, c)
		} else {
			b = append(b, '%', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return string(b)
}

// percentDecode reads such a value.
func percentDecode(s string) (string, error) {
	if strings.IndexByte(s, '%') < 0 {
		return s, nil
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			b = append(b, s[i])
			continue
		}
		if len(s) < i+3 {
			return "", errPercent
		}
		high, low := hexValue(s[i+1]), hexValue(s[i+2])
		if high < 0 || low < 0 {
			return "", errPercent
		}
		b = append(b, byte(high<<4|low))
		i += 2
	}
	return string(b), nil
}

func hexValue(c byte) int {
	if 'a' <= c && c <= 'f' {
		c -= 'a' - 'A'
	}
	return strings.IndexByte(hexDigits, c)
}
