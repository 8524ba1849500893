package sheet

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"math"
	"strconv"

	"github.com/pa-tools/pa/internal/sanitize"
)

// A CSVRow maps the columns of a CSV line to its cells; a column that it lacks is empty.
type CSVRow map[string]string

// CSV writes the header, and each row in the order of the header's columns.
func CSV(header []string, rows []CSVRow) Renderer {
	return func(w io.Writer) error {
		c := csv.NewWriter(w)
		if err := c.Write(header); err != nil {
			return err
		}
		for _, row := range rows {
			cells := make([]string, len(header))
			for i, column := range header {
				cells[i] = sanitize.CSVCell(row[column])
			}
			if err := c.Write(cells); err != nil {
				return err
			}
		}
		c.Flush()
		return c.Error()
	}
}

// CSVNumber formats v with all digits and no exponent; "" for NaN and infinities.
func CSVNumber(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return ""
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// JSON writes a document as JSON for programs that people can read too, by [sanitize.JSON].
func JSON(document any) Renderer {
	return func(w io.Writer) error {
		b, err := json.MarshalIndent(document, "", "  ")
		if err != nil {
			return err
		}
		_, err = w.Write(sanitize.JSON(append(b, '\n')))
		return err
	}
}

// JSONNumber returns nil for NaN and infinities, for which JSON has no number.
func JSONNumber(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// JSONNumbers returns numbers for JSON, never nil; NaN and infinities become null.
func JSONNumbers(x []float64) []*float64 {
	all := []*float64{}
	for _, v := range x {
		all = append(all, JSONNumber(v))
	}
	return all
}
