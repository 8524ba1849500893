package remarks

import (
	"testing"

	"github.com/pa-tools/pa/pkg/recorder"
)

// Two levels of a sweep that was not broken off are all there is.
func TestSweepNote(t *testing.T) {
	const want = "3 requests at a time gave hardly more per second than one, so there are no rates to try between"
	sweep := &Asked{SweepConcurrency: 3}
	for _, tt := range []struct {
		name  string
		asked *Asked
		res   recorder.Result
		want  string
	}{
		{"nothing between", sweep, recorder.Result{Levels: make([]recorder.Level, 2)}, want},
		{"interrupted", sweep, recorder.Result{Levels: make([]recorder.Level, 2), Interrupted: true}, ""},
		{"a whole sweep", sweep, recorder.Result{Levels: make([]recorder.Level, 10)}, ""},
		{"no sweep", &Asked{Levels: 2}, recorder.Result{Levels: make([]recorder.Level, 2)}, ""},
	} {
		if got := sweepNote(tt.asked, &tt.res); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
