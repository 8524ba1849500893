package py

import (
	"strings"
	"testing"
)

// readContent returns choices[0].content of the JSON behind "data:".
func readContent(text string) (string, bool) {
	v, err := ParseJSON(strings.TrimSpace(strings.TrimPrefix(text, "data:")), JSON)
	if err != nil {
		return "", false
	}
	choices, _ := v.Member("choices")
	first, _ := choices.First()
	content, _ := first.Member("content")
	return content.Text(), content.Kind() == String
}

// keyed is an event with an id, a time of creation and a content.
func keyed(id, created, content string) string {
	return `data: {"id":"` + id + `","object":"x","created":` + created + `,"choices":[{"content":"` + content + `"}]}` + "\n\n"
}

func TestForm(t *testing.T) {
	const event = `data: {"id":"a","choices":[{"content":"one"}]}` + "\n\n"
	for _, tt := range []struct {
		name, first, next, want string
		ok                      bool
	}{
		{"another text", event, strings.Replace(event, "one", " two ", 1), " two ", true},
		{"the same", event, event, "one", true},
		{"not ASCII", event, strings.Replace(event, "one", "é€", 1), "é€", true},
		{"no text", event, strings.Replace(event, "one", "", 1), "", false},
		{"another id", event, strings.Replace(event, `"a"`, `"b"`, 1), "", false},
		{"another id and time", keyed("a", "1", "one"), keyed("b", "23", "two"), "two", true},
		{"another time that is no number", keyed("a", "1", "one"), keyed("a", "01", "two"), "", false},
		{"the text in the id, too", keyed("one", "1", "one"), keyed("b", "1", "two"), "two", true},
		{"an escape", event, strings.Replace(event, "one", `a\n`, 1), "", false},
		{"a control character", event, strings.Replace(event, "one", "\x01", 1), "", false},
		{"more members", event, strings.Replace(event, `"one"`, `"x","content":"y"`, 1), "", false},
		{"shorter", event, "data: {}", "", false},
		{"the text is elsewhere, too", strings.Replace(event, `"a"`, `"one"`, 1), strings.Replace(strings.Replace(event, `"a"`, `"one"`, 1), `content":"one"`, `content":"two"`, 1), "two", true},
		{"the text is a name, too", strings.Replace(event, "one", "content", 1), strings.Replace(event, "one", "x", 1), "x", true},
		{"the last of two counts", strings.Replace(event, `"content"`, `"content":"one","content"`, 1), strings.Replace(event, `"content"`, `"content":"one","content"`, 1), "one", true},
		{"escaped: nothing to learn", strings.Replace(event, "one", `\u0061`, 1), event, "", false},
		{"empty: nothing to learn", strings.Replace(event, "one", "", 1), event, "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var f Form
			if s, ok := f.Match(tt.next); ok {
				t.Errorf("Match = %q before Learn", s)
			}
			found, ok := readContent(tt.first)
			if !ok {
				t.Fatal("the first text has no content")
			}
			f.Learn(tt.first, found, readContent)
			if got, ok := f.Match(tt.next); got != tt.want || ok != tt.ok {
				t.Errorf("Match = %q, %v, want %q, %v", got, ok, tt.want, tt.ok)
			}
		})
	}
}

// A form learnt from an event never says anything else than reading the text does.
func FuzzForm(f *testing.F) {
	f.Add(`{"choices":[{"content":"a"}]}`, `{"choices":[{"content":"b"}]}`)
	f.Add(`data: {"choices":[{"content":"a","content":"a"}]}`, `data: {"choices":[{"content":"x","content":"a"}]}`)
	f.Add(keyed("a", "1", "a"), keyed("b", "2", "c"))
	f.Add(`{"a":"a","choices":[{"content":"a"}]}`, `{"a":"a","choices":[{"content":"a\\"}]}`)
	f.Fuzz(func(t *testing.T, first, next string) {
		found, ok := readContent(first)
		if !ok {
			return
		}
		var form Form
		form.Learn(first, found, readContent)
		got, ok := form.Match(next)
		if want, known := readContent(next); ok && (got != want || !known) {
			t.Errorf("Match(%q) = %q after %q, want %q, %v", next, got, first, want, known)
		}
	})
}
