package diff

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The settings of two sides are compared without values; runs and levels give what they
// hold.
func TestRunsAndLevels(t *testing.T) {
	base := recipe{seed: 1, requests: 20, tokens: 6, ttft: 30, itl: 20, levels: []string{"2", "4"}}
	other := base
	other.seed, other.change = 2, func(m *memory) { m.run.Meta.Model = "large" }
	a, b := read(t, "a.json", base), read(t, "b.json", other)
	res := compareSettings([]*Run{b}, []*Run{a}, Options{})
	if len(res.Levels) != 2 || res.Levels[0].Rows != nil {
		t.Errorf("levels %v, want two without rows", res.Levels)
	}
	want := []*Difference{{Cause: Cause{Name: "model", Refuses: true}, Old: "large", New: "tiny"}}
	if d := cmp.Diff(want, res.Refused()); d != "" {
		t.Errorf("differences (-want +got):\n%s", d)
	}
	if res := compareSettings([]*Run{b}, []*Run{a}, Options{Ignore: []string{"model"}}); len(res.Refused()) > 0 {
		t.Errorf("an ignored difference refuses: %v", res.Refused())
	}
	if ns, ok := a.Start(); !ok || ns != 1_700_001_000_000_000_000 {
		t.Errorf("start %d, %v", ns, ok)
	}
	if ns, ok := read(t, "none.json", recipe{}).Start(); ok {
		t.Errorf("start %d of a run without requests", ns)
	}
	if got, want := a.Measured(), "pa-analyze's definitions, latencies from the first byte sent"; got != want {
		t.Errorf("Measured() = %q, want %q", got, want)
	}
	l := a.Levels[0]
	if !l.sameLoad(&b.Levels[0]) || l.sameLoad(&b.Levels[1]) {
		t.Error("sameLoad mistakes loads")
	}
	full := Compare([]*Run{a}, []*Run{b}, Options{Ignore: []string{All}})
	for _, row := range full.Levels[0].Rows {
		if got := l.Statistic(row.Metric.Key); got != row.OldRuns[0] || math.IsNaN(got) {
			t.Errorf("%s is %v, want %v", row.Metric.Key, got, row.OldRuns[0])
		}
	}
	if got := l.Statistic("no_metric"); !math.IsNaN(got) {
		t.Errorf("a metric that does not exist is %v", got)
	}
}

// A level is named by its mode and value, or by the recorder's words where the value is no number of its own.
func TestLevelName(t *testing.T) {
	t.Parallel()
	for want, l := range map[string]RunLevel{
		"concurrency 8":         {Mode: "concurrency", Value: "8"},
		"concurrency 9":         {Mode: "concurrency", Value: "9", Load: "concurrency 9 of sessions"},
		"session concurrency 2": {Mode: "request_rate", Value: "0.0", Load: "session concurrency 2"},
		"request rate 0.0":      {Mode: "request_rate", Value: "0.0"},
		"request rate 2.0":      {Mode: "request_rate", Value: "2.0", Load: "request rate 2, poisson"},
		"load not known":        {},
	} {
		if got := l.Name(); got != want {
			t.Errorf("%+v is named %q, want %q", l, got, want)
		}
	}
}
