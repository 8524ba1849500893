// Package sanitize makes text of a server, a file or a command line safe for the
// place where it is printed: a terminal, a cell, a page, a shell. Control characters (the escape character among them), characters that
// hide or reverse text, and bytes that are not UTF-8 are written as Go escapes:
// \x1b, \u202e, \xff.
//
//	sanitize.Text(message)     // for a line of text
//	sanitize.CSVCell(message)  // for a CSV file that a spreadsheet may open
//	sanitize.Markdown(message) // for Markdown that a browser shows
//	sanitize.JSON(document)    // for JSON that a program prints
//	sanitize.Command("pa-analyze", "report", sanitize.PathArgument(file)) // for a POSIX shell into which a person pastes it
//	w := sanitize.NewWriter(os.Stderr)
//
// Every text from outside passes this package on its way to a terminal, a text
// cell of our own CSV files, Markdown, JSON that is printed or an error message. CSV
// files in the formats of other tools are written as those tools write them, and so is
// JSON but for the escapes, which a decoder undoes. The exports of pa-record keep the
// bytes of the server. Every command that a program prints or suggests is composed here, so
// that names with blanks, quotes or patterns reach the other program as they are; [Text] makes
// it safe to print.
package sanitize
