package analyze

import (
	"math"
	"strings"
	"testing"

	"github.com/pa-tools/pa/pkg/export"
)

func TestPausedFor(t *testing.T) {
	for want, ns := range map[string][]int64{
		"0 s": nil, "3 s": {1e9, 2e9}, "an unknown time": {1e9, -1},
	} {
		var pauses []export.Pause
		for _, n := range ns {
			pauses = append(pauses, export.Pause{DurationNS: n})
		}
		if got := PausedFor(pauses); got != want {
			t.Errorf("%v: %s, want %s", ns, got, want)
		}
	}
	if got := PausedFor([]export.Pause{{DurationNS: math.MaxInt64}}); got != "an unknown time" {
		t.Errorf("292 years: %s", got)
	}
}

// The rates of a level are n/a if its requests lie outside of it, or more than a year apart.
func TestWrongSpan(t *testing.T) {
	const minute = 60_000_000_000
	for _, tt := range []struct {
		name string
		meta *export.ExperimentMeta
		last uint64 // start of the last request
		want string // "" for rates
	}{
		{"within", &export.ExperimentMeta{StartNS: 100 * minute, EndNS: 101 * minute}, 101 * minute, ""},
		{"outside of the level", &export.ExperimentMeta{StartNS: 100 * minute, EndNS: 101 * minute}, 105 * minute, "the requests, from 6000000000000 to 6300000000010, lie outside of the level, from 6000000000000 to 6060000000000"},
		{"no level stated", nil, 105 * minute, ""},
		{"years apart", nil, 1 << 60, "the requests lie more than a year apart"},
	} {
		r := reader("", []export.Request{at(100*minute, 100*minute+10), at(tt.last, tt.last+10)})
		r.Header.Meta = &export.RunMeta{Tool: "pa-record 1"}
		r.Header.Experiments[0].Meta = tt.meta
		x := analyzed(t, r, Config{}).Experiments[0]
		if got := x.Throughput.Requests.OK; got != (tt.want == "") {
			t.Errorf("%s: a rate: %v", tt.name, got)
		}
		if why := x.WhyNot("throughput"); why != tt.want || !strings.Contains(warningTexts(x.Warnings), tt.want) {
			t.Errorf("%s: %q, warnings %q, want %q", tt.name, why, warningTexts(x.Warnings), tt.want)
		}
	}
}

// A load level of infinite users has no rate of one user.
func TestUsers(t *testing.T) {
	for value, want := range map[string]float64{"8": 8, "Inf": 0, "1e300": 0, "NaN": 0} {
		if got := concurrency(&export.Experiment{Mode: export.ModeConcurrency, Value: value}); got != want {
			t.Errorf("%s: %v users, want %v", value, got, want)
		}
	}
}
