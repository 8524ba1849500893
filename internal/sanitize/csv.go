package sanitize

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// number matches a cell that a spreadsheet reads as a number. U+2212 is the minus
// sign of typeset text.
var number = regexp.MustCompile(`^[+\-\x{2212}]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$`)

// formulaStart holds the characters with which a spreadsheet formula begins, and
// their full-width forms. Tabs and carriage returns also begin one; Text escapes
// them.
const formulaStart = "=+-@\uFF1D\uFF0B\uFF0D\uFF20"

// CSVCell returns s as the text of a CSV cell. It puts an apostrophe before text
// that a spreadsheet would take for a formula. Numbers stay unchanged. The caller
// does the quoting of CSV.
func CSVCell(s string) string {
	s = Text(s)
	if r, _ := utf8.DecodeRuneInString(s); strings.ContainsRune(formulaStart, r) && !number.MatchString(s) {
		return "'" + s
	}
	return s
}

// CSVRow passes each cell through [CSVCell], in place, and returns row.
func CSVRow(row []string) []string {
	for i, s := range row {
		row[i] = CSVCell(s)
	}
	return row
}
