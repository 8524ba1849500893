package diff

import "testing"

// One side whose prompts came from the server's cache is named in the first line.
func TestCachedSide(t *testing.T) {
	t.Parallel()
	const cached = "97 % of the input tokens were in the server's cache"
	for _, tt := range []struct {
		name     string
		old, new string
		levels   int
		want     string
	}{
		{"neither", noDoubt, noDoubt, 1, ""},
		{"both", cached, cached + ": they were sent before", 1, ""},
		{"old", cached, noDoubt, 1, "; old had the prompts in its cache, and new did not: see prompt-cache"},
		{"new, at one of two levels", noDoubt, cached, 2, "; new had the prompts in its cache at concurrency 4, and old did not: see prompt-cache"},
	} {
		r := Result{
			Levels:      make([]*LevelDiff, tt.levels),
			Differences: []*Difference{{Cause: Cause{Name: "host"}}, {Cause: Cause{Name: promptCache, Level: "concurrency 4"}, Old: tt.old, New: tt.new}},
		}
		if got := r.cachedSide(); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
