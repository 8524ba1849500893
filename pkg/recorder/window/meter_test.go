package window

import (
	"math"
	"slices"
	"testing"
	"time"
)

// Requests that are handed in after their window had closed are counted in it.
func TestMeterLate(t *testing.T) {
	m := NewMeter(Measure{Mode: ByCount, WindowRequests: 2, MaxTrials: 10, Stability: 9}, 100)
	for _, end := range []uint64{110, 130, 120, 140, 150, 130, 160, 170, 165, 180} {
		m.Add(Sample{EndNS: end, Latency: 5})
	}
	m.Finish(200)
	var got [][3]uint64
	for _, w := range m.Windows() {
		got = append(got, [3]uint64{w.StartNS, w.EndNS, uint64(w.Requests)})
	}
	want := [][3]uint64{{100, 130, 4}, {130, 150, 2}, {150, 170, 4}}
	if !slices.Equal(got, want) {
		t.Errorf("windows {start, end, requests} %v, want %v", got, want)
	}
}

// One window holds all requests of a count, from the first start to the last end.
func TestOneWindow(t *testing.T) {
	m := NewMeter(Measure{Requests: 2}, 1) // perf_analyzer's own test: two requests from 3 to 20
	m.Add(Sample{EndNS: 10, Latency: 7})
	m.Add(Sample{EndNS: 20, Latency: 15})
	m.Finish(99)
	if w := m.Windows()[0]; w.StartNS != 3 || w.EndNS != 20 || w.Requests != 2 {
		t.Errorf("window %+v, want 3 to 20", w)
	}
	m = NewMeter(Measure{Requests: 2}, 1)
	m.Finish(99)
	if w := m.Windows()[0]; w.StartNS != 1 || w.EndNS != 99 || w.Requests != 0 {
		t.Errorf("window of nothing %+v, want 1 to 99", w)
	}
}

func TestFraction(t *testing.T) {
	const start = 1_000_000
	at := func(d time.Duration) uint64 { return start + uint64(d) }
	for _, tt := range []struct {
		name   string
		m      Measure
		now    uint64
		ended  int
		closed int // windows
		inside int // requests of the present one
		want   float64
		atMost bool
	}{
		{"count", Measure{Requests: 8}, at(time.Hour), 2, 0, 2, 0.25, false},
		{"count, nothing yet", Measure{Requests: 8}, at(time.Hour), 0, 0, 0, 0, false},
		{"duration", Measure{Duration: 10 * time.Second}, at(4 * time.Second), 99, 0, 9, 0.4, false},
		{"duration is over", Measure{Duration: 10 * time.Second}, at(11 * time.Second), 99, 0, 9, 1, false},
		{"before the start", Measure{Duration: 10 * time.Second}, 0, 0, 0, 0, 0, false},
		{"time windows", Measure{Interval: time.Second, MaxTrials: 10}, at(2500 * time.Millisecond), 9, 2, 3, 0.25, true},
		{"count windows", Measure{Mode: ByCount, WindowRequests: 4, MaxTrials: 10}, at(time.Hour), 9, 2, 2, 0.25, true},
	} {
		m := NewMeter(tt.m, start)
		m.windows = make([]Window, tt.closed)
		m.current.latencies.n = tt.inside
		if got, atMost := m.Fraction(tt.now, tt.ended); math.Abs(got-tt.want) > 1e-9 || atMost != tt.atMost {
			t.Errorf("%s: %v, at most %v; want %v, %v", tt.name, got, atMost, tt.want, tt.atMost)
		}
	}
}
