package sheet

import (
	"fmt"
	"html"
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

// JUnit writes suites under a name, with the counts of their cases, as JUnit XML, which CI systems
// show as tests.
func JUnit(name string, all []Suite) Renderer {
	return func(w io.Writer) error {
		var total outcomes
		var doc []byte
		for _, s := range all {
			var of outcomes
			var cases []byte
			for _, c := range s.Cases {
				of.count(c)
				cases = c.appendXML(cases)
			}
			if len(cases) > 0 {
				cases = append(cases, "\n  "...)
			}
			doc = fmt.Appendf(doc, "\n  <testsuite name=%s%s>%s</testsuite>", attribute(s.Name), of, cases)
			total = outcomes{total.tests + of.tests, total.failures + of.failures, total.errors + of.errors, total.skipped + of.skipped}
		}
		if len(doc) > 0 {
			doc = append(doc, '\n')
		}
		_, err := fmt.Fprintf(w, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=%s%s>%s</testsuites>\n", attribute(name), total, doc)
		return err
	}
}

type outcomes struct{ tests, failures, errors, skipped int }

func (o *outcomes) count(c Case) {
	o.tests++
	switch {
	case c.Failure != "":
		o.failures++
	case c.Error != "":
		o.errors++
	case c.Skipped != "":
		o.skipped++
	}
}

// String returns the numbers as attributes of an element.
func (o outcomes) String() string {
	return fmt.Sprintf(` tests="%d" failures="%d" errors="%d" skipped="%d"`, o.tests, o.failures, o.errors, o.skipped)
}

func (c *Case) appendXML(b []byte) []byte {
	b = fmt.Appendf(b, "\n    <testcase classname=%s name=%s>", attribute(c.Class), attribute(c.Name))
	childless := len(b)
	for _, child := range []struct{ name, message string }{{"failure", c.Failure}, {"error", c.Error}, {"skipped", c.Skipped}} {
		if child.message != "" {
			b = fmt.Appendf(b, "\n      <%s message=%s></%[1]s>", child.name, attribute(child.message))
		}
	}
	if c.Out != "" {
		b = append(b, "\n      <system-out>"...)
		for i, line := range strings.Split(c.Out, "\n") {
			if i > 0 {
				b = append(b, "&#xA;"...)
			}
			b = append(b, html.EscapeString(sanitize.Text(line))...)
		}
		b = append(b, "</system-out>"...)
	}
	if len(b) > childless {
		b = append(b, "\n    "...)
	}
	return append(b, "</testcase>"...)
}

// attribute returns text as the quoted value of an attribute. HTML escapes the same characters as XML, and
// sanitize.Text replaces the characters that XML cannot hold. Both programs would link encoding/xml for this alone.
func attribute(text string) string { return `"` + html.EscapeString(sanitize.Text(text)) + `"` }
