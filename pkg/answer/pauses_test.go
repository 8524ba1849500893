package answer

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/pkg/export"
)

// Pauses in a file may come in any order, and overlap.
func TestPausesOf(t *testing.T) {
	run := &export.Run{Meta: &export.RunMeta{Pauses: []export.Pause{
		{StartNS: 50, EndNS: 60}, {StartNS: 10, EndNS: 20}, {StartNS: 15, EndNS: 30}, {StartNS: 40, EndNS: 35},
	}}}
	p := PausesOf(run)
	if d := cmp.Diff(Pauses{{StartNS: 10, EndNS: 30}, {StartNS: 40, EndNS: 40}, {StartNS: 50, EndNS: 60}}, p); d != "" {
		t.Fatalf("pauses (-want +got):\n%s", d)
	}
	for _, tt := range []struct {
		name string
		r    export.Request
		want bool
	}{
		{"before", at(1, 9), false},
		{"edge: ends where it begins", at(1, 10), true},
		{"across", at(1, 100), true},
		{"within", at(12, 13), true},
		{"behind", at(61, 90), false},
		{"between", at(31, 39), false},
		{"due in it", export.Request{ScheduledNS: 55, StartNS: 70, FailedNS: 80}, true},
		{"waited to be sent in it", export.Request{IssuedNS: 5, StartNS: 70, FailedNS: 80}, true},
		{"never left", export.Request{FailedNS: 55}, true},
		{"no time at all", export.Request{}, false},
	} {
		if got := p.Touch(&tt.r); got != tt.want {
			t.Errorf("%s: touched %v, want %v", tt.name, got, tt.want)
		}
	}
}
