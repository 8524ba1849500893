package sanitize

import (
	"regexp"
	"strings"
)

// number is what a spreadsheet reads as a number, whatever it begins with. U+2212
// is the minus sign of typeset text.
var number = regexp.MustCompile(`^[+\-\x{2212}]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$`)

// formulaStart holds what a spreadsheet takes a cell for a formula that begins
// with: the signs and their full-width forms. Text escapes tabs and carriage
// returns, the others of their kind.
const formulaStart = "=+-@\uFF1D\uFF0B\uFF0D\uFF20"

// CSVCell returns s as the text of a cell: what a spreadsheet would take for a
// formula has an apostrophe before it. Numbers stay as they are. The caller
// quotes the cell as CSV asks for.
func CSVCell(s string) string {
	s = Text(s)
	for _, r := range s {
		if strings.ContainsRune(formulaStart, r) && !number.MatchString(s) {
			return "'" + s
		}
		break
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
