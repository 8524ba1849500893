package jsonscan

import (
	"encoding/json"
	"strings"
	"testing"
)

// checkWalker compares the verdict of a Walker with encoding/json's, and its
// strings with what encoding/json decodes.
func checkWalker(t *testing.T, text []byte) {
	t.Helper()
	w := Walker{Text: text}
	value := w.Value()
	w.End()
	if ok, want := w.Err == nil, json.Valid(text); ok != want {
		t.Errorf("Walker of %q: %v; encoding/json says valid = %v", text, w.Err, want)
	}
	if w.Err != nil {
		return
	}
	if got, want := string(value), strings.Trim(string(text), " \t\r\n"); got != want {
		t.Errorf("Value of %q = %q", text, got)
	}
	var want string
	if value[0] == '"' && json.Unmarshal(value, &want) == nil {
		w.Reset(text)
		if got := strings.ToValidUTF8(string(w.String()), "\uFFFD"); got != strings.ToValidUTF8(want, "\uFFFD") && !strings.Contains(want, "\uFFFD") {
			t.Errorf("String of %q = %q, want %q", text, got, want)
		}
	}
}

func TestWalker(t *testing.T) {
	for _, v := range values {
		checkWalker(t, []byte(v))
	}
}

func FuzzWalker(f *testing.F) {
	for _, v := range values {
		f.Add([]byte(v))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) <= maxDepth {
			checkWalker(t, text)
		}
	})
}

// With Words, all bare words are values; without Words, only the words of JSON are.
func TestWalkerWords(t *testing.T) {
	for _, text := range []string{`NaN`, `[-Infinity,{"a":Inf}]`, `0x1p3`} {
		w := Walker{Text: []byte(text), Words: true}
		if w.Skip(); w.Err != nil || w.Pos != len(text) {
			t.Errorf("Skip of %s with Words: %v at %d", text, w.Err, w.Pos)
		}
		w = Walker{Text: []byte(text)}
		w.Skip()
		if w.End(); w.Err == nil {
			t.Errorf("Skip of %s: no error", text)
		}
	}
	w := Walker{Text: []byte(` [`), Words: true}
	if word := w.Word(); word != nil || w.Err == nil {
		t.Errorf("Word of an array = %q, %v", word, w.Err)
	}
}

// TryObject and TryArray pass over other values.
func TestWalkerTry(t *testing.T) {
	w := Walker{Text: []byte(`[1,[{"a":"\u0062"}],{"c":3}]`)}
	var got []string
	for ok := w.TryArray(); ok; ok = w.NextElement() {
		for ok := w.TryObject(); ok; ok = w.NextMember() {
			got = append(got, string(w.Key)+"="+string(w.Value()))
		}
	}
	w.End()
	if w.Err != nil || strings.Join(got, " ") != "c=3" {
		t.Errorf("got %q, %v", got, w.Err)
	}
	w.Reset([]byte(`{"a":1}`))
	if w.TryArray() || w.Err != nil || w.Peek() != 0 {
		t.Errorf("TryArray of an object: %v at %d", w.Err, w.Pos)
	}
}
