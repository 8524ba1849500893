package load_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/pa-tools/pa/pkg/recorder/load"
)

// Due and DueWithin say without a schedule what the schedule says.
func TestDue(t *testing.T) {
	t.Parallel()
	ms := func(all ...int) (gaps []time.Duration) {
		for _, n := range all {
			gaps = append(gaps, time.Duration(n)*time.Millisecond)
		}
		return gaps
	}
	r := rand.New(rand.NewPCG(1, 2))
	var random, instants []time.Duration
	at := time.Duration(0)
	for range 50 {
		random = append(random, time.Duration(r.IntN(1e9)))
		at += time.Duration(r.IntN(3)) * time.Second
		instants = append(instants, at)
	}
	for name, level := range map[string]load.Open{
		"rate":             load.Rate{PerSecond: 10},
		"rate, ramp":       load.Rate{PerSecond: 10, RampUp: 3 * time.Second},
		"intervals":        load.Intervals{Gaps: ms(100, 0, 300)},
		"intervals, twice": load.Intervals{Gaps: ms(100, 0, 300), Speed: 2},
		"random intervals": load.Intervals{Gaps: random, Speed: 0.5},
		"timetable":        load.Timetable{Offsets: ms(1000, 1000, 1500, 9000)},
		"timetable, half":  load.Timetable{Offsets: ms(1000, 1000, 1500, 9000), Speed: 0.5},
		"random timetable": load.Timetable{Offsets: instants},
		"all at once":      load.Timetable{Offsets: ms(7, 7)},
	} {
		s := level.Schedule()
		var dues []time.Duration
		for range 200 {
			due, ok := s.Next()
			if !ok {
				break
			}
			dues = append(dues, due)
		}
		for i, want := range dues {
			if got := level.Due(i + 1); (got - want).Abs() > time.Microsecond {
				t.Errorf("%s: request %d is due after %v, want %v", name, i+1, got, want)
			}
			within := 0
			for within < len(dues) && dues[within] <= want {
				within++
			}
			if got := level.DueWithin(want); within < len(dues) && got != within {
				t.Errorf("%s: %d requests within %v, want %d", name, got, want, within)
			}
		}
		if level.Due(0) != 0 {
			t.Errorf("%s: request 0 is due after %v", name, level.Due(0))
		}
	}
	if got := (load.Timetable{Offsets: ms(0, 5)}).Due(9); got != 5*time.Millisecond {
		t.Errorf("after the last request of a timetable: %v, want the instant of the last", got)
	}
}
