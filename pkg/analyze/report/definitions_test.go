package report

import (
	"bytes"
	"math"
	"testing"

	"github.com/pa-tools/pa/internal/test/schematest"
	"github.com/pa-tools/pa/pkg/analyze/explain"
)

// DefinitionsJSON fits schemas/definitions.schema.json for a distribution, a single number, none,
// and infinity.
func TestDefinitionsSchema(t *testing.T) {
	sides := []explain.Side{
		{Dialect: "strict", Definitions: []explain.Definition{
			{Measure: explain.FirstToken, Name: "TTFT", Formula: "first", Values: explain.Values{N: 3, Mean: 2, P50: 2, P99: 3}},
			{Measure: explain.RequestRate, Name: "requests/s", Formula: "n / s", Values: explain.Single(4.5)},
			{Measure: explain.InputTokens, Formula: "usage", NA: "no usage"},
		}},
		{Dialect: "tool-1", Remarks: []string{"stops"}, Definitions: []explain.Definition{
			{Measure: explain.FirstToken, Name: "ttft", Formula: "first", Values: explain.Values{N: 3, Mean: math.Inf(1), P50: 2, P99: math.Inf(1)}, Differs: []string{"x"}},
			{Measure: explain.RequestRate, NA: "there is no such metric"},
		}},
	}
	var b bytes.Buffer
	if err := DefinitionsJSON(&Definitions{Name: "run.json", Mode: "concurrency", Value: "1", Comparison: explain.Compare(sides)})(&b); err != nil {
		t.Fatal(err)
	}
	if err := schematest.Open(t, "definitions.schema.json").Check(t, b.Bytes()); err != nil {
		t.Errorf("%v\n%s", err, b.String())
	}
}
