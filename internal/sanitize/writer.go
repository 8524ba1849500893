package sanitize

import (
	"io"
	"sync"
	"unicode/utf8"
)

// A Writer escapes the characters of its text that are not safe to print, except
// line feeds and tabs, and passes the text on. Several goroutines may use it if
// they may use the underlying writer.
type Writer struct {
	w    io.Writer
	edit func(text string) string // changes a text before it is escaped; nil leaves it

	mu  sync.Mutex
	cut []byte // the start of a character whose rest has not been written yet
}

// NewWriter returns a Writer to w. If w is a Writer, NewWriter returns w.
func NewWriter(w io.Writer) *Writer {
	if s, ok := w.(*Writer); ok {
		return s
	}
	return &Writer{w: w}
}

// NewEditor returns a Writer to w, or to the underlying writer if w is a Writer, that applies edit to the text of each
// Write. edit gets whole lines if each Write has whole lines.
func NewEditor(w io.Writer, edit func(text string) string) *Writer {
	return &Writer{w: Raw(w), edit: edit}
}

// Write writes b. If b ends within a character, Write keeps the character's first
// bytes until the next Write or Flush.
func (w *Writer) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := string(b)
	if w.edit != nil {
		text = w.edit(text)
	}
	text = string(w.cut) + text
	keep := len(text) - cutLength(text)
	i := unsafeAt(text[:keep], true)
	out := []byte(text[:keep])
	if i >= 0 {
		out = appendSafe(out[:i:i], text[i:keep], true)
	}
	w.cut = append(w.cut[:0], text[keep:]...)
	if len(out) == 0 {
		return len(b), nil
	}
	if _, err := w.w.Write(out); err != nil {
		return 0, err
	}
	return len(b), nil
}

// cutLength returns how many bytes at the end of s are the start of a character
// that is not complete.
func cutLength(s string) int {
	for n := 1; n < utf8.UTFMax && n <= len(s); n++ {
		if c := s[len(s)-n]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRuneInString(s[len(s)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}

// Flush writes the escaped bytes of a character that was never completed.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.cut) == 0 {
		return nil
	}
	_, err := w.w.Write(appendSafe(nil, string(w.cut), true))
	w.cut = w.cut[:0]
	return err
}

// Raw returns the underlying writer of a Writer, for our own control sequences. For
// any other w it returns w.
func Raw(w io.Writer) io.Writer {
	if s, ok := w.(*Writer); ok {
		return s.w
	}
	return w
}
