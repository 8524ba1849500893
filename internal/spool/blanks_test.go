package spool

import (
	"bytes"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/testenv"
)

// slowCut shortens the runs of blanks of a whole text, byte by byte.
// TestCutEqualsSlowCut holds blankCutter to it.
func slowCut(text string) string {
	begin := regexp.MustCompile(`^(?:\x{FEFF})?[ \t\r\n]*(?:\{[ \t\r\n]*"|\[[ \t\r\n]*["{\[])`).FindString(text)
	if begin == "" {
		return text
	}
	var out strings.Builder
	run, inString, escaped := 0, false, false
	for i := range len(text) {
		c := text[i]
		switch blank := c == ' ' || c == '\t' || c == '\r' || c == '\n'; {
		case inString:
			inString = c != '"' || escaped
			escaped = c == '\\' && !escaped
		case blank:
			if run++; run > 1<<10 && i >= len(begin) {
				continue
			}
		default:
			run, inString = 0, c == '"'
		}
		out.WriteByte(c)
	}
	return out.String()
}

// Texts of strings, escapes and runs of blanks are cut the same whatever the
// chunks are that they come in.
func TestCutEqualsSlowCut(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 11))
	pieces := []string{
		`"`, `"`, `\`, `\\`, `\"`, "a", `{"x":1}`, " ", "\n", "\t\r\n ",
		strings.Repeat(" ", 1023), strings.Repeat("\n", 1024), strings.Repeat(" \t", 700), strings.Repeat(" ", 5000),
	}
	starts := []string{`{"`, "[[", "\uFEFF{\n\"", "  \n[{", strings.Repeat(" ", 3000) + `{ "`, "[INST]", strings.Repeat("\n", 2000) + "x", `"`, ""}
	shortened := 0
	texts := 3000 / testenv.Stride(8)
	for n := range texts {
		text := starts[n%len(starts)]
		for range rng.IntN(30) {
			text += pieces[rng.IntN(len(pieces))]
		}
		want := slowCut(text)
		if want != text {
			shortened++
		}
		var k blankCutter
		var got []byte
		for rest := []byte(text); len(rest) > 0; {
			chunk := min(len(rest), 1+rng.IntN(3000))
			got = append(got, k.cut(bytes.Clone(rest[:chunk]))...)
			rest = rest[chunk:]
		}
		if string(got) != want {
			t.Fatalf("text %d, %.200q: %d bytes, want %d of %d", n, text, len(got), len(want), len(text))
		}
	}
	if shortened < texts*7/30 {
		t.Errorf("only %d texts had a run to cut", shortened)
	}
}
