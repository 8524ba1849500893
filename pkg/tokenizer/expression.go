package tokenizer

import (
	"errors"
	"fmt"
	"strings"

	"github.com/dlclark/regexp2/v2"

	"github.com/pa-tools/pa/pkg/tokenizer/internal/unidata"
)

// compileExpression translates a regular expression from Oniguruma's syntax, which the
// library uses, to .NET's syntax, which the engine here uses. It writes character
// properties out as ranges, so that both agree on every code point. An expression without
// an equivalent is an error.
func compileExpression(pattern string) (*expression, error) {
	t := translator{in: pattern}
	if err := t.translate(); err != nil {
		return nil, err
	}
	// ^ and $ always mean a line in Oniguruma's syntax.
	// No limit on the backtracking stack: by default the engine gives up long matches.
	re, err := regexp2.Compile(t.out.String(), regexp2.Multiline, regexp2.OptionMaxBacktrackingStackSize(-1))
	if err != nil {
		return nil, errors.New("it cannot be parsed")
	}
	x := &expression{re: re, pattern: pattern, failed: &failure{}}
	x.limit(matchLimit)
	return x, nil
}

// A translator rewrites the parts of an expression that differ between the two syntaxes.
type translator struct {
	in  string
	at  int
	out strings.Builder
}

func (t *translator) translate() error {
	for t.at < len(t.in) {
		rest := t.in[t.at:]
		switch {
		case rest[0] == '\\':
			if err := t.escape(false); err != nil {
				return err
			}
		case rest[0] == '[':
			if err := t.class(); err != nil {
				return err
			}
		case strings.HasPrefix(rest, "++"), strings.HasPrefix(rest, "*+"), strings.HasPrefix(rest, "?+"):
			return fmt.Errorf("the possessive %s is not supported", rest[:2])
		case strings.HasPrefix(rest, "(?") && len(rest) > 2 && strings.IndexByte(":=!<>i", rest[2]) < 0:
			return fmt.Errorf("the group %s… is not supported", rest[:3])
		default:
			t.copy(1)
		}
	}
	return nil
}

func (t *translator) copy(n int) {
	n = min(n, len(t.in)-t.at)
	t.out.WriteString(t.in[t.at : t.at+n])
	t.at += n
}

// escape translates the escape at t.at.
func (t *translator) escape(inClass bool) error {
	if t.at+1 == len(t.in) {
		return errors.New("it ends in a backslash")
	}
	c := t.in[t.at+1]
	switch {
	case strings.IndexByte("wsdWSD", c) >= 0:
		t.at += 2
		name := strings.ToLower(string(c))
		if name == "w" && inClass {
			name = "[w]"
		}
		t.property(name, c < 'a', inClass)
	case c == 'p' || c == 'P':
		return t.namedProperty(c == 'P', inClass)
	case (c == 'b' || c == 'B') && !inClass:
		t.at += 2
		word := members(unidata.Runs("w"))
		boundary := "(?:(?<=[" + word + "])(?![" + word + "])|(?<![" + word + "])(?=[" + word + "]))"
		if c == 'B' {
			boundary = "(?!" + boundary + ")"
		}
		t.out.WriteString(boundary)
	case strings.IndexByte("hHRXKkgGyYNObBC", c) >= 0, c >= '1' && c <= '9':
		return fmt.Errorf("\\%c is not supported", c)
	default:
		t.copy(2)
	}
	return nil
}

// namedProperty translates \p{…}, \p{^…} and \P{…}.
func (t *translator) namedProperty(negated, inClass bool) error {
	name, _, ok := strings.Cut(t.in[t.at+2:], "}")
	if !ok || !strings.HasPrefix(name, "{") {
		return errors.New("a property without {…} is not supported")
	}
	t.at += len(`\p`) + len(name) + len("}")
	name = name[1:]
	if rest, ok := strings.CutPrefix(name, "^"); ok {
		name, negated = rest, !negated
	}
	if unidata.Runs(name) == nil {
		return fmt.Errorf("the property %s is not supported", quote(name))
	}
	t.property(name, negated, inClass)
	return nil
}

// property writes the class of the characters with a property, or without it.
func (t *translator) property(name string, negated, inClass bool) {
	runs := unidata.Runs(name)
	switch {
	case inClass && negated:
		t.out.WriteString(members(complement(runs)))
	case inClass:
		t.out.WriteString(members(runs))
	case negated:
		t.out.WriteString("[^" + members(runs) + "]")
	default:
		t.out.WriteString("[" + members(runs) + "]")
	}
}

// members returns runs as the inside of a character class.
func members(runs []rune) string {
	var out strings.Builder
	char := func(r rune) {
		if r < 0x80 {
			fmt.Fprintf(&out, `\x%02x`, r)
		} else {
			out.WriteRune(r)
		}
	}
	for i := 0; i < len(runs); i += 2 {
		char(runs[i])
		if last := runs[i+1] - 1; last > runs[i] {
			out.WriteByte('-')
			char(last)
		}
	}
	return out.String()
}

// complement returns the runs of all characters outside of runs.
func complement(runs []rune) []rune {
	out := []rune{0}
	out = append(out, runs...)
	if runs[0] == 0 {
		out = out[2:]
	}
	if last := len(out) - 1; out[last] > 0x10FFFF {
		return out[:last]
	}
	return append(out, 0x10FFFF+1)
}

// class translates the character class at t.at. Its only operator with an equivalent is
// &&[^…] at the end, which becomes -[…].
func (t *translator) class() error {
	t.copy(1)
	if strings.HasPrefix(t.in[t.at:], "^") {
		t.copy(1)
	}
	if strings.HasPrefix(t.in[t.at:], "]") {
		return errors.New("a class that starts with ] is not supported")
	}
	for t.at < len(t.in) {
		rest := t.in[t.at:]
		switch {
		case rest[0] == ']':
			t.copy(1)
			return nil
		case rest[0] == '\\':
			if err := t.escape(true); err != nil {
				return err
			}
		case strings.HasPrefix(rest, "&&[^"):
			if err := t.subtraction(); err != nil {
				return err
			}
		case strings.HasPrefix(rest, "&&"):
			return errors.New("&& is supported before [^…] only")
		case rest[0] == '[':
			// Oniguruma reads a class in the class, .NET a bracket.
			return errors.New("a class in a class is not supported")
		default:
			t.copy(1)
		}
	}
	return errors.New("a class does not end")
}

// subtraction translates the &&[^…] at t.at.
func (t *translator) subtraction() error {
	t.out.WriteString("-[")
	t.at += len("&&[^")
	for t.at < len(t.in) && t.in[t.at] != ']' {
		switch {
		case strings.HasPrefix(t.in[t.at:], "&&"), t.in[t.at] == '[':
			return errors.New("a class in a class in a class is not supported")
		case t.in[t.at] == '\\':
			if err := t.escape(true); err != nil {
				return err
			}
		default:
			t.copy(1)
		}
	}
	t.copy(1)
	if !strings.HasPrefix(t.in[t.at:], "]") {
		return errors.New("&&[^…] is supported at the end of a class only")
	}
	return nil
}
