package load_test

import (
	"slices"
	"testing"
	"time"

	"github.com/pa-tools/pa/pkg/recorder/load"
)

// The arrivals of all ranks together are the arrivals of one process, at the same
// instants, for each kind of open loop.
func TestEveryTogetherIsTheWhole(t *testing.T) {
	t.Parallel()
	const n = 200
	gaps := []time.Duration{time.Millisecond, 0, 7 * time.Millisecond}
	var offsets []time.Duration
	for i := range n {
		offsets = append(offsets, time.Duration(i*i)*time.Microsecond)
	}
	for _, level := range []load.Open{
		load.Rate{PerSecond: 100},
		load.Rate{PerSecond: 100, RampUp: time.Second},
		load.Rate{PerSecond: 100, Arrivals: load.Poisson, Seed: 7},
		load.Rate{PerSecond: 100, Arrivals: load.Gamma, Burstiness: 0.3, Seed: 7},
		load.Intervals{Gaps: gaps, Speed: 3},
		load.Timetable{Offsets: offsets, Speed: 2},
	} {
		whole := take(level.Schedule(), n)
		for size := 1; size <= 9; size++ {
			union := make([]time.Duration, len(whole))
			for rank := range size {
				for k, due := range take(load.Every(level.Schedule(), rank, size), (n-rank+size-1)/size) {
					union[rank+k*size] = due
				}
			}
			if !slices.Equal(union, whole) {
				t.Errorf("%v, %d ranks: the instants differ", level, size)
			}
		}
	}
}

// take returns the first n instants of a schedule, fewer if it ends.
func take(s load.Schedule, n int) (all []time.Duration) {
	for range n {
		due, ok := s.Next()
		if !ok {
			break
		}
		all = append(all, due)
	}
	return all
}

func TestEveryEnds(t *testing.T) {
	t.Parallel()
	three := load.Timetable{Offsets: []time.Duration{0, 1, 2}}
	for _, tt := range []struct {
		first, step int
		want        []time.Duration
	}{
		{0, 1, []time.Duration{0, 1, 2}},
		{0, 0, []time.Duration{0, 1, 2}},
		{1, 2, []time.Duration{1}},
		{0, 2, []time.Duration{0, 2}},
		{3, 4, nil}, // the schedule has no such arrival
	} {
		s := load.Every(three.Schedule(), tt.first, tt.step)
		got := take(s, 10)
		if !slices.Equal(got, tt.want) {
			t.Errorf("from %d in steps of %d: %v, want %v", tt.first, tt.step, got, tt.want)
		}
		if _, ok := s.Next(); ok {
			t.Errorf("from %d in steps of %d: more after the end", tt.first, tt.step)
		}
	}
}

func TestArrivalsBefore(t *testing.T) {
	t.Parallel()
	rate := load.Rate{PerSecond: 10} // due at 100 ms, 200 ms, …
	for _, tt := range []struct {
		end  time.Duration
		want int
	}{{0, 0}, {100 * time.Millisecond, 0}, {101 * time.Millisecond, 1}, {time.Second, 9}} {
		if got := load.ArrivalsBefore(rate.Schedule(), tt.end); got != tt.want {
			t.Errorf("before %v: %d, want %d", tt.end, got, tt.want)
		}
	}
	if got := load.ArrivalsBefore(load.Timetable{Offsets: []time.Duration{5, 6}}.Schedule(), time.Hour); got != 2 {
		t.Errorf("of two arrivals %d", got)
	}
}
