package tokenizer

import (
	"testing"
	"unicode/utf8"
)

// TestValidUTF8 compares with the results of Python's bytes.decode(errors="replace").
func TestValidUTF8(t *testing.T) {
	tests := []struct{ in, want string }{
		{"", ""},
		{"abc é 東 😀", "abc é 東 😀"},
		{"\xff", "\ufffd"},
		{"\xff\xfe", "\ufffd\ufffd"},
		{"a\x80b", "a\ufffdb"},
		{"\xe6\x97", "\ufffd"},                           // the start of a character
		{"\xe6\x97a", "\ufffda"},                         //
		{"\xe6a", "\ufffda"},                             //
		{"\xf0\x9f\x98", "\ufffd"},                       //
		{"\xf0\x9f\x98\xf0\x9f\x98\x80", "\ufffd😀"},      //
		{"\xc0\xaf", "\ufffd\ufffd"},                     // overlong
		{"\xe0\x80\xaf", "\ufffd\ufffd\ufffd"},           //
		{"\xed\xa0\x80", "\ufffd\ufffd\ufffd"},           // a surrogate
		{"\xf4\x90\x80\x80", "\ufffd\ufffd\ufffd\ufffd"}, // above U+10FFFF
		{"\xf5\x80\x80\x80", "\ufffd\ufffd\ufffd\ufffd"},
		{"\ufffd", "\ufffd"},
		{"東\xe6\x9d", "東\ufffd"},
	}
	for _, test := range tests {
		got := validUTF8(test.in)
		if got != test.want {
			t.Errorf("validUTF8(%q) = %q, want %q", test.in, got, test.want)
		}
		if !utf8.ValidString(got) {
			t.Errorf("validUTF8(%q) = %q is not valid", test.in, got)
		}
	}
}
