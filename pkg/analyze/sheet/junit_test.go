package sheet

import (
	"encoding/xml"
	"strings"
	"testing"
)

func TestJUnit(t *testing.T) {
	var b strings.Builder
	if err := JUnit(`a "name" & more`, []Suite{
		{"one", []Case{{Class: "c", Name: "passes", Out: "x < y\x01"}, {Class: "c", Name: "fails", Failure: "slower"}}},
		{"two", []Case{{Class: "c", Name: "unknown", Error: "no value"}, {Class: "c", Name: "skipped", Skipped: "not tried"}}},
		{"none", nil},
	})(&b); err != nil {
		t.Fatal(err)
	}
	var doc suites
	if err := xml.Unmarshal([]byte(b.String()), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Name != `a "name" & more` || doc.Tests != 4 || doc.Failures != 1 || doc.Errors != 1 || doc.Skipped != 1 || len(doc.Suites) != 3 {
		t.Errorf("%+v", doc)
	}
	if s := doc.Suites[0]; s.Tests != 2 || s.Failures != 1 || s.Cases[0].Out != `x < y\x01` || s.Cases[1].Failure.Message != "slower" || s.Cases[0].Failure != nil {
		t.Errorf("%+v", s)
	}
}
