package tokenizer

import (
	"bytes"
	"strconv"
	"sync"

	"github.com/pa-tools/pa/internal/sanitize"
)

// A FormatError is an error in the content of a file, with its position.
type FormatError struct {
	File  string
	Line  int    // from 1; 0 for the whole file
	Field string // path such as model.merges[17]; empty for the top level
	Err   error
}

func (e *FormatError) Error() string {
	s := e.File
	if e.Line > 0 {
		s += ": line " + strconv.Itoa(e.Line)
	}
	if e.Field != "" {
		s += ": " + e.Field
	}
	return s + ": " + e.Err.Error()
}

func (e *FormatError) Unwrap() error { return e.Err }

// A failure keeps the first and the latest error of functions that return no error.
type failure struct {
	mu   sync.Mutex
	err  error // the first
	last error
	n    int // errors so far
}

func (f *failure) set(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		f.err = err
	}
	f.last = err
	f.n++
}

func (f *failure) get() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// latest returns the number of errors so far and the latest one.
func (f *failure) latest() (n int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.n, f.last
}

// lineOf returns the number of the line that holds data[offset].
func lineOf(data []byte, offset int64) int {
	offset = min(max(offset, 0), int64(len(data)))
	return 1 + bytes.Count(data[:offset], []byte{'\n'})
}

// maxQuoted bounds foreign text in messages.
const maxQuoted = 60

// quote quotes foreign text for a message and bounds its length.
func quote(s string) string {
	if len(s) > maxQuoted {
		return strconv.Quote(sanitize.Cut(s, maxQuoted)) + "…"
	}
	return strconv.Quote(s)
}
