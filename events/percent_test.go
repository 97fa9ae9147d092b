package events

import "testing"

func TestPercentEncoding(t *testing.T) {
	for _, tt := range []struct{ plain, encoded string }{
		{"", ""},
		{"/me?a=b&c#~", "/me?a=b&c#~"},
		{trace, trace},
		{"a b", "a%20b"},
		{`"%"`, "%22%25%22"},
		{"é€", "%C3%A9%E2%82%AC"},
		{"\x00\n\x7f", "%00%0A%7F"},
	} {
		if got := percentEncode(tt.plain); got != tt.encoded {
			t.Errorf("%q is written as %q, want %q", tt.plain, got, tt.encoded)
		}
		if got, err := percentDecode(tt.encoded); err != nil || got != tt.plain {
			t.Errorf("%q reads as %q, %v", tt.encoded, got, err)
		}
	}
	if got, err := percentDecode("%c3%A9+"); err != nil || got != "é+" {
		t.Errorf("lower case reads as %q, %v", got, err)
	}
	for _, bad := range []string{"%", "a%", "%4", "%4g", "%g4", "%%20", "% 20"} {
		if got, err := percentDecode(bad); err == nil {
			t.Errorf("%q reads as %q", bad, got)
		}
	}
}

func FuzzPercent(f *testing.F) {
	for _, s := range []string{"", "a b", "%", "%ff", trace, "é"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got, err := percentDecode(percentEncode(s)); err != nil || got != s {
			t.Errorf("%q reads back as %q, %v", s, got, err)
		}
		if plain, err := percentDecode(s); err == nil {
			if again, err := percentDecode(percentEncode(plain)); err != nil || again != plain {
				t.Errorf("%q reads as %q, and that back as %q, %v", s, plain, again, err)
			}
		}
	})
}
