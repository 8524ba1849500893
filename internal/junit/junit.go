package junit

import (
	"encoding/xml"
	"io"
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

// Write writes suites under a name, with the counts of their cases. Characters that XML
// does not have are replaced.
func Write(w io.Writer, name string, all []Suite) error {
	doc := suites{Name: name}
	for _, s := range all {
		x := suite{Name: s.Name, Tests: len(s.Cases)}
		for _, c := range s.Cases {
			y := testcase{Class: c.Class, Name: c.Name, Out: c.Out}
			switch {
			case c.Failure != "":
				y.Failure = &problem{c.Failure}
				x.Failures++
			case c.Error != "":
				y.Error = &problem{c.Error}
				x.Errors++
			case c.Skipped != "":
				y.Skipped = &problem{c.Skipped}
				x.Skipped++
			}
			x.Cases = append(x.Cases, y)
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
