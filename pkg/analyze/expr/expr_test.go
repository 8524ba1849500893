package expr

import (
	"errors"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// A bound is a condition of the language of these tests: a letter and a limit.
type bound struct {
	name     string
	relation Relation
	limit    float64
	written  Quantity
}

func (b bound) String() string { return b.name + string(b.relation) + b.written.String() }

// bounds is a language over the metrics a and b.
var bounds = Language[bound]{
	Operand: "a letter", Example: "a<1",
	Condition: func(p *Parser) (b bound) {
		b.name = p.Text()
		if b.name != "a" && b.name != "b" {
			p.Refuse("neither a nor b")
			return b
		}
		p.Next()
		if p.IsWord() {
			p.Fail("a word after %s: %s", b.name, p.Describe())
			return b
		}
		var ok bool
		if b.relation, ok = p.Relation(b.name, " or nothing"); !ok {
			return b
		}
		if b.written, ok = p.Quantity(b.name+string(b.relation), "a number", true); ok {
			b.limit = p.Value(b.written)
		}
		return b
	},
}

// given answers from a map; what is not in it is Unknown.
func given(values map[string]float64) func(*bound) Truth {
	return func(b *bound) Truth {
		v, ok := values[b.name]
		if !ok {
			return Unknown
		}
		return Of(b.relation.Holds(v, b.limit))
	}
}

func parsed(t *testing.T, text string) *Expr[bound] {
	t.Helper()
	e, err := Parse(text, bounds)
	if err != nil {
		t.Fatalf("Parse(%q): %v", text, err)
	}
	return e
}

var texts = []struct {
	name      string
	text      string
	want      string // as String writes it
	conjuncts int
}{
	{"one", "a<1", "a<1", 1},
	{"blanks anywhere", "\t a  <=\r\n1 ", "a<=1", 1},
	{"no blanks", "a<1&&b<1||!a>=3", "a<1 && b<1 || !a>=3", 1},
	{"every unit", "a>1ns&&a>1us&&a>1µs&&a>1μs&&a>1ms&&a>1.5s&&a>-1%", "a>1ns && a>1us && a>1µs && a>1μs && a>1ms && a>1.5s && a>-1%", 7},
	{"parentheses that matter stay", "(a<1 || b<2) && !(a<1 && b<1)", "(a<1 || b<2) && !(a<1 && b<1)", 2},
	{"others go", "((a<1)) && (b<2)", "a<1 && b<2", 2},
	{"or is weaker than and", "a<1 || b<2 && a<1", "a<1 || b<2 && a<1", 1},
	{"twice not", "!!a<1", "!!a<1", 1},
	{"nested and", "(a<1 && b<2) && a<1", "(a<1 && b<2) && a<1", 2},
	{"nested or", "a<1 || (b<2 || a<1)", "a<1 || (b<2 || a<1)", 1},
	{"as deep as can be", strings.Repeat("(", 100) + "a<1" + strings.Repeat(")", 100), "a<1", 1},
	{"wide is not deep", strings.Repeat("(a<1) && ", 200) + "a<1", strings.Repeat("a<1 && ", 200) + "a<1", 201},
}

func TestParse(t *testing.T) {
	for _, tt := range texts {
		t.Run(tt.name, func(t *testing.T) {
			e := parsed(t, tt.text)
			if got := e.String(); got != tt.want {
				t.Errorf("Parse(%q) = %s, want %s", tt.text, got, tt.want)
			}
			if got := len(e.conjuncts()); got != tt.conjuncts {
				t.Errorf("%d conjuncts, want %d", got, tt.conjuncts)
			}
		})
	}
}

// All that can be wrong, and how it is said.
var mistakes = []struct {
	name   string
	text   string
	column int
	want   string
}{
	{"nothing", "", 1, "an expression is missing, such as a<1"},
	{"blanks only", "  ", 3, "an expression is missing, such as a<1"},
	{"no condition", "5<a", 1, `expected a letter, ( or !, found "5"`},
	{"the language says what", "c<1", 1, `"c": neither a nor b`},
	{"two words", "a a", 3, `a word after a: "a"`},
	{"no relation", "a", 2, "expected <, <=, > or >= or nothing after a, found the end"},
	{"equals", "a==1", 2, `expected <, <=, > or >= or nothing after a, found "=="`},
	{"not equal", "a != 1", 3, `expected <, <=, > or >= or nothing after a, found "!="`},
	{"no quantity", "a<b", 3, `expected a number after a<, found "b"`},
	{"unknown unit", "a<2min", 3, `"2min": unknown unit "min"; there are ns, us, ms, s and %`},
	{"exponent", "a<1e6", 3, `"1e6": unknown unit "e6"; there are ns, us, ms, s and %`},
	{"two points", "a<1.2.3", 3, `"1.2.3": no number; write a number`},
	{"a point at the end", "a<1.s", 3, `"1.s": no number; write a number`},
	{"a sign alone", "a<+", 3, `"+": no number; write a number`},
	{"two signs", "a<+-1", 3, `"+": no number; write a number`},
	{"too large", "a<" + strings.Repeat("9", 400), 3, `"9999999999999999999999999999999999999999…": the number is too large`},
	{"one ampersand", "a<1 & b<1", 5, `expected &&, || or the end, found "&"`},
	{"a comma", "a<1, b<1", 4, `expected &&, || or the end, found ","`},
	{"nothing after and", "a<1 &&", 7, "expected a letter, ( or !, found the end"},
	{"nothing after not", "!", 2, "expected a letter, ( or !, found the end"},
	{"nothing in parentheses", "()", 2, `expected a letter, ( or !, found ")"`},
	{"not closed", "(a<1", 5, "expected a ) for the ( in column 1, found the end"},
	{"not opened", "a<1)", 4, `expected &&, || or the end, found ")"`},
	{"columns are characters", "a<1µs && é<1", 10, `expected a letter, ( or !, found "é"`},
	{"not UTF-8", "a<1 \xff", 5, `expected &&, || or the end, found "\xff"`},
	{"too deep", strings.Repeat("(", 101) + "a<1" + strings.Repeat(")", 101), 101, "more than 100 levels of parentheses and !"},
	{"too many nots", strings.Repeat("!", 101) + "a<1", 101, "more than 100 levels of parentheses and !"},
	{"too long", strings.Repeat(" ", 4097), 1, "the expression is longer than 4096 bytes"},
}

func TestParseErrors(t *testing.T) {
	for _, tt := range mistakes {
		t.Run(tt.name, func(t *testing.T) {
			e, err := Parse(tt.text, bounds)
			if d := cmp.Diff(&SyntaxError{tt.column, tt.want}, err); d != "" || e != nil {
				t.Errorf("Parse(%q) = %v (-want +got):\n%s", tt.text, e, d)
			}
		})
	}
}

// Kleene's logic: a list is what its most decisive part is. What decides is
// told with it.
func TestEval(t *testing.T) {
	values := map[string]float64{"a": 5}
	for _, tt := range []struct {
		text string
		want Truth
		by   string
	}{
		{"a<=5", True, "a<=5"},
		{"a<5", False, "a<5"},
		{"a>=5.1", False, "a>=5.1"},
		{"b<1", Unknown, "b<1"},
		{"!a<5", True, "a<5"},
		{"!b<1", Unknown, "b<1"},
		{"a<9 && a<8", True, "a<9 a<8"},
		{"a<9 && a<1 && a<2", False, "a<1 a<2"},
		{"a<9 && b<1", Unknown, "b<1"},
		{"b<1 && a<1", False, "a<1"},
		{"a<1 || a<2", False, "a<1 a<2"},
		{"a<1 || a<9", True, "a<9"},
		{"a<1 || b<1", Unknown, "b<1"},
		{"b<1 || a<9", True, "a<9"},
		{"!(a<9 && b<1) || a<1", Unknown, "b<1"},
		{"!(a<1 || a<2) && a<9", True, "a<1 a<2 a<9"},
	} {
		e := parsed(t, tt.text)
		if got := e.Eval(given(values)); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.text, got, tt.want)
		}
		got, conditions := e.Decide(given(values))
		var by []string
		for _, c := range conditions {
			by = append(by, c.String())
		}
		if by := strings.Join(by, " "); got != tt.want || by != tt.by {
			t.Errorf("%s: %v by %s, want %v by %s", tt.text, got, by, tt.want, tt.by)
		}
	}
}

// Eval asks for no value that cannot change the result.
func TestEvalIsLazy(t *testing.T) {
	for text, want := range map[string]int{"a<1 && b<1": 1, "a<9 || b<1": 1, "b<1 && a<9": 2} {
		asked := 0
		parsed(t, text).Eval(func(b *bound) Truth {
			asked++
			return given(map[string]float64{"a": 5})(b)
		})
		if asked != want {
			t.Errorf("%s: asked for %d conditions, want %d", text, asked, want)
		}
	}
}

func TestConditions(t *testing.T) {
	e := parsed(t, "a<1 && !(b<2 || a<3)")
	var all []string
	for c := range e.Conditions() {
		all = append(all, c.String())
	}
	if d := cmp.Diff([]string{"a<1", "b<2", "a<3"}, all); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for c := range e.Conditions() { // a loop may end before the last one
		if c.name == "b" {
			break
		}
	}
}

func TestRelation(t *testing.T) {
	for _, tt := range []struct {
		r                    Relation
		below, equal, beyond bool
	}{{"<", true, false, false}, {"<=", true, true, false}, {">", false, false, true}, {">=", false, true, true}} {
		if got := [...]bool{tt.r.Holds(1, 2), tt.r.Holds(2, 2), tt.r.Holds(3, 2)}; got != [...]bool{tt.below, tt.equal, tt.beyond} {
			t.Errorf("1, 2 and 3 %s 2: %v", tt.r, got)
		}
		if tt.r.Holds(math.NaN(), 2) || tt.r.Holds(2, math.NaN()) {
			t.Errorf("%s holds of what is not a number", tt.r)
		}
	}
}

// A value is rounded once: 4.35 s are 4350000000 ns, though 4.35·10⁹ in
// floating point are not.
func TestValues(t *testing.T) {
	for text, want := range map[string]float64{
		"4.35s": 4_350_000_000, "0.1us": 100, "250ms": 250e6, "7ns": 7, "-5%": -0.05, "+0.5%": 0.005, "12.5": 12.5, "0": 0,
	} {
		e := parsed(t, "a<"+text)
		for c := range e.Conditions() {
			if c.limit != want || c.written.String() != text {
				t.Errorf("%s is %v, want %v; written %s", text, c.limit, want, c.written)
			}
			if c.written.IsZero() != (want == 0) {
				t.Errorf("%s: zero is %v", text, c.written.IsZero())
			}
			if n := c.limit / c.written.Scale(); math.Abs(n-4.35) > 1e-12 && text == "4.35s" {
				t.Errorf("%s are %v of its unit", text, n)
			}
		}
	}
}

func TestIsNumber(t *testing.T) {
	for text, want := range map[string]bool{"1": true, "1.5": true, "007": true, "": false, ".5": false, "5.": false, "1.2.3": false, "1e3": false, "-1": false} {
		if got := isNumber(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// A text that parses is written as a text with the same value. The error of any other text names
// the place in it, and can be printed.
func FuzzParse(f *testing.F) {
	for _, tt := range texts {
		f.Add(tt.text, 1.0, 2.0, uint8(3))
	}
	for _, tt := range mistakes {
		f.Add(tt.text, 1.0, 2.0, uint8(3))
	}
	f.Fuzz(func(t *testing.T, text string, a, b float64, known uint8) {
		e, err := Parse(text, bounds)
		if err != nil {
			var syntax *SyntaxError
			if !errors.As(err, &syntax) || e != nil || syntax.Column < 1 || syntax.Column > utf8.RuneCountInString(text)+1 || !utf8.ValidString(err.Error()) {
				t.Fatalf("Parse(%q) = %v, %v", text, e, err)
			}
			return
		}
		again, err := Parse(e.String(), bounds)
		if err != nil || again.String() != e.String() {
			t.Fatalf("%q becomes %q, then %v, %v", text, e, again, err)
		}
		values := map[string]float64{}
		if known&1 != 0 {
			values["a"] = a
		}
		if known&2 != 0 {
			values["b"] = b
		}
		of := given(values)
		got := e.Eval(of)
		if twice := again.Eval(of); got != twice {
			t.Fatalf("%q is %v, read back %v", text, got, twice)
		}
		if len(values) == 2 && got == Unknown {
			t.Fatalf("%q is unknown though all is known", text)
		}
		// A conjunction is the least of its parts.
		least := True
		for _, c := range e.conjuncts() {
			least = min(least, c.Eval(of))
		}
		if got != least {
			t.Fatalf("%q is %v, its parts %v", text, got, least)
		}
		// The deciding conditions suffice: with the other conditions unknown the expression has the
		// same value.
		decided, by := e.Decide(of)
		if decided != got || len(by) == 0 {
			t.Fatalf("%q is %v, decided as %v by %d conditions", text, got, decided, len(by))
		}
		deciding := map[*bound]bool{}
		for _, c := range by {
			deciding[c] = true
		}
		if alone := e.Eval(func(c *bound) Truth {
			if !deciding[c] {
				return Unknown
			}
			return of(c)
		}); alone != got {
			t.Fatalf("%q is %v, but %v by %d of its conditions", text, got, alone, len(by))
		}
	})
}

// BenchmarkEval is what an objective costs for each request.
func BenchmarkEval(b *testing.B) {
	e, err := Parse("a<1 || b<2 && a<9", bounds)
	if err != nil {
		b.Fatal(err)
	}
	of := given(map[string]float64{"a": 5, "b": 1})
	b.ReportAllocs()
	for b.Loop() {
		if e.Eval(of) != True {
			b.Fatal("wrong")
		}
	}
}
