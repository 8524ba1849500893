package dataset

import (
	"fmt"

	"github.com/pa-tools/pa/internal/sanitize"
)

// An Error is a mistake in a dataset.
type Error struct {
	Name string // of the file
	// Line is where the row begins, from 1, in files with lines; Row its
	// number, from 0, in Parquet; else Offset is the byte.
	Line   int
	Row    int
	Offset int64
	Kind   placeKind
	Err    error // what is wrong there
}

// A placeKind says what locates a mistake.
type placeKind uint8

const (
	wholeFile placeKind = iota
	byLine
	byOffset
	byRow
)

func (e *Error) Error() string {
	switch e.Kind {
	case byLine:
		return fmt.Sprintf("%s: line %d: %v", e.Name, e.Line, e.Err)
	case byOffset:
		return fmt.Sprintf("%s: byte %d: %v", e.Name, e.Offset, e.Err)
	case byRow:
		return fmt.Sprintf("%s: row %d: %v", e.Name, e.Row, e.Err)
	}
	return fmt.Sprintf("%s: %v", e.Name, e.Err)
}

// Unwrap returns what is wrong.
func (e *Error) Unwrap() error { return e.Err }

// clip bounds foreign text in messages.
func clip(text []byte) string { return sanitize.Clip(string(text), 60) }
