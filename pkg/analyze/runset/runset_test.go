package runset_test

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/internal/runsettest"
	"github.com/pa-tools/pa/pkg/analyze/diff"
	"github.com/pa-tools/pa/pkg/analyze/runset"
)

func runs(t *testing.T, specs ...runsettest.Spec) []*diff.Run {
	var all []*diff.Run
	for _, s := range specs {
		all = append(all, runsettest.Read(t, s))
	}
	return all
}

// Runs are in the order of time and grouped by load; a level that a run lacks is named.
func TestLevels(t *testing.T) {
	s := runset.New(runs(t,
		runsettest.Spec{Name: "b", Second: 200, TTFT: 31, ITL: 20, Levels: []string{"1"}},
		runsettest.Spec{Name: "a", Second: 100, TTFT: 30, ITL: 20, Levels: []string{"1", "2"}},
		runsettest.Spec{Name: "c", Second: 300, TTFT: 32, ITL: 20, Levels: []string{"1.0"}},
	), nil)
	m := &diff.Metrics[0]
	if d := cmp.Diff([]float64{30e6, 31e6, 32e6}, s.Levels[0].Values(m)); d != "" {
		t.Errorf("%s (-want +got):\n%s", m.Key, d)
	}
	if len(s.Levels) != 2 || s.Levels[1].Of(s.Runs[0]) == nil || s.Levels[1].Of(s.Runs[1]) != nil {
		t.Errorf("levels %v", s.Levels)
	}
	if d := cmp.Diff([]string{"concurrency 2: only 1 of 3 runs have this level"}, s.Warnings); d != "" {
		t.Errorf("warnings (-want +got):\n%s", d)
	}
	if err := s.Incomparable(); err != nil {
		t.Error(err)
	}
}

// Each value of a difference names its runs. Runs that share a level only with runs after
// the first are compared, too.
func TestDifferences(t *testing.T) {
	specs := []runsettest.Spec{
		{Name: "a", Second: 100, TTFT: 30, ITL: 20, Levels: []string{"8"}},
		{Name: "b", Second: 200, TTFT: 30, ITL: 20},
		{Name: "c", Second: 300, TTFT: 30, ITL: 20, Model: "large"},
		{Name: "d", Second: 400, TTFT: 30, ITL: 20, Model: "large"},
		{Name: "e", Second: 500, TTFT: 30, ITL: 20, Model: "large", Failed: 1},
	}
	s := runset.New(runs(t, specs...), nil)
	want := []runset.Difference{
		{Name: "model", Values: []runset.Value{{Text: "tiny", Runs: []string{"b"}}, {Text: "large", Runs: []string{"c", "d", "e"}}}, Refuses: true},
		{Name: "failed", Values: []runset.Value{{Text: "1 of 10", Runs: []string{"e"}}}},
	}
	if d := cmp.Diff(want, s.Differences); d != "" {
		t.Errorf("differences (-want +got):\n%s", d)
	}
	if err := s.Incomparable(); err == nil || err.Error() != "not comparable: model: tiny in b, large in c and 2 more; use --ignore model to analyze them together anyway" {
		t.Errorf("error %v", err)
	}
	s = runset.New(runs(t, specs...), []string{"model"})
	if err := s.Incomparable(); err != nil || s.Differences[0].Effect() != "ignored" {
		t.Errorf("an ignored difference refuses: %v", err)
	}
}

func TestFormats(t *testing.T) {
	for _, tt := range []struct {
		v                      float64
		percent, change, short string
	}{
		{0.0912, "9.12%", "+9.12%", "9.1"},
		{0.141, "14.10%", "+14.10%", "14"},
		{-0.00421, "-0.42%", "-0.42%", "-0.42"},
		{0.0000421, "0.00%", "+0.00%", "0.004"},
		{1.5, "150.00%", "+150.00%", "150"},
		{0, "0.00%", "+0.00%", "0.00"},
		{-1e-9, "0.00%", "+0.00%", "0.000"},
		{math.NaN(), "–", "–", "NaN"},
		{math.Inf(1), "∞%", "+∞%", "∞"},
	} {
		if got := [3]string{runset.Percent(tt.v), runset.Change(tt.v), runset.Rounded(tt.v)}; got != [3]string{tt.percent, tt.change, tt.short} {
			t.Errorf("%v: %q, want %q %q %q", tt.v, got, tt.percent, tt.change, tt.short)
		}
	}
}

// A wide table is split, and each part begins with the first column; an empty column is
// left out.
func TestTextTable(t *testing.T) {
	rows := [][]string{{"", "one", "", "two", "verdict"}, {"x", "1.5", "", "10", "~"}, {"long", "12.25", "", "9", "worse"}}
	got := runset.TextTable(rows, "  ", 0)
	if d := cmp.Diff(strings.Join([]string{
		"          one  two  verdict",
		"  x      1.5    10  ~",
		"  long  12.25    9  worse", "",
	}, "\n"), got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	got = runset.TextTable(rows, "  ", 20)
	if d := cmp.Diff(strings.Join([]string{
		"          one  two",
		"  x      1.5    10",
		"  long  12.25    9",
		"",
		"        verdict",
		"  x     ~",
		"  long  worse", "",
	}, "\n"), got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
