package render

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/testenv"
)

var request = map[string]string{
	PlaceholderModel: `"m"`, PlaceholderPrompt: `"say \"hi\"\u00e9"`, PlaceholderTexts: `["a","b"]`, PlaceholderMaxTokens: `64`,
}

func fill(t *testing.T, text string) string {
	t.Helper()
	tpl, err := ParseTemplate([]byte(text))
	if err != nil {
		t.Fatalf("Parse(%s): %v", text, err)
	}
	got, err := tpl.Append([]byte("x"), func(name string) ([]byte, bool) {
		js, ok := request[name]
		return []byte(js), ok
	})
	if err != nil {
		t.Fatalf("Append of %s: %v", text, err)
	}
	return string(got)
}

func TestAppend(t *testing.T) {
	for _, tt := range []struct{ name, template, want string }{
		{"nothing", `{}`, `{}`},
		{"no place", `{ "a" : [1.50, null, {"b":"é\n"}] }`, `{"a":[1.50,null,{"b":"é\n"}]}`},
		{"a string", `{"p":"{{prompt}}"}`, `{"p":"say \"hi\"\u00e9"}`},
		{"a number", `{"n":"{{max_tokens}}"}`, `{"n":64}`},
		{"an array", `{"t":"{{texts}}"}`, `{"t":["a","b"]}`},
		{"within a string", `{"p":"1: {{prompt}}, {{model}}!"}`, `{"p":"1: say \"hi\"\u00e9, m!"}`},
		{"a number within a string", `{"s":["{\"max\": \"{{max_tokens}}\"}"]}`, `{"s":["{\"max\": \"64\"}"]}`},
		{"JSON within a string", `{"s":"{{texts}}."}`, `{"s":"[\"a\",\"b\"]."}`},
		{"two places", `{"s":"{{model}}{{model}}"}`, `{"s":"mm"}`},
		{"a default that is not needed", `{"n":"{{max_tokens|7}}"}`, `{"n":64}`},
		{"a default", `{"n":["{{input_length|7}}"],"s":"{{input_length|7}}!"}`, `{"n":[7],"s":"7!"}`},
		{"no value", `{"a":1,"n":"{{input_length}}","b":2}`, `{"a":1,"b":2}`},
		{"no value at the start", `{"n":"{{input_length}}","b":2}`, `{"b":2}`},
		{"no value within", `{"a":{"n":["{{input_length}}"],"c":1},"s":"x{{input_ids}}"}`, `{"a":{"c":1}}`},
		{"no value at all", `{"n":"{{input_length}}"}`, `{}`},
		{"braces", `{"s":"{{{{prompt}} {{{{{{model}}","k":"} } }}"}`, `{"s":"{{prompt}} {{m","k":"} } }}"}`},
		{"names are left alone", `{"{{model}}":1}`, `{"{{model}}":1}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := fill(t, tt.template); got != "x"+tt.want {
				t.Errorf("%s = %s, want %s", tt.template, got[1:], tt.want)
			}
		})
	}
}

func TestUses(t *testing.T) {
	tpl, err := ParseTemplate([]byte(`{"a":["{{prompt}}"],"b":"{{{{model}}"}`))
	if err != nil {
		t.Fatal(err)
	}
	if !tpl.Uses(PlaceholderPrompt) || tpl.Uses(PlaceholderModel) {
		t.Errorf("uses prompt: %v, model: %v; want true, false", tpl.Uses(PlaceholderPrompt), tpl.Uses(PlaceholderModel))
	}
}

func TestParseErrors(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{``, "byte 0: not valid JSON"},
		{`[1]`, "byte 0: expected a JSON object"},
		{`"{{prompt}}"`, "expected a JSON object"},
		{`{"a":1`, "byte 6: not valid JSON"},
		{`{"a":}`, "byte 5: not valid JSON"},
		{`{"a":[1,}`, "not valid JSON"},
		{`{"a" 1}`, "not valid JSON"},
		{`{"a":1,"a":2}`, "duplicate object member name"},
		{`{} {}`, "more text after the end"},
		{`{"a":"{{prompts}}"}`, `unknown placeholder "prompts"; expected one of model, prompt,`},
		{`{"a":"{{prompt"}`, `a placeholder ends with "}}"`},
		{`{"a":"{{}}"}`, `unknown placeholder ""`},
		{`{"a":"{{max_tokens|x}}"}`, "the default is not JSON"},
		{`{"a":"{{max_tokens|}}"}`, "the default is not JSON"},
	} {
		_, err := ParseTemplate([]byte(tt.text))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Parse(%s) = %v, want an error with %q", tt.text, err, tt.want)
		}
	}
}

func TestValueThatIsNotJSON(t *testing.T) {
	for _, text := range []string{`{"a":"{{prompt}}"}`, `{"a":"x{{prompt}}"}`} {
		tpl, err := ParseTemplate([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		_, err = tpl.Append(nil, func(string) ([]byte, bool) { return []byte("say hi"), true })
		if err == nil || !strings.Contains(err.Error(), "the value of prompt is not JSON") {
			t.Errorf("Append to %s: %v", text, err)
		}
	}
}

// quotedJSON returns s as a JSON string.
func quotedJSON(s string) []byte { return []byte(`"` + quoted(s) + `"`) }

func TestQuoted(t *testing.T) {
	for in, want := range map[string]string{"": `""`, "a\"\n\x00": `"a\"\n\u0000"`, "\xff": `"` + "\uFFFD" + `"`} {
		if got := string(quotedJSON(in)); got != want {
			t.Errorf("quoted(%q) = %s, want %s", in, got, want)
		}
	}
}

// FuzzTemplate checks that a filled template is a JSON object with members of the template,
// and with all of them if every placeholder has a value.
func FuzzTemplate(f *testing.F) {
	f.Add(`{"a":"{{prompt}}","b":[{"c":"x{{max_tokens}}y"}]}`, "hi", true)
	f.Add(`{"a":"{{{{","b":"{{model|\"x\"}}"}`, "\xff\"", false)
	f.Add(`{"a":1.5e3,"é":"\ud800"}`, "", false)
	f.Fuzz(func(t *testing.T, text, prompt string, ok bool) {
		testenv.BoundMemory(t, len(text), 1<<20, 500, func() { _, _ = ParseTemplate([]byte(text)) })
		tpl, err := ParseTemplate([]byte(text))
		if err != nil {
			return
		}
		got, err := tpl.Append(nil, func(string) ([]byte, bool) { return quotedJSON(prompt), ok })
		if err != nil {
			t.Fatalf("Append of %q: %v", text, err)
		}
		var g, w map[string]json.RawMessage
		if err := json.Unmarshal(got, &g); err != nil {
			t.Fatalf("%q gave %q: %v", text, got, err)
		}
		if err := json.Unmarshal([]byte(text), &w); err != nil {
			return // encoding/json rejects it
		}
		for name := range g {
			if _, ok := w[name]; !ok {
				t.Fatalf("%q gave %q, which has %q", text, got, name)
			}
		}
		if ok && len(g) != len(w) {
			t.Fatalf("%q gave %q, of %d members", text, got, len(g))
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	tpl, err := ParseTemplate([]byte(`{"model":"{{model}}","messages":[{"role":"user","content":"{{prompt}}"}],"stream":true,"max_tokens":"{{max_tokens}}"}`))
	if err != nil {
		b.Fatal(err)
	}
	values := map[string][]byte{PlaceholderModel: []byte(`"m"`), PlaceholderPrompt: quotedJSON(strings.Repeat("a word or two ", 300)), PlaceholderMaxTokens: []byte("64")}
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		if dst, err = tpl.Append(dst[:0], func(name string) ([]byte, bool) { v, ok := values[name]; return v, ok }); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(int64(len(dst)))
}
