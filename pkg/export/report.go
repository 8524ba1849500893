package export

import (
	"fmt"
	"strings"
)

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
