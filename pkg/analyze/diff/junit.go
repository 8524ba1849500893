package diff

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze/diff/gate"
	"github.com/pa-tools/pa/pkg/analyze/inference"
	"github.com/pa-tools/pa/pkg/analyze/report"
)

// JUnit writes the comparison as JUnit XML, which CI systems show as tests: a suite that
// tells whether the sides are comparable, for each level a suite with a case for each
// primary metric, and a suite of the gates. Without
// gates a metric that got worse is a failure. With gates only they fail: a gate that
// holds is a failure, one that is n/a an error. A metric without a verdict is skipped.
func JUnit(r *Result) report.Renderer {
	return func(w io.Writer) error {
		doc := junitSuites{Name: sanitize.Text(r.Headline())}
		for i := range r.Levels {
			doc.Suites = append(doc.Suites, r.junitLevel(&r.Levels[i]))
		}
		if len(r.Gates) > 0 {
			doc.Suites = append(doc.Suites, r.junitGates())
		}
		doc.Suites = append([]junitSuite{r.junitComparable()}, doc.Suites...)
		for i := range doc.Suites {
			s := &doc.Suites[i]
			doc.Tests, doc.Failures, doc.Errors, doc.Skipped = doc.Tests+s.Tests, doc.Failures+s.Failures, doc.Errors+s.Errors, doc.Skipped+s.Skipped
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

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Skipped  int          `xml:"skipped,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Failure *junitProblem `xml:"failure,omitempty"`
	Error   *junitProblem `xml:"error,omitempty"`
	Skipped *junitProblem `xml:"skipped,omitempty"`
	Out     string        `xml:"system-out,omitempty"`
}

type junitProblem struct {
	Message string `xml:"message,attr"`
}

// junitComparable tells whether the sides can be compared, and how they differ.
func (r *Result) junitComparable() junitSuite {
	c := junitCase{Class: "comparison", Name: "comparable"}
	var lines []string
	for i := range r.Differences {
		d := &r.Differences[i]
		at := ""
		if d.Level != "" {
			at = " at " + d.Level
		}
		lines = append(lines, sanitize.Text(fmt.Sprintf("%s%s: old %s, new %s", d.Name, at, short(d.Old), short(d.New))))
	}
	c.Out = strings.Join(lines, "\n")
	if len(r.Refused()) > 0 || len(r.Levels) == 0 {
		c.Error = &junitProblem{sanitize.Text(r.Headline())}
	}
	return counted(junitSuite{Name: "comparison", Cases: []junitCase{c}})
}

func (r *Result) junitLevel(l *LevelResult) junitSuite {
	u := r.units()
	name := sanitize.Text(l.Name)
	s := junitSuite{Name: name}
	for i := range l.Rows {
		row := &l.Rows[i]
		if !row.Primary {
			continue
		}
		text := fmt.Sprintf("%s to %s, %s", u.amount(row.Metric, row.Old.Value), u.amount(row.Metric, row.New.Value), row.changed())
		if ends := row.interval(); ends != "" && ends != "n/a" {
			text += " (" + ends + ")"
		}
		text = row.Metric.Name + ": " + text
		c := junitCase{Class: name, Name: row.Metric.Key, Out: text}
		switch {
		case row.Verdict == inference.NotAvailable:
			c.Skipped = &junitProblem{sanitize.Text(cmp.Or(row.Spoiled, row.reason()))}
		case row.Verdict == inference.Worse && len(r.Gates) == 0:
			c.Failure = &junitProblem{text}
		}
		s.Cases = append(s.Cases, c)
	}
	return counted(s)
}

func (r *Result) junitGates() junitSuite {
	s := junitSuite{Name: "gates"}
	for i := range r.Gates {
		g := &r.Gates[i]
		c := junitCase{Class: "gates", Name: g.Expr + " at " + sanitize.Text(g.Level)}
		because := sanitize.Text(fmt.Sprint(g.State, ": ", strings.Join(g.Because, ", ")))
		switch g.State {
		case gate.Tripped:
			c.Failure = &junitProblem{because}
		case gate.Unknown:
			c.Error = &junitProblem{because}
		case gate.Clear:
			c.Out = because
		}
		s.Cases = append(s.Cases, c)
	}
	return counted(s)
}

// counted fills the numbers of a suite.
func counted(s junitSuite) junitSuite {
	s.Tests = len(s.Cases)
	for _, c := range s.Cases {
		switch {
		case c.Failure != nil:
			s.Failures++
		case c.Error != nil:
			s.Errors++
		case c.Skipped != nil:
			s.Skipped++
		}
	}
	return s
}
