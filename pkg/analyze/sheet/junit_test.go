package sheet

import (
	"bytes"
	"encoding/xml"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/sanitize"
)

// The elements of a document, for encoding/xml.
type (
	suitesXML struct {
		XMLName  xml.Name   `xml:"testsuites"`
		Name     string     `xml:"name,attr"`
		Tests    int        `xml:"tests,attr"`
		Failures int        `xml:"failures,attr"`
		Errors   int        `xml:"errors,attr"`
		Skipped  int        `xml:"skipped,attr"`
		Suites   []suiteXML `xml:"testsuite"`
	}
	suiteXML struct {
		Name     string    `xml:"name,attr"`
		Tests    int       `xml:"tests,attr"`
		Failures int       `xml:"failures,attr"`
		Errors   int       `xml:"errors,attr"`
		Skipped  int       `xml:"skipped,attr"`
		Cases    []caseXML `xml:"testcase"`
	}
	caseXML struct {
		Class   string      `xml:"classname,attr"`
		Name    string      `xml:"name,attr"`
		Failure *messageXML `xml:"failure,omitempty"`
		Error   *messageXML `xml:"error,omitempty"`
		Skipped *messageXML `xml:"skipped,omitempty"`
		Out     string      `xml:"system-out,omitempty"`
	}
	messageXML struct {
		Message string `xml:"message,attr"`
	}
)

func messageOf(text string) *messageXML {
	if text == "" {
		return nil
	}
	return &messageXML{sanitize.Text(text)}
}

// byEncoder returns the document as encoding/xml writes it.
func byEncoder(t *testing.T, name string, all []Suite) string {
	t.Helper()
	doc := suitesXML{Name: sanitize.Text(name)}
	for _, s := range all {
		x := suiteXML{Name: sanitize.Text(s.Name), Tests: len(s.Cases)}
		for _, c := range s.Cases {
			lines := strings.Split(c.Out, "\n")
			for i := range lines {
				lines[i] = sanitize.Text(lines[i])
			}
			y := caseXML{
				Class: sanitize.Text(c.Class), Name: sanitize.Text(c.Name), Out: strings.Join(lines, "\n"),
				Failure: messageOf(c.Failure), Error: messageOf(c.Error), Skipped: messageOf(c.Skipped),
			}
			for count, is := range map[*int]*messageXML{&x.Failures: y.Failure, &x.Errors: y.Error, &x.Skipped: y.Skipped} {
				if is != nil {
					*count++
				}
			}
			x.Cases = append(x.Cases, y)
		}
		doc.Suites = append(doc.Suites, x)
		doc.Tests, doc.Failures, doc.Errors, doc.Skipped = doc.Tests+x.Tests, doc.Failures+x.Failures, doc.Errors+x.Errors, doc.Skipped+x.Skipped
	}
	text, err := xml.MarshalIndent(doc, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return xml.Header + string(text) + "\n"
}

func checkJUnit(t *testing.T, name string, all []Suite) {
	t.Helper()
	var got bytes.Buffer
	if err := JUnit(name, all)(&got); err != nil {
		t.Fatal(err)
	}
	if want := byEncoder(t, name, all); got.String() != want {
		t.Errorf("JUnit writes\n%s\nencoding/xml writes\n%s", got.String(), want)
	}
}

func TestJUnit(t *testing.T) {
	t.Parallel()
	for name, all := range map[string][]Suite{
		`a "name" & more`: {
			{"one", []Case{{Class: "c", Name: "passes", Out: "x < y\x01\n\n\t'z'\n"}, {Class: "c", Name: "fails", Failure: "slower"}}},
			{"two", []Case{{Class: "c", Name: "unknown", Error: "no value"}, {Class: "c", Name: "skipped", Skipped: "not\ntried", Out: "\n"}}},
			{"none", nil},
		},
		"no suites": nil,
	} {
		checkJUnit(t, name, all)
	}
}

func FuzzJUnit(f *testing.F) {
	f.Add("a \"b\" & 'c' <d>", "\x00\xff\r\n\t\ufffd\ufffe\uffff\U0010ffff\u2028\ud7ff\ue000")
	f.Fuzz(func(t *testing.T, a, b string) {
		checkJUnit(t, a, []Suite{{b, []Case{{Class: a, Name: b, Failure: a, Out: b}, {Class: b, Name: a, Skipped: b, Out: a}, {Error: b}}}})
	})
}
