package llmperf

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The tables are what pandas 3.0 with tabulate 0.10 prints.
func TestMarkdownTable(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, tt := range []struct {
		rows []markdownRow
		want string
	}{
		{[]markdownRow{{"Time to first token (ms)", []float64{96.15, 38.72, 153.58}}, {"x", []float64{0, 12345.678, 1e6}}}, `
|                          |   Average |      Min |     Max |
|:-------------------------|----------:|---------:|--------:|
| Time to first token (ms) |     96.15 |    38.72 | 153.58  |
| x                        |      0    | 12345.7  |   1e+06 |
`},
		{[]markdownRow{{"a", []float64{1, 2, 3}}, {"bb", []float64{nan, inf, -1000}}}, `
|    |   Average |   Min |   Max |
|:---|----------:|------:|------:|
| a  |         1 |     2 |     3 |
| bb |       nan |   inf | -1000 |
`},
		{[]markdownRow{{"a", []float64{1e-7, 123456.5, 0.5}}, {"b", []float64{1234567, 99999.95, -0.25}}}, `
|    |     Average |      Min |   Max |
|:---|------------:|---------:|------:|
| a  | 1e-07       | 123456   |  0.5  |
| b  | 1.23457e+06 |  99999.9 | -0.25 |
`},
		{[]markdownRow{{"a", []float64{12345678, 1.5, 3.25}}}, `
|    |     Average |   Min |   Max |
|:---|------------:|------:|------:|
| a  | 1.23457e+07 |   1.5 |  3.25 |
`},
	} {
		table := markdownTable{columns: []string{"Average", "Min", "Max"}, rows: tt.rows}
		if d := cmp.Diff(strings.TrimPrefix(tt.want, "\n"), table.String()); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	}
}
