package unidata

import (
	"strings"
	"testing"
	"time"
)

// TestForms checks examples of Unicode's annex 15, and characters for which the library's
// tables of Unicode 9.0 differ. The conformance tests of package tokenizer cover all of
// Unicode.
func TestForms(t *testing.T) {
	tests := []struct {
		name, in             string
		nfc, nfd, nfkc, nfkd string
	}{
		{"nothing to do", "abc", "abc", "abc", "abc", "abc"},
		{"composed", "é", "é", "e\u0301", "é", "e\u0301"},
		{"decomposed", "e\u0301x", "éx", "e\u0301x", "éx", "e\u0301x"},
		{"two marks in the wrong order", "a\u0301\u0323", "ạ\u0301", "a\u0323\u0301", "ạ\u0301", "a\u0323\u0301"},
		{"equal classes stay in order", "a\u0301\u0300", "á\u0300", "a\u0301\u0300", "á\u0300", "a\u0301\u0300"},
		{"a mark between blocks", "a\u05ae\u0301", "á\u05ae", "a\u05ae\u0301", "á\u05ae", "a\u05ae\u0301"},
		{"a singleton", "\u212b", "Å", "A\u030a", "Å", "A\u030a"},
		{"excluded from composition", "\u0958", "\u0915\u093c", "\u0915\u093c", "\u0915\u093c", "\u0915\u093c"},
		{"Hangul", "\u1112\u1161\u11ab한", "한한", "\u1112\u1161\u11ab\u1112\u1161\u11ab", "한한", "\u1112\u1161\u11ab\u1112\u1161\u11ab"},
		{"Hangul and a tail", "\ud558\u11ab", "한", "\u1112\u1161\u11ab", "한", "\u1112\u1161\u11ab"},
		{"a ligature", "ﬁ²", "ﬁ²", "ﬁ²", "fi2", "fi2"},
		{"compatible, then composed", "ｶﾞ", "ｶﾞ", "ｶﾞ", "ガ", "カ\u3099"},
		{"newer than 9.0: no mark", "a\u08d3\u0301", "a\u08d3\u0301", "a\u08d3\u0301", "a\u08d3\u0301", "a\u08d3\u0301"},
		{"newer than 9.0: no composition", "\U00011935\U00011930", "\U00011935\U00011930", "\U00011935\U00011930", "\U00011935\U00011930", "\U00011935\U00011930"},
		{"newer than 9.0: not compatible", "\u32ff", "\u32ff", "\u32ff", "\u32ff", "\u32ff"},
		{"a mark at the start", "\u0301a", "\u0301a", "\u0301a", "\u0301a", "\u0301a"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for form, want := range map[Form]string{NFC: test.nfc, NFD: test.nfd, NFKC: test.nfkc, NFKD: test.nfkd} {
				if got := form.String(test.in); got != want {
					t.Errorf("form %d of %+q = %+q, want %+q", form, test.in, got, want)
				}
				if got := form.String(want); got != want {
					t.Errorf("form %d of %+q = %+q, not itself", form, want, got)
				}
			}
		})
	}
}

// TestMarks checks that a long run of marks is put in order quickly, and that nothing is
// inserted into it.
func TestMarks(t *testing.T) {
	const n = 100_000
	start := time.Now()
	got := NFD.String("a" + strings.Repeat("\u0301\u0323", n))
	if want := "a" + strings.Repeat("\u0323", n) + strings.Repeat("\u0301", n); got != want {
		t.Errorf("%d bytes where %d are expected, or another order", len(got), len(want))
	}
	t.Log(time.Since(start))
}

func TestLower(t *testing.T) {
	for in, want := range map[rune]string{'A': "a", 'z': "z", 'Σ': "σ", 'İ': "i\u0307", 'ẞ': "ß", '1': "1", 'ǅ': "ǆ"} {
		if got := string(Load().AppendLower(nil, in)); got != want {
			t.Errorf("lower case of %q = %q, want %q", in, got, want)
		}
	}
}

// TestRuns compares Runs with the classes of each character.
func TestRuns(t *testing.T) {
	p := Load()
	for property, class := range map[string]uint8{"L": Letter, "N": Number, "M": Mark, "P": Punct, "S": Symbol, "s": Space} {
		runs := Runs(property)
		at := 0
		for r := rune(0); r < maxRune; r++ {
			for at < len(runs) && runs[at] <= r {
				at++
			}
			if in := at%2 == 1; in != (p.Class(r)&class != 0) {
				t.Fatalf("%U has \\p{%s}: %v, class %08b", r, property, in, p.Class(r))
			}
		}
	}
	for _, property := range []string{"X", "", "Latn", "Script=Han"} {
		if Runs(property) != nil {
			t.Errorf("there is a property %q", property)
		}
	}
	if len(Runs("Han")) == 0 || len(Runs("Lu")) == 0 || len(Runs("w")) == 0 || len(Runs("d")) == 0 {
		t.Error("properties are missing")
	}
}

func TestScript(t *testing.T) {
	same := [][2]rune{{'a', 'é'}, {'中', 'か'}, {'か', 'カ'}, {'1', '2'}}
	for _, s := range same {
		if Script(s[0]) != Script(s[1]) {
			t.Errorf("%c and %c are of different scripts", s[0], s[1])
		}
	}
	for _, s := range [][2]rune{{'a', 'я'}, {'a', '1'}, {'中', 'a'}} {
		if Script(s[0]) == Script(s[1]) {
			t.Errorf("%c and %c are of one script", s[0], s[1])
		}
	}
	if Script(' ') != AnyScript {
		t.Error("a blank has a script")
	}
}
