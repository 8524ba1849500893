package py

import (
	"strings"

	"github.com/pa-tools/pa/internal/jsonscan"
)

// A Form is a text with JSON in which one string stands for any other. Most events of a
// streamed answer differ in one string only, which a program reads. What the program reads
// from one of them tells what it reads from all:
//
//	data: {"choices":[{"delta":{"content":"  text  "}}]}
//	|------------- front ----------------|      |-back-|
//
// Events that differ in the parts that an [EventKey] leaves out, too, have the same form; the program must not
// read these. The zero value matches nothing and is ready to learn.
type Form struct {
	start, middle, front, back string
	attempts                   jsonscan.Attempts
}

const (
	maxForm = 4096 // bytes of a text to learn from
	// probe is a text that no event holds by chance.
	probe = "7Kq0-a text that nobody wrote-x2Vd"
)

// Match returns the string that a text holds in the place of the form's string. It is never
// empty. ok is false for a text that has another form, or a string with escapes or control
// characters.
func (f *Form) Match(text string) (inside string, ok bool) {
	k := EventKeyOf(text)
	if f.start != k.start || f.middle != k.middle {
		return "", false
	}
	if text = k.rest; f.front == "" || len(text) <= len(f.front)+len(f.back) || !strings.HasPrefix(text, f.front) || !strings.HasSuffix(text, f.back) {
		return "", false
	}
	inside = text[len(f.front) : len(text)-len(f.back)]
	for i := range len(inside) {
		if !plain[inside[i]] {
			return "", false
		}
	}
	f.attempts.Used()
	return inside, true
}

// Learn takes the form of a text in which read found a string. read must depend on its
// argument alone. It is asked again with another string in that place. Learn does nothing
// if read did not take its result from one place, or if learning did not pay lately.
func (f *Form) Learn(text, found string, read func(text string) (found string, ok bool)) {
	if found == "" || len(text) > maxForm || !f.attempts.Try() {
		return
	}
	quoted := `"` + found + `"`
	k := EventKeyOf(text)
	rest := len(text) - len(k.rest)
	for from := rest; ; from++ {
		i := strings.Index(text[from:], quoted)
		if i < 0 {
			return
		}
		from += i
		front, back := text[:from+1], text[from+1+len(found):]
		if got, ok := read(front + probe + back); ok && got == probe {
			f.start, f.middle, f.front, f.back = strings.Clone(k.start), strings.Clone(k.middle), strings.Clone(front[rest:]), strings.Clone(back)
			return
		}
	}
}
