package openai

import (
	"strings"
	"testing"
)

// The first bytes of a body tell its form, whole and byte by byte.
func TestFormOf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		body      string
		want      Form
		undecided bool
	}{
		{"", FormOther, true},
		{" \r\n\t", FormOther, true},
		{"\xef\xbb", FormOther, true},
		{`{"a":1}`, FormJSON, false},
		{"\ufeff[1]", FormJSON, false},
		{" \n\ufeff {", FormJSON, false},
		{strings.Repeat("\n", 1<<20) + "{", FormJSON, false},
		{"data: {}", FormEvents, false},
		{"\n\nevent: x", FormEvents, false},
		{"id:1", FormEvents, false},
		{"retry: 1", FormEvents, false},
		{": ping", FormEvents, false},
		{"dat", FormOther, true},
		{"database", FormOther, false},
		{"<html>", FormOther, false},
		{"\xefx", FormOther, false},
	} {
		form, undecided := FormOf([]byte(tt.body))
		if form != tt.want || undecided != tt.undecided {
			t.Errorf("%.20q: %v, undecided %v", tt.body, form, undecided)
		}
		var head []byte
		for i := range len(tt.body) {
			head = TrimFront(append(head, tt.body[i]))
			if form, undecided = FormOf(head); !undecided {
				break
			}
		}
		if form != tt.want || undecided != tt.undecided {
			t.Errorf("%.20q byte by byte: %v, undecided %v", tt.body, form, undecided)
		}
	}
}

// A body that begins as HTML is a page, whatever its case and the blanks before it.
func TestIsPage(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]bool{
		"": false, "<": false, "<htm": false, "<i>a</i>": false, "1\n00:00:00,000 --> 00:00:01,000\n": false,
		"<html>": true, "\n <!DOCTYPE html>": true, "<HTML lang=en>": true,
	} {
		if got := IsPage([]byte(body)); got != want {
			t.Errorf("%q: %v, want %v", body, got, want)
		}
	}
}
