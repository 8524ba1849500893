package workload

import (
	"strings"
	"testing"
)

func TestMarker(t *testing.T) {
	const talk = `[{"role":"system","content":"S"},{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]`
	for _, tt := range []struct {
		place MarkerPlace
		in    Prompt
		want  string // messages, or system|text, or the error
	}{
		{FirstTurnPrefix, Prompt{Messages: []byte(talk)}, strings.Replace(talk, `"a"`, `"M\n\na"`, 1)},
		{FirstTurnSuffix, Prompt{Messages: []byte(talk)}, strings.Replace(talk, `"a"`, `"a\n\nM"`, 1)},
		{SystemPrefix, Prompt{Messages: []byte(talk)}, strings.Replace(talk, `"S"`, `"M\n\nS"`, 1)},
		{SystemSuffix, Prompt{Messages: []byte(talk)}, strings.Replace(talk, `"S"`, `"S\n\nM"`, 1)},
		{SystemSuffix, Prompt{Messages: []byte(`[{"role":"user","content":"a"}]`)}, `[{"content":"M","role":"system"},{"role":"user","content":"a"}]`},
		{SystemPrefix, Prompt{Messages: []byte(`[{"role":"developer","content":"D"}]`)}, `[{"role":"developer","content":"M\n\nD"}]`},
		{FirstTurnPrefix, Prompt{Messages: []byte(`[{"role":"user","content":[{"type":"image_url"},{"type":"text","text":"x"},{"type":"text","text":"y"}]}]`)}, `[{"role":"user","content":[{"type":"image_url"},{"type":"text","text":"M\n\nx"},{"type":"text","text":"y"}]}]`},
		{FirstTurnSuffix, Prompt{Messages: []byte(`[{"role":"user","content":[{"type":"text","text":"x"},{"type":"text","text":"y"}]}]`)}, `[{"role":"user","content":[{"type":"text","text":"x"},{"type":"text","text":"y\n\nM"}]}]`},
		{FirstTurnSuffix, Prompt{Messages: []byte(`[{"role":"user","content":[{"type":"image_url"}]}]`)}, `[{"role":"user","content":[{"type":"image_url"},{"text":"M","type":"text"}]}]`},
		{FirstTurnPrefix, Prompt{Text: "t", System: "s"}, "s|M\n\nt"},
		{SystemSuffix, Prompt{Text: "t", System: "s"}, "s\n\nM|t"},
		{SystemSuffix, Prompt{Text: "t"}, "M|t"},
		{FirstTurnPrefix, Prompt{Messages: []byte(`[{"role":"system","content":"S"}]`)}, "input data, row 1: cannot hold a marker: it has no message of the user"},
		{FirstTurnPrefix, Prompt{Messages: []byte(`[{"role":"user","content":3}]`)}, "input data, row 1: cannot hold a marker: the content of its message is neither a text nor a list of parts"},
		{FirstTurnPrefix, Prompt{Body: []byte(`{}`)}, "input data, row 1: cannot hold a marker: it is a whole request, which is sent as it is"},
	} {
		m := Marker{Place: tt.place}
		e := Entry{Prompt: &tt.in}
		err := m.Mark(&e, "M")
		got := string(e.Prompt.Messages)
		switch {
		case err != nil:
			got = err.Error()
		case e.Prompt.Messages == nil:
			got = e.Prompt.System + "|" + e.Prompt.Text
		}
		if got != tt.want {
			t.Errorf("%v of %+v\n gives %s\nwant   %s", tt.place, tt.in, got, tt.want)
		}
		if err == nil && e.Prompt == &tt.in {
			t.Error("the prompt of the data has changed")
		}
	}
}

// Each play has a text of its own, and each command line with a salt of its own, too.
func TestMarkerTexts(t *testing.T) {
	m, other := Marker{Salt: "a"}, Marker{Salt: "b"}
	seen := map[string]bool{}
	for _, text := range []string{m.Text(1, 0, "s"), m.Text(2, 0, "s"), m.Text(1, 1, "s"), m.Text(1, 0, "t"), other.Text(1, 0, "s")} {
		if len(text) != len("[rid:0123456789ab]") || seen[text] {
			t.Errorf("text %q is not of 12 digits or not new", text)
		}
		seen[text] = true
	}
	if m.Text(1, 0, "s") != (&Marker{Salt: "a"}).Text(1, 0, "s") {
		t.Error("the text of a play is another one the second time")
	}
}
