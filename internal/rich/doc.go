// Package rich draws tables like the Python library of that name on a console without
// colours: the box HEAVY_HEAD, a centered title, and columns aligned to the right unless
// set otherwise.
//
//	t := rich.Table{
//		Title:   "LLM Metrics",
//		Columns: []rich.Column{{Header: "Statistic", NoWrap: true}, {Header: "avg"}},
//		Rows:    [][]string{{"Request latency (ns)", "147,794,519"}},
//	}
//	fmt.Print(t.Render(100))
//
// A table that is too wide is narrowed from its widest columns on; text that
// still does not fit is broken between words, or cut with an ellipsis.
//
// Widths are counted in characters: text of double width, markup and emoji
// codes, which the library knows, are not looked at.
package rich
