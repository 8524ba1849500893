package sanitize

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// Every code point is read back, alone and among others, and no hidden one stands in the text.
func TestJSON(t *testing.T) {
	encode := func(v any) []byte {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if err := e.Encode(v); err != nil {
			t.Fatal(err)
		}
		return JSON(b.Bytes())
	}
	var all strings.Builder
	for r := rune(0); r <= utf8.MaxRune; r++ {
		if !utf8.ValidRune(r) {
			continue
		}
		all.WriteRune(r)
		if r > 0xFFFF && r&0xFF != 0 { // no plane above has a hidden one
			continue
		}
		text := encode(string(r))
		var got string
		if err := json.Unmarshal(text, &got); err != nil || got != string(r) {
			t.Fatalf("U+%04X: %q reads as %q, %v", r, text, got, err)
		}
		hidden := r < 0x20 || r >= 0x7F && r <= 0x9F || r >= 0x202A && r <= 0x202E || r >= 0x2066 && r <= 0x2069 || strings.ContainsRune("\u061c\u200e\u200f\u2028\u2029\ufeff", r)
		if bytes.ContainsRune(text[:len(text)-1], r) == hidden && r != '"' && r != '\\' {
			t.Errorf("U+%04X is written as %q", r, text)
		}
	}
	text := encode(map[string]string{all.String(): all.String()})
	var got map[string]string
	if err := json.Unmarshal(text, &got); err != nil || got[all.String()] != all.String() {
		t.Errorf("all code points are not read back: %v", err)
	}
	var b bytes.Buffer
	if n, err := NewJSONWriter(&b).Write([]byte("\"\u202e\"")); n != 5 || err != nil || b.String() != `"\u202e"` {
		t.Errorf("a writer wrote %q, %d, %v", b.String(), n, err)
	}
	for in, want := range map[string]string{
		"":                             "",
		"{\"a\":\n\"é☃\U0001F600\"}\n": "{\"a\":\n\"é☃\U0001F600\"}\n",
		"\"\u009b31m\u202e\"":          `"\u009b31m\u202e"`,
		"\"\\\\\u009b\"":               `"\\\u009b"`, // a backslash before it is a character of its own
		"\"\xff\u0085\xc2\"":           "\"\xff\\u0085\xc2\"",
	} {
		if got := string(JSON([]byte(in))); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}
