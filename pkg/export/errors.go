package export

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pa-tools/pa/internal/jsonscan"
)

// ErrContradiction is the error of a Reader of several files that contradict each other, such as
// two ranks with the same requests. It makes all requests of the run doubtful, so commands print no
// figures of the run.
var ErrContradiction = errors.New("the files contradict each other")

// A CutError reports a truncated file: an incomplete copy, a full disk, a killed writer.
type CutError struct {
	Name   string // file
	Offset int64  // size of the readable part
	Where  string // what was being read: "experiment 0, request 17"
	// Nothing reports that no part of the file could be used.
	Nothing bool
}

func (e *CutError) Error() string {
	if e.Nothing {
		return fmt.Sprintf("%s: cut short at byte %d, inside %s; nothing before it can be used", e.Name, e.Offset, e.Where)
	}
	return fmt.Sprintf("%s: cut short at byte %d, inside %s; the part before it was read", e.Name, e.Offset, e.Where)
}

// A SyntaxError locates the first byte that cannot be part of the format: by the Name of the file, the
// Offset, and Where, such as "experiment 0, request 17" ("" at the top level). Msg holds the expected and the
// found text.
type SyntaxError = jsonscan.SyntaxError

// A Warning is a problem of the data that did not stop the reading. Problems
// of one kind are counted, the first one is located.
type Warning struct {
	Name   string
	Offset int64 // of the first; -1 when it belongs to the whole file
	Where  string
	Msg    string
	Count  int
	// LeftOut reports that the reader left out a request for each of the Count
	// problems. [Reader.Skipped] returns the number for each experiment.
	LeftOut bool
	// Note reports that the warning says how to read the file, and is no fault of it.
	Note bool
}

func (w Warning) String() string {
	s := w.Name + ": "
	if w.Offset >= 0 {
		s += fmt.Sprintf("byte %d: ", w.Offset)
	}
	if w.Where != "" {
		s += w.Where + ": "
	}
	s += w.Msg
	if w.LeftOut {
		s += "; requests like this are left out"
	}
	if w.Count > 1 {
		s += fmt.Sprintf(" (and %d more)", w.Count-1)
	}
	return s
}

// A ReportError is the error of a file that holds figures by pa-analyze or pa-record, and no
// requests.
type ReportError struct {
	Name   string // file
	Schema string // "pa-report/1"
}

func (e *ReportError) Error() string {
	if e.Schema == CalibrationSchema {
		return fmt.Sprintf("%s: is a calibration of pa-record (schema %s), not a recording; give a recording", e.Name, e.Schema)
	}
	return fmt.Sprintf("%s: is a report of pa-analyze (schema %s), not a recording; give the recording from which it was made", e.Name, e.Schema)
}

// ReportSchema reports whether a document whose member "schema" has this value is a report.
// A recording has no such member at its top level.
func ReportSchema(schema string) bool { return strings.HasPrefix(schema, "pa-") }
