package export

import (
	"strings"
	"testing"
)

func TestStripLengthPrefix(t *testing.T) {
	for _, tt := range []struct {
		name, in, want string
		ok             bool
	}{
		{"one string", "\x02\x00\x00\x00hi", "hi", true},
		{"34 bytes: the length is a quote", "\"\x00\x00\x00" + strings.Repeat("x", 34), strings.Repeat("x", 34), true},
		{"200 bytes: the length is no UTF-8", "\xc8\x00\x00\x00" + strings.Repeat("x", 200), strings.Repeat("x", 200), true},
		{"several strings: only the first length goes", "\x02\x00\x00\x00ab\x03\x00\x00\x00xyz", "ab\x03\x00\x00\x00xyz", true},
		{"edge: an empty string", "\x00\x00\x00\x00", "", true},
		{"edge: empty strings behind", "\x01\x00\x00\x00a\x00\x00\x00\x00\x00\x00\x00\x00", "a\x00\x00\x00\x00\x00\x00\x00\x00", true},
		{"edge: nothing", "", "", false},
		{"edge: too short for a length", "hi", "hi", false},
		{"no prefix", "hello", "hello", false},
		{"too long", "\x03\x00\x00\x00hi", "\x03\x00\x00\x00hi", false},
		{"too short", "\x01\x00\x00\x00hi", "\x01\x00\x00\x00hi", false},
		{"a second string that is cut", "\x02\x00\x00\x00ab\x04\x00\x00\x00xyz", "\x02\x00\x00\x00ab\x04\x00\x00\x00xyz", false},
		{"edge: the largest length", "\xff\xff\xff\xffhi", "\xff\xff\xff\xffhi", false},
		{"stripped already, several", "ab\x03\x00\x00\x00xyz", "ab\x03\x00\x00\x00xyz", false},
	} {
		got, ok := StripLengthPrefix([]byte(tt.in))
		if string(got) != tt.want || ok != tt.ok {
			t.Errorf("%s: StripLengthPrefix(%q) = %q, %v, want %q, %v", tt.name, tt.in, got, ok, tt.want, tt.ok)
		}
	}
}
