package remarks

import (
	"testing"

	"github.com/pa-tools/pa/pkg/recorder"
)

// An automatic sweep prints a note if it was not interrupted and measured only two levels.
func TestSweepNote(t *testing.T) {
	const want = "3 requests at a time gave hardly more per second than one, so there are no rates to try between"
	sweep := &LevelSettings{SweepConcurrency: 3}
	for _, tt := range []struct {
		name string
		s    *LevelSettings
		res  recorder.Result
		want string
	}{
		{"nothing between", sweep, recorder.Result{Levels: make([]recorder.Level, 2)}, want},
		{"interrupted", sweep, recorder.Result{Levels: make([]recorder.Level, 2), Interrupted: true}, ""},
		{"a whole sweep", sweep, recorder.Result{Levels: make([]recorder.Level, 10)}, ""},
		{"no sweep", &LevelSettings{Levels: 2}, recorder.Result{Levels: make([]recorder.Level, 2)}, ""},
	} {
		if got := sweepNote(tt.s, &tt.res); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
