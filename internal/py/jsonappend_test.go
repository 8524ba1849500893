package py

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
)

// everything is a value of every kind; the texts below are what json.dumps of
// CPython 3 makes of the same dict.
var everything = Object{
	{"unit", "ms"},
	{"avg", 12.0},
	{"n", 3},
	{"none", nil},
	{"t", true},
	{"s", "a\"b\\c/\n\r\t\b\f\x01\x7fé€😀"},
	{"empty", Array{}},
	{"eo", Object{}},
	{"f", []float64{0.1, 1e-9, math.NaN(), math.Inf(1), math.Inf(-1)}},
	{"o", Object{{"x", Array{Object{{"y", 1}}, Array{2, "z"}}}}},
	{"i", []int64{1, -2}},
	{"ss", []string{"a"}},
	{"big", uint64(math.MaxUint64)},
	{"raw", Raw("1.50")},
}

func TestAppendOnOneLine(t *testing.T) {
	const want = `{"unit": "ms", "avg": 12.0, "n": 3, "none": null, "t": true, ` +
		`"s": "a\"b\\c/\n\r\t\b\f\u0001\u007f\u00e9\u20ac\ud83d\ude00", "empty": [], "eo": {}, ` +
		`"f": [0.1, 1e-09, NaN, Infinity, -Infinity], "o": {"x": [{"y": 1}, [2, "z"]]}, "i": [1, -2], ` +
		`"ss": ["a"], "big": 18446744073709551615, "raw": 1.50}`
	if got := string(AppendJSON(nil, everything, 0)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// WriteJSON writes what AppendJSON appends, and a Column as the list of its values. A name that is set again
// keeps its place.
func TestWriteJSON(t *testing.T) {
	column := slices.Clone(everything)
	column.Set("i", Column{N: 2, Value: func(i int) any { return []int64{1, -2}[i] }})
	column.Set("empty", Column{})
	for _, o := range []Object{nil, everything[:1], everything, column} {
		want := string(AppendJSON(nil, everything[:len(o)], 0))
		var b strings.Builder
		if err := WriteJSON(&b, o); err != nil || b.String() != want {
			t.Errorf("got  %s, %v\nwant %s", b.String(), err, want)
		}
	}
}

func TestAppendIndented(t *testing.T) {
	const want = `{
  "unit": "ms",
  "avg": 12.0,
  "n": 3,
  "none": null,
  "t": true,
  "s": "a\"b\\c/\n\r\t\b\f\u0001\u007f\u00e9\u20ac\ud83d\ude00",
  "empty": [],
  "eo": {},
  "f": [
    0.1,
    1e-09,
    NaN,
    Infinity,
    -Infinity
  ],
  "o": {
    "x": [
      {
        "y": 1
      },
      [
        2,
        "z"
      ]
    ]
  },
  "i": [
    1,
    -2
  ],
  "ss": [
    "a"
  ],
  "big": 18446744073709551615,
  "raw": 1.50
}`
	if got := string(AppendJSON(nil, everything, 2)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got, want := string(AppendJSON([]byte("x="), []int64{1}, 4)), "x=[\n    1\n]"; got != want {
		t.Errorf("indent 4: got %q, want %q", got, want)
	}
}

func FuzzAppendString(f *testing.F) {
	f.Add("a\"b\\c/\n\x00\x7f")
	f.Add("é€😀\u2028\xff")
	f.Fuzz(func(t *testing.T, s string) {
		b := AppendJSONString(nil, s)
		var back string
		if err := json.Unmarshal(b, &back); err != nil {
			t.Fatalf("AppendJSONString(%q) = %s: %v", s, b, err)
		}
		if want := strings.ToValidUTF8(s, "\ufffd"); len(back) < len(want) || strings.ReplaceAll(back, "\ufffd", "") != strings.ReplaceAll(want, "\ufffd", "") {
			t.Errorf("AppendJSONString(%q) = %s, which reads back as %q", s, b, back)
		}
		for _, c := range b {
			if c < ' ' || c > '~' {
				t.Errorf("AppendJSONString(%q) = %q holds %q", s, b, c)
			}
		}
	})
}

// json.dumps with ensure_ascii=False.
func TestAppendUnicode(t *testing.T) {
	got := string(AppendJSONUnicode(nil, Object{{Name: "é", Value: Array{"東京 \"a\\\n\x01\x7f", "\xff"}}}, 0))
	if want := "{\"é\": [\"東京 \\\"a\\\\\\n\\u0001\x7f\", \"\ufffd\"]}"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Written by orjson 3.13.0.
func TestAppendORJSON(t *testing.T) {
	for _, tt := range []struct {
		v    any
		want string
	}{
		{0.0, "0.0"},
		{1.0, "1.0"},
		{math.Copysign(0, -1), "-0.0"},
		{1e-5, "0.00001"},
		{1.5e-5, "0.000015"},
		{1.234e-5, "0.00001234"},
		{1e-6, "1e-6"},
		{1e-7, "1e-7"},
		{1.25e-10, "1.25e-10"},
		{5e-324, "5e-324"},
		{1e15, "1000000000000000.0"},
		{1e16, "1e+16"},
		{123456789012345680.0, "1.2345678901234568e+17"},
		{1e21, "1e+21"},
		{math.MaxFloat64, "1.7976931348623157e+308"},
		{50.780159999999995, "50.780159999999995"},
		{math.NaN(), "null"},
		{math.Inf(-1), "null"},
		{"a\u00e9\u2028\x01\x7f\n/\"\\<", "\"a\u00e9\u2028\\u0001\x7f\\n/\\\"\\\\<\""},
		{Object{{"a", Array{1, nil, true}}, {"b", Object{}}, {"c", []float64{1, 1e-6}}}, `{"a":[1,null,true],"b":{},"c":[1.0,1e-6]}`},
	} {
		if got := string(AppendORJSON(nil, tt.v)); got != tt.want {
			t.Errorf("AppendORJSON(%v) = %s, want %s", tt.v, got, tt.want)
		}
	}
}
