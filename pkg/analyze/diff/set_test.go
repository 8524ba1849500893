package diff_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/internal/test/memrun"
	"github.com/pa-tools/pa/internal/test/runtest"
	"github.com/pa-tools/pa/pkg/analyze/diff"
)

func runs(t *testing.T, specs ...memrun.Spec) []*diff.Run {
	var all []*diff.Run
	for _, s := range specs {
		all = append(all, runtest.Read(t, s))
	}
	return all
}

// Runs are in the order of time and grouped by load; a level that a run lacks is named.
func TestLevels(t *testing.T) {
	s := diff.NewSet(runs(t,
		memrun.Spec{Name: "b", Second: 200, TTFT: 31, ITL: 20, Levels: []string{"1"}},
		memrun.Spec{Name: "a", Second: 100, TTFT: 30, ITL: 20, Levels: []string{"1", "2"}},
		memrun.Spec{Name: "c", Second: 300, TTFT: 32, ITL: 20, Levels: []string{"1.0"}},
	), nil)
	m := diff.Metrics[0]
	if d := cmp.Diff([]float64{30e6, 31e6, 32e6}, s.Levels[0].Values(m)); d != "" {
		t.Errorf("%s (-want +got):\n%s", m.Key, d)
	}
	if len(s.Levels) != 2 || s.Levels[1].Of(s.Runs[0]) == nil || s.Levels[1].Of(s.Runs[1]) != nil {
		t.Errorf("levels %v", s.Levels)
	}
	if d := cmp.Diff([]string{"concurrency 2: only 1 of 3 runs has this level"}, s.Warnings); d != "" {
		t.Errorf("warnings (-want +got):\n%s", d)
	}
	if err := s.Incomparable(); err != nil {
		t.Error(err)
	}
}

// Each value of a difference names its runs. Runs that share a level only with runs after
// the first are compared, too.
func TestDifferences(t *testing.T) {
	specs := []memrun.Spec{
		{Name: "a", Second: 100, TTFT: 30, ITL: 20, Levels: []string{"8"}},
		{Name: "b", Second: 200, TTFT: 30, ITL: 20},
		{Name: "c", Second: 300, TTFT: 30, ITL: 20, Model: "large"},
		{Name: "d", Second: 400, TTFT: 30, ITL: 20, Model: "large"},
		{Name: "e", Second: 500, TTFT: 30, ITL: 20, Model: "large", Failed: 1},
	}
	s := diff.NewSet(runs(t, specs...), nil)
	want := []*diff.SetDifference{
		{Cause: diff.Cause{Name: "model", Refuses: true}, Values: []diff.SetValue{{Text: "tiny", Runs: []string{"b"}}, {Text: "large", Runs: []string{"c", "d", "e"}}}},
		{Cause: diff.Cause{Name: "failed"}, Values: []diff.SetValue{{Text: "1 of 10", Runs: []string{"e"}}}},
	}
	if d := cmp.Diff(want, s.Differences); d != "" {
		t.Errorf("differences (-want +got):\n%s", d)
	}
	if err := s.Incomparable(); err == nil || err.Error() != "not comparable: model: tiny in b, large in c and 2 more; use --ignore model to analyze them together anyway" {
		t.Errorf("error %v", err)
	}
	s = diff.NewSet(runs(t, specs...), []string{"model"})
	if err := s.Incomparable(); err != nil || s.Differences[0].Effect() != "ignored" {
		t.Errorf("an ignored difference refuses: %v", err)
	}
}

// Runs that agree with the first one have its value. Labels refuse only runs of one server.
func TestLabels(t *testing.T) {
	specs := []memrun.Spec{
		{Name: "a", Second: 100, TTFT: 30, ITL: 20, Group: "g", Label: "old"},
		{Name: "b", Second: 200, TTFT: 30, ITL: 20, Group: "g", Label: "old", Failed: 1},
		{Name: "c", Second: 300, TTFT: 30, ITL: 20, Group: "g", Label: "new", Model: "large"},
		{Name: "d", Second: 400, TTFT: 30, ITL: 20},
	}
	settings := []*diff.SetDifference{
		{Cause: diff.Cause{Name: "failed"}, Values: []diff.SetValue{{Text: "1 of 10", Runs: []string{"b"}}}},
		{Cause: diff.Cause{Name: "model", Refuses: true}, Values: []diff.SetValue{{Text: "tiny", Runs: []string{"a", "b", "d"}}, {Text: "large", Runs: []string{"c"}}}},
	}
	if d := cmp.Diff(settings, diff.NewSet(runs(t, specs...), nil).Differences); d != "" {
		t.Errorf("differences (-want +got):\n%s", d)
	}
	label := &diff.SetDifference{Cause: diff.Cause{Name: "label", Refuses: true}, Values: []diff.SetValue{{Text: "old", Runs: []string{"a", "b"}}, {Text: "new", Runs: []string{"c"}}}}
	if d := cmp.Diff(append([]*diff.SetDifference{label}, settings...), diff.OneServer(runs(t, specs...), nil).Differences); d != "" {
		t.Errorf("differences of one server (-want +got):\n%s", d)
	}
	for ignore, refused := range map[string]int{"label": 1, "all": 0, "load": 2} {
		if got := len(diff.OneServer(runs(t, specs...), []string{ignore}).Refused()); got != refused {
			t.Errorf("%d differences refuse although %s is ignored, want %d", got, ignore, refused)
		}
	}
	if s := diff.OneServer(runs(t, specs[0], specs[1], specs[3]), nil); len(s.Refused()) > 0 {
		t.Errorf("one label and a run without a label: %v", s.Refused())
	}
}
