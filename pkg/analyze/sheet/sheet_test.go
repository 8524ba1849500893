package sheet

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPercent(t *testing.T) {
	for _, tt := range []struct {
		v                             float64
		percent, change, size, signed string
	}{
		{0.0912, "9.12%", "+9.12%", "9.1", "+9.1"},
		{0.141, "14.10%", "+14.10%", "14", "+14"},
		{-0.00421, "-0.42%", "-0.42%", "", "-0.42"},
		{0.000421, "0.04%", "+0.04%", "0.042", "+0.042"},
		{0.0000421, "0.00%", "+0.00%", "0.004", "+0.004"},
		// Rounding carries into the next digit.
		{0.000996, "0.10%", "+0.10%", "0.10", "+0.10"},
		{0.00996, "1.00%", "+1.00%", "1.0", "+1.0"},
		{0.0994, "9.94%", "+9.94%", "9.9", "+9.9"},
		{0.0996, "9.96%", "+9.96%", "10", "+10"},
		{12.345, "1,235%", "+1,235%", "1,235", "+1,235"},
		{0, "0.00%", "+0.00%", "0", "+0"},
		{-1e-9, "0.00%", "+0.00%", "", "-0.000"},
		{math.NaN(), "–", "–", "?", "?"},
		{math.Inf(1), "∞%", "+∞%", "∞", "+∞"},
		{math.Inf(-1), "-∞%", "-∞%", "", "-∞"},
	} {
		if got := [3]string{Percent(tt.v), Change(tt.v), Signed(tt.v)}; got != [3]string{tt.percent, tt.change, tt.signed} {
			t.Errorf("%v: %q, want %q %q %q", tt.v, got, tt.percent, tt.change, tt.signed)
		}
		if !(tt.v < 0) && Size(tt.v) != tt.size {
			t.Errorf("Size(%v) = %q, want %q", tt.v, Size(tt.v), tt.size)
		}
	}
}

func TestShares(t *testing.T) {
	for v, want := range map[float64][3]string{
		0:                    {"0%", "0 %", "0 pt"},
		0.1:                  {"10%", "10 %", "+10 pt"},
		0.10000000000000002:  {"10%", "10 %", "+10 pt"}, // an average of shares of 10 %
		0.0333:               {"3.3%", "3.3 %", "+3.3 pt"},
		-0.05:                {"-5%", "-5 %", "-5 pt"},
		math.Nextafter(1, 2): {"100%", "100 %", "+100 pt"},
	} {
		if got := [3]string{Share(v), ShareInSentence(v), Points(v)}; got != want {
			t.Errorf("%v: %q, want %q", v, got, want)
		}
	}
	if got := [2]string{Share(math.NaN()), Points(math.NaN())}; got != [2]string{"–", "–"} {
		t.Errorf("NaN: %q", got)
	}
}

func TestPValue(t *testing.T) {
	for p, want := range map[float64]string{1: "1.000", 0.0123: "0.012", 0.0005: "0.001", 0.00049: "<0.001", 0: "<0.001"} {
		if got := PValue(p); got != want {
			t.Errorf("%v: %q, want %q", p, got, want)
		}
	}
	if got := PValue(math.NaN()); got != "" {
		t.Errorf("NaN: %q", got)
	}
}

// A wide table is split, and each part begins with the first column; an empty column is
// left out. Left-aligned columns are not aligned at decimal points.
func TestTable(t *testing.T) {
	table := Table{Left: []string{"verdict"}, Rows: [][]string{{"", "one", "", "two", "verdict"}, {"x", "1.5", "", "10", "~"}, {"long", "12.25", "", "9", "worse"}}}
	if d := cmp.Diff(strings.Join([]string{
		"          one  two  verdict",
		"  x      1.5    10  ~",
		"  long  12.25    9  worse", "",
	}, "\n"), table.Text("  ", 0)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if d := cmp.Diff(strings.Join([]string{
		"          one  two",
		"  x      1.5    10",
		"  long  12.25    9",
		"",
		"        verdict",
		"  x     ~",
		"  long  worse", "",
	}, "\n"), table.Text("  ", 20)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	left := AllLeft([][]string{{"differs", "old", "new"}, {"load", "1.5", "b"}, {"host", "12", "cc"}})
	if d := cmp.Diff("differs  old  new\nload     1.5  b\nhost     12   cc\n", left.Text("", 0)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if d := cmp.Diff("|  | one |  | two | verdict |\n| --- | ---: | ---: | ---: | --- |\n| x | 1.5 |  | 10 | \\~ |\n| long | 12.25 |  | 9 | worse |\n", table.markdown()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if none := AllLeft(nil); none.Text("", 0)+none.markdown() != "" {
		t.Errorf("a table without rows: %q", none.Text("", 0)+none.markdown())
	}
}

// A sheet has the same contents in text, which wraps lines, and in Markdown. Both make texts safe.
func TestSheet(t *testing.T) {
	s := &Sheet{
		Title: "a *title*", Heads: []string{"one two three four", "an escape \x1b"}, Command: Command{"Record", "pa-record --model ``` a b c d e f"},
		About: []string{"about"}, Notes: []string{"first", "second"}, Details: &Part{Title: "more", Blocks: []Block{{Text: "detail"}}},
	}
	s.Part("").Table(Table{})
	s.Part("level").Lines("a line of words", "").Table(Table{Rows: [][]string{{"", "x"}, {"m", "1"}}}).Table(Table{Rows: [][]string{{"n"}, {"2"}}}).
		Table(Table{Caption: "caption", Rows: [][]string{{"k"}, {"3"}}}).Table(Table{Rows: [][]string{{"item"}, {"a"}}, Lines: []string{"as a line of text"}})
	s.Parts = append(s.Parts, &Part{Indent: " ", Blocks: []Block{{List: []string{"l1", "l2"}}, {Text: "apart", Apart: true}}})
	const text = `a *title*
one two three
  four
an escape \x1b
Record: pa-record --model %[1]s a b c d e f
about

level
  a line of
    words
     x
  m  1

  n
  2
  caption
    k
    3

  as a line of
        text

 l1
 l2

 apart

first
second
`
	fence := "```"
	var b bytes.Buffer
	if err := Text(15, s, &Sheet{Heads: []string{"next"}})(&b); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(fmt.Sprintf(text, fence)+"\nnext\n", b.String()); d != "" {
		t.Errorf("text (-want +got):\n%s", d)
	}
	const markdown = `### a \*title\*

**one two three four**

**an escape \\x1b**

Record:

%[1]s%[2]ssh
pa-record --model %[1]s a b c d e f
%[1]s%[2]s

about

#### level

a line of words

|  | x |
| --- | ---: |
| m | 1 |

| n |
| --- |
| 2 |

Caption:

| k |
| --- |
| 3 |

| item |
| --- |
| a |

- l1
- l2

apart

- first
- second

<details><summary>more</summary>

detail

</details>
`
	b.Reset()
	s.Bullets = true
	if err := Markdown(s)(&b); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(fmt.Sprintf(markdown, fence, "`"), b.String()); d != "" {
		t.Errorf("Markdown (-want +got):\n%s", d)
	}
}

// The decimal points of a column are below each other, and text keeps to the
// right.
func TestTablePoints(t *testing.T) {
	g := Table{}
	g.Add("", "p50 ms", "ok")
	g.Add("a", "3.100", "16")
	g.Add("b", "31.10", "5")
	g.Add("c", "3100", "-")
	g.Add("d", "0.0504", "0")
	g.Add("e", "-", "1")
	got := g.Text("", 0)
	const want = `      p50 ms  ok
a     3.100   16
b    31.10     5
c  3100        -
d     0.0504   0
e          -   1
`
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// A table that is too wide has its columns closer together, and goes on below with its first columns
// again. Names are cut before numbers are.
func TestTableParts(t *testing.T) {
	g := Table{}
	g.Add("a name that is too long", "mean", "p50", "p99")
	g.Add("x", "123.45", "234.5", "345678.9")
	g.Fit(0, 24)
	got := g.Text("", 24)
	const want = `a name that is…   mean
x               123.45

a name that is…   p50
x               234.5

a name that is…      p99
x               345678.9
`
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestMachineNumbers(t *testing.T) {
	for v, want := range map[float64]string{0.1: "0.1", 1e21: "1000000000000000000000", math.Inf(1): "", 0: "0"} {
		if got := CSVNumber(v); got != want {
			t.Errorf("%v: %q, want %q", v, got, want)
		}
	}
	if CSVNumber(math.NaN()) != "" {
		t.Error("NaN is no number in CSV")
	}
	var b bytes.Buffer
	if err := CSV([]string{"a", "b"}, []CSVRow{{"b": "1,2", "unknown": "x"}, {"a": "=3"}})(&b); err != nil || b.String() != "a,b\n,\"1,2\"\n'=3,\n" {
		t.Errorf("%q, %v", b.String(), err)
	}
}

// An object has its members in order. Numbers that do not exist and values of Opt that say nothing are
// left out; lists are never null, but for numbers in them.
func TestObject(t *testing.T) {
	type pair struct{ A, B int }
	var none []string
	o := Object{
		"z", 1, "nan", math.NaN(), "inf", math.Inf(-1), "nothing", nil, "a", 0.5, "zero", 0.0,
		"list",
		[]float64{1, math.NaN()},
		"none", none, "text", "<x>",
		"empty", Opt(""), "no", Opt(0), "nil", Opt(none), "short", Opt([]int{}), "map", Opt(map[string]int{}), "none at all", Object(nil), "set", Opt([]int{1}), "null", Opt(nil),
		"objects", List([]pair{{1, 2}, {3, 4}}, func(p *pair) Object { return Object{"a", p.A, "b", Opt(p.B - 2)} }),
		"object",
		Object{},
		"many", []Object(nil), "other",
		map[string]*int{"k": nil},
	}
	var b bytes.Buffer
	if err := JSON(o)(&b); err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := json.Compact(&got, b.Bytes()); err != nil {
		t.Fatal(err)
	}
	const want = `{"z":1,"a":0.5,"zero":0,"list":[1,null],"none":[],"text":"\u003cx\u003e","set":[1],"objects":[{"a":1},{"a":3,"b":2}],"object":{},"many":[],"other":{"k":null}}`
	if d := cmp.Diff(want, got.String()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if err := JSON(Object{"a", Object{"b", []Object{{"c", func() {}}}}})(&b); err == nil {
		t.Error("a value that JSON does not have is no error")
	}
}
