package explain

import (
	"math"
	"slices"
	"strings"
)

// A Side holds the definitions of one dialect for one load level.
type Side struct {
	Dialect     string // as on the command line: "genai-perf-25.08"
	Definitions []Definition
	// Remarks are notes for the reader that concern all Definitions.
	Remarks []string
}

// A Comparison holds a load level under several dialects.
type Comparison struct {
	Measures []MeasureRows
	Remarks  []Remark
}

// MeasureRows holds one measure under all dialects.
type MeasureRows struct {
	Measure Measure
	Rows    []Row
}

// A Row is a definition that one or more dialects share: the same words, values and
// differences.
type Row struct {
	Dialects []string
	Definition
}

// A Remark is a note for the reader about some dialects.
type Remark struct {
	Dialects []string
	Text     string
}

// unexplained is the reason of a value that differs from the strict one although no
// known rule applied.
const unexplained = "differs by a rule that is not named here"

// Compare puts dialects side by side, in the order given. The first side is the
// reference of all differences. Neighbours with equal definitions share a row.
func Compare(sides []Side) Comparison {
	var c Comparison
	for _, m := range Measures() {
		x := MeasureRows{Measure: m}
		var strict *Definition
		for i := range sides {
			at := slices.IndexFunc(sides[i].Definitions, func(d Definition) bool { return d.Measure == m })
			if at < 0 {
				continue
			}
			d := sides[i].Definitions[at]
			if i == 0 {
				strict = &sides[i].Definitions[at]
			} else if strict != nil && d.Has() && strict.Has() && len(d.Differs) == 0 && !d.Values.near(strict.Values) {
				d.Differs = []string{unexplained}
			}
			if n := len(x.Rows); n > 0 && x.Rows[n-1].same(&d) && i != 1 {
				x.Rows[n-1].Dialects = append(x.Rows[n-1].Dialects, sides[i].Dialect)
				continue
			}
			x.Rows = append(x.Rows, Row{[]string{sides[i].Dialect}, d})
		}
		c.Measures = append(c.Measures, x)
	}
	for i := range sides {
		for _, text := range sides[i].Remarks {
			at := slices.IndexFunc(c.Remarks, func(r Remark) bool { return r.Text == text })
			if at < 0 {
				c.Remarks = append(c.Remarks, Remark{Text: text})
				at = len(c.Remarks) - 1
			}
			c.Remarks[at].Dialects = append(c.Remarks[at].Dialects, sides[i].Dialect)
		}
	}
	return c
}

func (d *Definition) same(o *Definition) bool {
	return d.Name == o.Name && d.Formula == o.Formula && d.NA == o.NA && slices.Equal(d.Differs, o.Differs) && d.Values.near(o.Values)
}

// near reports whether values are equal except for the last digits, which depend on
// the order of additions.
func (v Values) near(o Values) bool {
	if v.N != o.N && !math.IsNaN(v.P50) && !math.IsNaN(o.P50) {
		return false
	}
	for _, x := range [...][2]float64{{v.Mean, o.Mean}, {v.P50, o.P50}, {v.P99, o.P99}} {
		if x[0] != x[1] && !math.IsNaN(x[0]) && !math.IsNaN(x[1]) && !(math.Abs(x[0]-x[1]) <= 1e-9*math.Abs(x[1])) {
			return false
		}
	}
	return true
}

// Family lists names of dialects. Consecutive releases of a tool become a range:
// "genai-perf-24.03 to 24.06, vllm".
func Family(names []string) string {
	var all []string
	for i := 0; i < len(names); {
		tool := tool(names[i])
		n := 1
		for i+n < len(names) && tool != "" && strings.HasPrefix(names[i+n], tool) {
			n++
		}
		text := names[i]
		if n > 1 {
			text += " to " + strings.TrimPrefix(names[i+n-1], tool)
		}
		all = append(all, text)
		i += n
	}
	return strings.Join(all, ", ")
}

// tool returns the part of a name before its release: "genai-perf-"; "" if there is no
// release.
func tool(name string) string {
	return name[:strings.LastIndexByte(name, '-')+1]
}
