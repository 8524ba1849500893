package dataset

import (
	"fmt"

	"github.com/pa-tools/pa/internal/sanitize"
)

// An Error is a mistake in a dataset.
type Error struct {
	Name string // name of the file
	// Kind selects the field with the position: Line is the line of the row, from 1; Row
	// is its number in Parquet, from 0; Offset is a byte offset.
	Line   int
	Row    int
	Offset int64
	Kind   positionKind
	Err    error // the mistake
}

// A positionKind selects the position of an Error.
type positionKind uint8

const (
	wholeFile positionKind = iota
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

// Unwrap returns the mistake without its position.
func (e *Error) Unwrap() error { return e.Err }

// clip bounds foreign text in messages.
func clip(text []byte) string { return sanitize.Clip(string(text), 60) }
