package sheet

// Formats are the forms in which a result is written. A result lacks the formats whose function is nil. Numbers of
// JSON and CSV have all their digits; JSON leaves out numbers that do not exist, and CSV has an empty cell for them.
type Formats struct {
	// Sheets returns what people read: the sheets of Markdown, and of the text if Text is nil.
	Sheets func() []*Sheet
	// Text returns the sheets of the text. nil: text and Markdown have the same sheets.
	Text func() []*Sheet
	JSON func() Object
	// Columns are the header of CSV.
	Columns []string
	CSV     func() []CSVRow
	JUnit   func() (name string, suites []Suite)
}

// In returns the writer of a format by its name: "markdown", "json", "csv", "junit" or "text". Lines of text have at
// most width characters; 0 is no limit.
func (f *Formats) In(format string, width int) Renderer {
	switch format {
	case "markdown":
		return Markdown(f.Sheets()...)
	case "json":
		return JSON(f.JSON())
	case "csv":
		return CSV(f.Columns, f.CSV())
	case "junit":
		return JUnit(f.JUnit())
	}
	if f.Text != nil {
		return Text(width, f.Text()...)
	}
	return Text(width, f.Sheets()...)
}

// One returns a function that returns only the sheet that f makes, for [Formats.Sheets].
func One(f func() *Sheet) func() []*Sheet { return func() []*Sheet { return []*Sheet{f()} } }
