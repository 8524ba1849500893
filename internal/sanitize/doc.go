// Package sanitize makes text of a server, a file or a command line safe to
// print. Control characters (the escape character among them), characters that
// hide or reverse text, and bytes that are not UTF-8 are written as Go escapes:
// \x1b, \u202e, \xff.
//
//	sanitize.Text(message)     // for a line of text
//	sanitize.CSVCell(message)  // for a CSV file that a spreadsheet may open
//	sanitize.Markdown(message) // for Markdown that a browser shows
//	w := sanitize.NewWriter(os.Stderr)
//
// Every text from outside passes this package on its way to a terminal, a text
// cell of our own CSV files, Markdown or an error message. CSV and JSON files in
// the formats of other tools are written as those tools write them.
package sanitize
