package sheet

import (
	"encoding/xml"
	"io"
	"strings"

	"github.com/pa-tools/pa/internal/sanitize"
)

// A Suite is a group of cases.
type Suite struct {
	Name  string
	Cases []Case
}

// A Case is a test. At most one of Failure, Error and Skipped is set; all are empty for a
// test that passed.
type Case struct {
	Class string
	Name  string
	// Failure says why the test failed, Error why it could not be decided, Skipped why it
	// was not tried.
	Failure, Error, Skipped string
	Out                     string // what the test printed
}

type suites struct {
	XMLName  xml.Name `xml:"testsuites"`
	Name     string   `xml:"name,attr"`
	Tests    int      `xml:"tests,attr"`
	Failures int      `xml:"failures,attr"`
	Errors   int      `xml:"errors,attr"`
	Skipped  int      `xml:"skipped,attr"`
	Suites   []suite  `xml:"testsuite"`
}

type suite struct {
	Name     string     `xml:"name,attr"`
	Tests    int        `xml:"tests,attr"`
	Failures int        `xml:"failures,attr"`
	Errors   int        `xml:"errors,attr"`
	Skipped  int        `xml:"skipped,attr"`
	Cases    []testcase `xml:"testcase"`
}

type testcase struct {
	Class   string   `xml:"classname,attr"`
	Name    string   `xml:"name,attr"`
	Failure *problem `xml:"failure,omitempty"`
	Error   *problem `xml:"error,omitempty"`
	Skipped *problem `xml:"skipped,omitempty"`
	Out     string   `xml:"system-out,omitempty"`
}

type problem struct {
	Message string `xml:"message,attr"`
}

// JUnit writes suites under a name, with the counts of their cases, as JUnit XML, which CI systems
// show as tests.
func JUnit(name string, all []Suite) Renderer {
	return func(w io.Writer) error {
		doc := suites{Name: sanitize.Text(name)}
		for _, s := range all {
			x := suite{Name: sanitize.Text(s.Name), Tests: len(s.Cases)}
			for _, c := range s.Cases {
				x.Cases = append(x.Cases, c.xml())
				switch {
				case c.Failure != "":
					x.Failures++
				case c.Error != "":
					x.Errors++
				case c.Skipped != "":
					x.Skipped++
				}
			}
			doc.Suites = append(doc.Suites, x)
			doc.Tests, doc.Failures, doc.Errors, doc.Skipped = doc.Tests+x.Tests, doc.Failures+x.Failures, doc.Errors+x.Errors, doc.Skipped+x.Skipped
		}
		if _, err := io.WriteString(w, xml.Header); err != nil {
			return err
		}
		e := xml.NewEncoder(w)
		e.Indent("", "  ")
		if err := e.Encode(doc); err != nil {
			return err
		}
		_, err := io.WriteString(w, "\n")
		return err
	}
}

// xml returns the case with texts that are safe to show.
func (c *Case) xml() testcase {
	because := func(text string) *problem {
		if text == "" {
			return nil
		}
		return &problem{sanitize.Text(text)}
	}
	var out []string
	for line := range strings.SplitSeq(c.Out, "\n") {
		out = append(out, sanitize.Text(line))
	}
	return testcase{
		Class: sanitize.Text(c.Class), Name: sanitize.Text(c.Name), Out: strings.Join(out, "\n"),
		Failure: because(c.Failure), Error: because(c.Error), Skipped: because(c.Skipped),
	}
}
