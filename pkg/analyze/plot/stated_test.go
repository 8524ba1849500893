package plot

import (
	"testing"

	"github.com/pa-tools/pa/pkg/analyze/stated"
)

// statedSweep returns a result with a level for each concurrency.
func statedSweep(file string, loads ...string) *stated.Result {
	r := &stated.Result{File: file, Definitions: "tool"}
	for i, load := range loads {
		figures := []stated.Figure{stated.NewFigure("ttft", "p99", "ms", "1", float64(i+1))}
		r.Levels = append(r.Levels, stated.Level{Mode: "concurrency", Value: load, Figures: figures})
	}
	return r
}

// Each file has a series of its own, unless the files are the levels of one sweep.
func TestStatedSeries(t *testing.T) {
	for _, tt := range []struct {
		name    string
		results []*stated.Result
		want    []string // the names of the series
	}{
		{"a file for each level", []*stated.Result{statedSweep("a.json", "4"), statedSweep("b.json", "8")}, []string{"tool"}},
		{"as many files as levels", []*stated.Result{statedSweep("a.json", "4", "8"), statedSweep("b.json", "4", "8")}, []string{"a.json", "b.json"}},
		{"one file", []*stated.Result{statedSweep("a.json", "4", "8")}, []string{"a.json"}},
	} {
		tr, err := stated.NewTrend(tt.results, make([]string, len(tt.results)), true)
		if err != nil {
			t.Fatal(err)
		}
		f, err := Stated(tr, false, []string{"ttft p99"}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		series := f.Panels[0].Series
		if len(series) != len(tt.want) {
			t.Errorf("%s: %d series, want %q", tt.name, len(series), tt.want)
			continue
		}
		for i, s := range series {
			if s.Name != tt.want[i] {
				t.Errorf("%s: series %q, want %q", tt.name, s.Name, tt.want[i])
			}
		}
	}
}
