package sanitize

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"
)

var texts = []struct{ name, in, want string }{
	{"empty", "", ""},
	{"ASCII", "run.json", "run.json"},
	{"letters and emoji", "naïve 東京 😀", "naïve 東京 😀"},
	{"U+FFFD itself", "a\uFFFDb", "a\uFFFDb"},
	{"line feed and tab", "a\nb\tc", `a\nb\tc`},
	{"carriage return", "ok\rfail", `ok\rfail`},
	{"color", "\x1b[31mred", `\x1b[31mred`},
	{"window title", "\x1b]0;pwned\x07", `\x1b]0;pwned\a`},
	{"delete", "a\x7fb", `a\x7fb`},
	{"C1: the escape of one character", "\u009b31m", `\u009b31m`},
	{"C1 as a byte", "a\x9bb", `a\x9bb`},
	{"not UTF-8", "a\xffb", `a\xffb`},
	{"half a character at the end", "a\xe2\x80", `a\xe2\x80`},
	{"bidirectional override", "\u202eexe.txt", `\u202eexe.txt`},
	{"bidirectional isolate", "\u2066x\u2069", `\u2066x\u2069`},
	{"no width", "zero\u200bwidth", `zero\u200bwidth`},
	{"line separator", "a\u2028b", `a\u2028b`},
	{"invisible tag", "\U000e0041", `\U000e0041`},
	{"backslash and quotes stay", "back\\slash \"quoted\"", `back\slash "quoted"`},
}

func TestText(t *testing.T) {
	for _, tt := range texts {
		t.Run(tt.name, func(t *testing.T) {
			got := Text(tt.in)
			if got != tt.want {
				t.Errorf("Text(%q) = %q, want %q", tt.in, got, tt.want)
			}
			if again := Text(got); again != got {
				t.Errorf("Text(%q) = %q: is not safe yet", got, again)
			}
		})
	}
}

func TestCSVCell(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"empty", "", ""},
		{"text", "tiny", "tiny"},
		{"command", "=cmd|'/C calc'!A0", "'=cmd|'/C calc'!A0"},
		{"at sign", "@SUM(1)", "'@SUM(1)"},
		{"sum", "+5+cmd", "'+5+cmd"},
		{"minus and a word", "-v", "'-v"},
		{"difference", "-1-1", "'-1-1"},
		{"only a sign", "-", "'-"},
		{"full-width equals sign", "＝1", "'＝1"},
		{"tab before a formula", "\t=1", `\t=1`},
		{"carriage return before a formula", "\r=1", `\r=1`},
		{"equals sign within", "a=b", "a=b"},
		{"number", "-5", "-5"},
		{"number with a plus sign", "+5", "+5"},
		{"number with a fraction", "-0.25", "-0.25"},
		{"number with an exponent", "-1.5e-07", "-1.5e-07"},
		{"number with the minus of typeset text", "\u22125", "\u22125"},
		{"escape character", "\x1b[31m", `\x1b[31m`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := CSVCell(tt.in); got != tt.want {
				t.Errorf("CSVCell(%q) = %q, want %q", tt.in, got, tt.want)
			}
		})
	}
}

// Foreign text in Markdown shows as it is: it makes no markup, no link, no
// mention and no other row.
func TestMarkdown(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"plain text, 12.5% (p99)", "plain text, 12.5% (p99)"},
		{"a|b", `a\|b`},
		{"**bold** _it_ `code` [x](y)", `\*\*bold\*\* \_it\_ \` + "`code" + `\` + "`" + ` \[x\](y)`},
		{"<img src=x>&amp;", `\<img src=x\>\&amp;`},
		{"@someone #12", "@<!-- -->someone #<!-- -->12"},
		{"http://evil.example", "http:<!-- -->//evil.example"},
		{"two\nlines", `two\\nlines`},
		{"\u202eturned", `\\u202eturned`},
	} {
		if got := Markdown(tt.text); got != tt.want {
			t.Errorf("Markdown(%q) = %s, want %s", tt.text, got, tt.want)
		}
	}
}

func TestClip(t *testing.T) {
	for _, tt := range []struct {
		in   string
		most int
		want string
	}{
		{"short", 10, "short"},
		{"exact", 5, "exact"},
		{"longer", 4, "long…"},
		{"naïve", 3, "na…"}, // ï has two bytes
		{"\xff\xff\xff", 2, "\uFFFD…"},
		{"東京", 1, "…"},
	} {
		if got := Clip(tt.in, tt.most); got != tt.want {
			t.Errorf("Clip(%q, %d) = %q, want %q", tt.in, tt.most, got, tt.want)
		}
	}
}

func TestCut(t *testing.T) {
	for _, tt := range []struct {
		in   string
		most int
		want string
	}{
		{"exact", 5, "exact"},
		{"longer", 4, "long"},
		{"naïve", 3, "na"},
		{"東京", 1, ""},
		{"\xff\xff\xff", 2, "\xff\xff"},
		{"a\x80\x80\x80\x80\x80", 5, "a\x80\x80\x80\x80"}, // no character begins near the cut
	} {
		if got := Cut(tt.in, tt.most); got != tt.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", tt.in, tt.most, got, tt.want)
		}
		if got := string(Cut([]byte(tt.in), tt.most)); got != tt.want {
			t.Errorf("Cut of the bytes %q, %d = %q, want %q", tt.in, tt.most, got, tt.want)
		}
	}
}

func TestFit(t *testing.T) {
	for _, tt := range []struct {
		in    string
		width int
		want  string
	}{
		{"東京都", 3, "東京都"},
		{"東京都", 2, "東…"},
		{"ab", 1, "…"},
	} {
		if got := Fit(tt.in, tt.width); got != tt.want {
			t.Errorf("Fit(%q, %d) = %q, want %q", tt.in, tt.width, got, tt.want)
		}
	}
}

// A Writer writes what Text gives of each line, however the text is cut.
func TestWriter(t *testing.T) {
	const in = "pa: naïve 東京\n\ttab \x1b[31mred\u202e \xff\r\n\xe2\x80"
	const want = "pa: naïve 東京\n\ttab \\x1b[31mred\\u202e \\xff\\r\n\\xe2\\x80"
	for size := 1; size <= len(in); size++ {
		var b bytes.Buffer
		w := NewWriter(&b)
		for rest := []byte(in); len(rest) > 0; {
			n, err := w.Write(rest[:min(size, len(rest))])
			if err != nil || n == 0 {
				t.Fatal(n, err)
			}
			rest = rest[n:]
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if got := b.String(); got != want {
			t.Fatalf("in pieces of %d bytes: %q, want %q", size, got, want)
		}
	}
	var b bytes.Buffer
	if w := NewWriter(&b); NewWriter(w) != w || Raw(w) != &b || Raw(&b) != &b {
		t.Error("NewWriter wraps a Writer again, or Raw does not unwrap it")
	}
}

// Nothing that comes out of Text can steer a terminal, and cutting does not
// change what a Writer writes.
func FuzzText(f *testing.F) {
	for _, tt := range texts {
		f.Add(tt.in, 1)
	}
	f.Fuzz(func(t *testing.T, s string, at int) {
		got := Text(s)
		if !utf8.ValidString(got) {
			t.Fatalf("%q is not UTF-8", got)
		}
		for _, r := range got {
			if r < ' ' || r >= 0x7F && r < 0xA0 || r >= 0x202A && r <= 0x202E || r >= 0x2066 && r <= 0x2069 {
				t.Fatalf("%q holds %U", got, r)
			}
		}
		var whole, cut bytes.Buffer
		a, b := NewWriter(&whole), NewWriter(&cut)
		at = min(max(at, 0), len(s))
		_, _ = a.Write([]byte(s))
		_, _ = b.Write([]byte(s[:at]))
		_, _ = b.Write([]byte(s[at:]))
		_, _ = a.Flush(), b.Flush()
		if whole.String() != cut.String() {
			t.Fatalf("cut at %d: %q, in one piece: %q", at, cut.String(), whole.String())
		}
	})
}

func TestEditor(t *testing.T) {
	var b bytes.Buffer
	w := NewEditor(NewWriter(&b), func(text string) string { return strings.ReplaceAll(text, "a", "\x1bb") })
	if n, err := w.Write([]byte("a\n")); n != 2 || err != nil || b.String() != "\\x1bb\n" || Raw(w) != &b {
		t.Errorf("wrote %d bytes, %v: %q", n, err, b.String())
	}
}
