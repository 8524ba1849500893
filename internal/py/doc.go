// Package py writes and reads texts as Python and its libraries do, to the character.
//
// # Numbers
//
// Repr, Fixed, General and Grouped format a float as repr(f), f"{f:.2f}", f"{f:g}" and f"{f:,.2f}" do;
// Round is round(f, n). All of them round the exact binary value once, ties to even, as C's printf does.
//
// # JSON
//
//	b := py.AppendJSON(nil, py.Object{
//		{"unit", "ms"},
//		{"avg", 12.0},
//	}, 2) // json.dumps(…, indent=2)
//
// Members are written in the order given, floats as repr writes them ("1.0",
// "1e-09", also NaN and Infinity, which are not JSON), everything beyond ASCII
// is escaped, a blank follows the colon. AppendORJSON writes as orjson.dumps does.
//
//	v, err := py.ParseJSON(text, py.JSON)
//	choices, ok := v.Member("choices")
//
// ParseJSON reads as json.loads and orjson.loads do, with their error messages. It checks a text as a whole;
// a Value then looks into it where it lies: nothing is built from it.
//
// # CSV
//
//	w := py.NewCSVWriter(&b)
//	w.Row("Request Latency (ms)", "1,525.00") // …,"1,525.00"
//	w.Row()                                   // an empty line
//	err := w.Err()
//
// CSVWriter writes as csv.writer does by default (its dialect "excel"): separated by commas, each row ended by
// CR LF, fields in double quotes only where they must be. encoding/csv also quotes fields that begin with a
// space, and the field \. .
//
// # Tables of rich
//
//	t := py.RichTable{
//		Title:   "LLM Metrics",
//		Columns: []py.RichColumn{{Header: "Statistic", NoWrap: true}, {Header: "avg"}},
//		Rows:    [][]string{{"Request latency (ns)", "147,794,519"}},
//	}
//	fmt.Print(t.Render(100))
//
// RichTable draws tables like the library of that name on a console without colours: the box HEAVY_HEAD, a
// centered title, and columns aligned to the right unless set otherwise. A table that is too wide is narrowed
// from its widest columns on; text that still does not fit is broken between words, or cut with an ellipsis.
// Widths are counted in characters: text of double width, markup and emoji codes, which the library knows, are
// not looked at.
package py
