package py

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/testenv"
)

// The messages were printed by CPython 3.11 and orjson 3.11; "" means that the
// library takes the text.
func TestParseErrors(t *testing.T) {
	for _, tt := range []struct{ text, json, orjson string }{
		{"", "Expecting value: line 1 column 1 (char 0)", "Input is a zero-length, empty document: line 1 column 1 (char 0)"},
		{"  ", "Expecting value: line 1 column 3 (char 2)", "input data is empty: line 1 column 1 (char 0)"},
		{"{", "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)", "unexpected end of data: line 1 column 2 (char 1)"},
		{"{\"a\"", "Expecting ':' delimiter: line 1 column 5 (char 4)", "unexpected end of data: line 1 column 5 (char 4)"},
		{"{\"a\":", "Expecting value: line 1 column 6 (char 5)", "unexpected end of data: line 1 column 6 (char 5)"},
		{"{\"a\":1", "Expecting ',' delimiter: line 1 column 7 (char 6)", "unexpected end of data: line 1 column 7 (char 6)"},
		{"{\"a\":1,", "Expecting property name enclosed in double quotes: line 1 column 8 (char 7)", "unexpected end of data: line 1 column 8 (char 7)"},
		{"{\"a\":1,}", "Expecting property name enclosed in double quotes: line 1 column 8 (char 7)", "trailing comma is not allowed: line 1 column 7 (char 6)"},
		{"[1,]", "Expecting value: line 1 column 4 (char 3)", "trailing comma is not allowed: line 1 column 3 (char 2)"},
		{"[1", "Expecting ',' delimiter: line 1 column 3 (char 2)", "unexpected end of data: line 1 column 3 (char 2)"},
		{"[", "Expecting value: line 1 column 2 (char 1)", "unexpected end of data: line 1 column 2 (char 1)"},
		{"nul", "Expecting value: line 1 column 1 (char 0)", "unexpected end of data: line 1 column 4 (char 3)"},
		{"tru", "Expecting value: line 1 column 1 (char 0)", "unexpected end of data: line 1 column 4 (char 3)"},
		{"nulx", "Expecting value: line 1 column 1 (char 0)", "invalid literal, expected 'null': line 1 column 1 (char 0)"},
		{"\"abc", "Unterminated string starting at: line 1 column 1 (char 0)", "unexpected end of data: line 1 column 5 (char 4)"},
		{"\"a\x01b\"", "Invalid control character at: line 1 column 3 (char 2)", "unexpected control character in string: line 1 column 3 (char 2)"},
		{"\"\\x\"", "Invalid \\escape: line 1 column 2 (char 1)", "invalid escaped sequence in string: line 1 column 2 (char 1)"},
		{"\"\\u12\"", "Invalid \\uXXXX escape: line 1 column 3 (char 2)", "invalid escaped sequence in string: line 1 column 2 (char 1)"},
		{"\"\\u12", "Invalid \\uXXXX escape: line 1 column 3 (char 2)", "unexpected end of data: line 1 column 6 (char 5)"},
		{"\"\\", "Unterminated string starting at: line 1 column 1 (char 0)", "unexpected end of data: line 1 column 3 (char 2)"},
		{"\"\\ud800\"", "", "no low surrogate in string: line 1 column 2 (char 1)"},
		{"\"\\udc00\"", "", "invalid high surrogate in string: line 1 column 2 (char 1)"},
		{"\"\\ud800\\ud800\"", "", "invalid low surrogate in string: line 1 column 2 (char 1)"},
		{"\"\\ud83d\\ude00\"", "", ""},
		{"1 2", "Extra data: line 1 column 3 (char 2)", "unexpected content after document: line 1 column 3 (char 2)"},
		{"{\"a\":1}{\"b\":2}", "Extra data: line 1 column 8 (char 7)", "unexpected content after document: line 1 column 8 (char 7)"},
		{"{\"a\":1}\n\ndata: {\"b\":2}", "Extra data: line 3 column 1 (char 9)", "unexpected content after document: line 3 column 1 (char 9)"},
		{": ping", "Expecting value: line 1 column 1 (char 0)", "unexpected character, expected a JSON value: line 1 column 1 (char 0)"},
		{"data: {\"a\":1}", "Expecting value: line 1 column 1 (char 0)", "unexpected character, expected a JSON value: line 1 column 1 (char 0)"},
		{"NaN", "", "unexpected character, expected a JSON value: line 1 column 1 (char 0)"},
		{"[NaN]", "", "unexpected character, expected a JSON value: line 1 column 2 (char 1)"},
		{"[-Infinity]", "", "no digit after sign: line 1 column 3 (char 2)"},
		{"-", "Expecting value: line 1 column 1 (char 0)", "unexpected end of data: line 1 column 2 (char 1)"},
		{"-x", "Expecting value: line 1 column 1 (char 0)", "no digit after sign: line 1 column 2 (char 1)"},
		{"1.", "Extra data: line 1 column 2 (char 1)", "unexpected end of data: line 1 column 3 (char 2)"},
		{"1.x", "Extra data: line 1 column 2 (char 1)", "no digit after decimal point: line 1 column 3 (char 2)"},
		{"1e", "Extra data: line 1 column 2 (char 1)", "unexpected end of data: line 1 column 3 (char 2)"},
		{"1e+", "Extra data: line 1 column 2 (char 1)", "unexpected end of data: line 1 column 4 (char 3)"},
		{"01", "Extra data: line 1 column 2 (char 1)", "number with leading zero is not allowed: line 1 column 1 (char 0)"},
		{"[01]", "Expecting ',' delimiter: line 1 column 3 (char 2)", "number with leading zero is not allowed: line 1 column 2 (char 1)"},
		{"{a:1}", "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)", "unexpected character, expected a string key: line 1 column 2 (char 1)"},
		{"{\"a\" 1}", "Expecting ':' delimiter: line 1 column 6 (char 5)", "unexpected character, expected ':' after key: line 1 column 6 (char 5)"},
		{"{\"a\":1 \"b\":2}", "Expecting ',' delimiter: line 1 column 8 (char 7)", "unexpected character, expected ',' or '}': line 1 column 8 (char 7)"},
		{"{1:2}", "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)", "unexpected character, expected a string key: line 1 column 2 (char 1)"},
		{"\"é", "Unterminated string starting at: line 1 column 1 (char 0)", "unexpected end of data: line 1 column 3 (char 2)"},
		{"\"é\" x", "Extra data: line 1 column 5 (char 4)", "unexpected content after document: line 1 column 5 (char 4)"},
		{"[1 2]", "Expecting ',' delimiter: line 1 column 4 (char 3)", "unexpected character, expected ',' or ']': line 1 column 4 (char 3)"},
		{"\ufeff{}", "Unexpected UTF-8 BOM (decode using utf-8-sig): line 1 column 1 (char 0)", "UTF-8 byte order mark (BOM) is not supported: line 1 column 1 (char 0)"},
		{"{\"a\":tru}", "Expecting value: line 1 column 6 (char 5)", "invalid literal, expected 'true': line 1 column 6 (char 5)"},
		{"{\"a\":}", "Expecting value: line 1 column 6 (char 5)", "unexpected character, expected a JSON value: line 1 column 6 (char 5)"},
		{" {\"a\":1} ", "", ""},
		{"\t[DONE]", "Expecting value: line 1 column 3 (char 2)", "unexpected character, expected a JSON value: line 1 column 3 (char 2)"},
		{"[]", "", ""},
		{"{}", "", ""},
		{"{\"\":\"\"}", "", ""},
		{"-0", "", ""},
		{"-0.0e-5", "", ""},
		{"[[],{}]", "", ""},
	} {
		for _, l := range []struct {
			name    string
			library Library
			want    string
		}{{"json", JSON, tt.json}, {"orjson", ORJSON, tt.orjson}} {
			_, err := ParseJSON(tt.text, l.library)
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != l.want {
				t.Errorf("%s: ParseJSON(%q): %q, want %q", l.name, tt.text, got, l.want)
			}
		}
	}
}

func TestValue(t *testing.T) {
	v, err := ParseJSON(` {"a": 1, "b\u0063": [ "x\n\ud83d\ude00\"", null , {} ], "a" : {"k":2.5}, "e":[], "t":true} `, JSON)
	if err != nil {
		t.Fatal(err)
	}
	a, _ := v.Member("a")
	k, _ := a.Member("k")
	if k.Raw() != "2.5" || k.PythonType() != "float" || a.PythonType() != "dict" {
		t.Errorf("a.k = %s of type %s in a %s; the last member of a name counts", k.Raw(), k.PythonType(), a.PythonType())
	}
	list, ok := v.Member("bc")
	if !ok || list.Len() != 3 {
		t.Fatalf("bc = %s, %v", list.Raw(), ok)
	}
	var got []string
	list.Elements(func(_ int, e Value) bool {
		got = append(got, e.PythonType()+" "+e.Text())
		return true
	})
	if want := []string{"str x\n😀\"", "NoneType ", "dict "}; strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("elements %q, want %q", got, want)
	}
	if _, ok := v.Member("none"); ok {
		t.Error("a member that is not there")
	}
	e, _ := v.Member("e")
	if _, ok := e.First(); ok || e.Truthy() || !list.Truthy() || e.PythonType() != "list" {
		t.Error("the empty list")
	}
	for text, want := range map[string]bool{"0": false, "0.0": false, "-1": true, `""`: false, `"x"`: true, "null": false, "true": true, "false": false, "{ }": false, `{"a":0}`: true, "[0]": true} {
		v, err := ParseJSON(text, JSON)
		if err != nil || v.Truthy() != want {
			t.Errorf("Truthy of %s = %v, %v", text, v.Truthy(), err)
		}
	}
	var zero Value
	if _, ok := zero.Member("a"); ok || zero.Truthy() || zero.Kind() != None || zero.Text() != "" {
		t.Error("the zero Value")
	}
}

// What ParseJSON takes encoding/json takes, but for what only Python knows; and
// their strings are the same.
func FuzzParse(f *testing.F) {
	for _, s := range []string{`{"a":[1,-2.5e3,"x\u00e9\ud83d\ude00",null,true,{}]}`, `[1,]`, `"\ud800"`, `NaN`, "\"\x01\"", `{"a" :1}x`, `-`, `01`, `[[[`, `"\u12`, `"\`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if strings.Count(s, "[")+strings.Count(s, "{") > maxDepth {
			return
		}
		testenv.BoundMemory(t, len(s), 1<<20, 500, func() { _, _ = ParseJSON(s, ORJSON) })
		v, err := ParseJSON(s, ORJSON)
		loose, looseErr := ParseJSON(s, JSON)
		valid := json.Valid([]byte(s))
		var want any
		if d := json.NewDecoder(strings.NewReader(s)); valid {
			d.UseNumber() // there may be numbers beyond float64
			if err := d.Decode(&want); err != nil {
				t.Fatal(err)
			}
		}
		if err == nil && (looseErr != nil || loose.Raw() != v.Raw()) {
			t.Errorf("%q: orjson takes it, json does not: %v", s, looseErr)
		}
		if (err == nil) != valid && !strings.Contains(s, `\u`) { // halves of pairs
			t.Errorf("%q: %v, encoding/json: %v", s, err, valid)
		}
		if looseErr != nil {
			return
		}
		walk(t, loose, want, valid && !strings.Contains(s, `\u`))
	})
}

// walk looks at every value below v and, where asked for, compares.
func walk(t *testing.T, v Value, want any, compare bool) {
	switch v.Kind() {
	case String:
		if s, ok := want.(string); compare && (!ok || v.Text() != s && !strings.Contains(s, "\ufffd")) {
			t.Errorf("%s = %q, want %q", v.Raw(), v.Text(), want)
		}
	case List:
		list, _ := want.([]any)
		v.Elements(func(i int, e Value) bool {
			if compare && i < len(list) {
				walk(t, e, list[i], true)
			} else {
				walk(t, e, nil, false)
			}
			return true
		})
	case Dict:
		dict, _ := want.(map[string]any)
		for name, w := range dict {
			if m, ok := v.Member(name); ok {
				walk(t, m, w, compare)
			} else if compare && !strings.Contains(name, "\ufffd") {
				t.Errorf("%s has no member %q", v.Raw(), name)
			}
		}
	}
}

func BenchmarkParse(b *testing.B) {
	const text = `{"id":"chatcmpl-0001","object":"chat.completion.chunk","created":1718000000,"model":"llama-test","choices":[{"index":0,"delta":{"content":"First, open"},"logprobs":null,"finish_reason":null}]}`
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		v, err := ParseJSON(text, JSON)
		if err != nil {
			b.Fatal(err)
		}
		choices, _ := v.Member("choices")
		first, _ := choices.First()
		delta, _ := first.Member("delta")
		if c, _ := delta.Member("content"); c.Text() == "" {
			b.Fatal("no content")
		}
	}
}

// What is read is written again as it was.
func TestAny(t *testing.T) {
	for _, text := range []string{
		`{}`, `[]`, `null`, `{"a": [1, 2.50, 1e400, -0, "\u00e4\n", null, true, {}], "b": {"c": []}, "a": NaN}`,
	} {
		v, err := ParseJSON(text, JSON)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(AppendJSON(nil, v.Any(), 0)); got != text {
			t.Errorf("got %s, want %s", got, text)
		}
	}
	v, _ := ParseJSON(`{"a": 1, "b": 2}`, JSON)
	var names []string
	v.Members(func(name string, m Value) bool {
		names = append(names, name+m.Raw())
		return false
	})
	if len(names) != 1 || names[0] != "a1" {
		t.Errorf("stopped after %v, want the first", names)
	}
}

// Texts finds strings at any depth, of dicts only in the members with the names.
func TestTexts(t *testing.T) {
	for text, want := range map[string]string{
		`"a"`: "a",
		`[{"role": "r", "content": "a"}, {"content": [{"type": "t", "text": "b"}, 1, "c"]}, null]`: "a|b|c",
		`{"text": {"content": "b"}, "content": "a"}`:                                               "a|b",
		`17`: "",
	} {
		v, err := ParseJSON(text, JSON)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(v.Texts("content", "text"), "|"); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
