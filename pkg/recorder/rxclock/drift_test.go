package rxclock

import (
	"context"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

const (
	start  = 1_800_000_000_000_000_000
	second = 1_000_000_000
)

// A wall is a wall clock: slewed by ppm of the run's clock since start, and
// set at some moments.
type wall struct {
	ppm  float64
	sets []Sample // at these times it is moved by that offset
}

func (w wall) offset(r uint64) int64 {
	offset := int64(w.ppm * 1e-6 * float64(r-start))
	for _, s := range w.sets {
		if r >= s.AtNS {
			offset += s.OffsetNS
		}
	}
	return offset
}

// drift samples the wall clock every second.
func (w wall) drift(seconds int) *Drift {
	d := NewDrift()
	for i := range seconds + 1 {
		at := start + uint64(i)*second
		d.Add(Sample{at, w.offset(at)})
	}
	return d
}

// Stamps come back to the moment at which they were taken, whatever the wall
// clock does.
func TestRunNS(t *testing.T) {
	const seconds = 60
	at := func(s float64) uint64 { return start + uint64(s*second) }
	tests := []struct {
		name  string
		wall  wall
		steps []int64 // sizes
	}{
		{"steady", wall{}, nil},
		{"slewed forward", wall{ppm: 500}, nil},
		{"slewed back", wall{ppm: -499.5}, nil},
		{"slewed a little", wall{ppm: 12.34}, nil},
		{"set forward", wall{sets: []Sample{{at(20.3), 5 * second}}}, []int64{5 * second}},
		{"set back", wall{sets: []Sample{{at(20.3), -5 * second}}}, []int64{-5 * second}},
		{"set back by more than the run", wall{sets: []Sample{{at(20.999), -3600 * second}}}, []int64{-3600 * second}},
		{"set by little", wall{sets: []Sample{{at(20.5), 3_000_000}}}, []int64{3_000_000}},
		{"leap second", wall{ppm: 3, sets: []Sample{{at(30.1), -second}}}, []int64{-second + 3000}},
		{"set twice, and slewed", wall{ppm: -80, sets: []Sample{{at(10.5), 40_000_000}, {at(11.5), -25_000_000}}}, []int64{40_000_000 - 80_000, -25_000_000 - 80_000}},
		{"less than a step", wall{sets: []Sample{{at(20), 900_000}}}, nil},
	}
	for _, tt := range tests {
		d := tt.wall.drift(seconds)
		var sizes []int64
		for _, s := range d.Steps() {
			sizes = append(sizes, s.SizeNS)
			if s.BeforeNS-s.AfterNS != second {
				t.Errorf("%s: step between %d and %d", tt.name, s.AfterNS, s.BeforeNS)
			}
		}
		if diff := cmp.Diff(tt.steps, sizes); diff != "" {
			t.Errorf("%s: steps (-want +got):\n%s", tt.name, diff)
		}
		r := rand.New(rand.NewPCG(1, 2))
		for range 20_000 {
			// Bounds that are tighter than the smallest step.
			when := uint64(start + r.Int64N(seconds*second))
			lo, hi := when-uint64(r.IntN(1_000_000)), when+uint64(r.IntN(1_000_000))
			stamp := uint64(int64(when) + tt.wall.offset(when))
			got, ok := d.RunNS(stamp, lo, hi)
			// Within a second with a step, slewing is not taken out.
			tolerance := int64(2)
			for _, s := range d.Steps() {
				if when >= s.AfterNS && when <= s.BeforeNS {
					tolerance = 1 + int64(second*1e-6*max(tt.wall.ppm, -tt.wall.ppm))
				}
			}
			if tt.name == "less than a step" && when > at(19)-1 && when < at(20)+1 {
				continue // taken for slewing
			}
			if diff := int64(got) - int64(when); diff > tolerance || diff < -tolerance || !ok {
				t.Fatalf("%s: stamp of %d, within -%d +%d: RunNS is off by %d ns, %v", tt.name, when, when-lo, hi-when, diff, ok)
			}
		}
	}
}

// Bounds that leave a choice make a stamp doubtful; so do bounds that no
// moment fits.
func TestRunNSDoubtful(t *testing.T) {
	forward := wall{sets: []Sample{{start + 10*second + second/2, 100_000_000}}}.drift(20)
	back := wall{sets: []Sample{{start + 10*second + second/2, -2 * second}}}.drift(20)
	tests := []struct {
		name          string
		d             *Drift
		stamp, lo, hi uint64 // after start
		want          uint64
		ok            bool
	}{
		{"before the step or after it", forward, 10*second + 300_000_000, 10 * second, 11 * second, 10*second + 300_000_000, false},
		{"bounds say before", forward, 10*second + 300_000_000, 10*second + 250_000_000, 11 * second, 10*second + 300_000_000, true},
		{"bounds say after", forward, 10*second + 300_000_000, 10 * second, 10*second + 250_000_000, 10*second + 200_000_000, true},
		{"the same wall clock time twice", back, 9*second + 500_000_000, 5 * second, 15 * second, 11*second + 500_000_000, false},
		{"the first time", back, 9*second + 500_000_000, 9 * second, 10 * second, 9*second + 500_000_000, true},
		{"the second time", back, 9*second + 500_000_000, 11 * second, 12 * second, 11*second + 500_000_000, true},
		{"later than can be", forward, 3 * second, 1 * second, 2 * second, 2 * second, false},
		{"earlier than can be", forward, 3 * second, 5 * second, 6 * second, 5 * second, false},
		{"no samples", NewDrift(), 3 * second, 2 * second, 4 * second, 3 * second, true},
		{"no samples, out of bounds", NewDrift(), 3 * second, 4 * second, 5 * second, 4 * second, false},
		{"before the first sample", forward, 0, 0, second, 0, true},
		{"after the last", forward, 25*second + 100_000_000, 24 * second, 26 * second, 25 * second, true},
		{"just out of bounds", forward, 3*second + 500, 2 * second, 3 * second, 3 * second, true},
	}
	for _, tt := range tests {
		if got, ok := tt.d.RunNS(start+tt.stamp, start+tt.lo, start+tt.hi); got != start+tt.want || ok != tt.ok {
			t.Errorf("%s: RunNS = start + %d, %v, want start + %d, %v", tt.name, int64(got-start), ok, tt.want, tt.ok)
		}
	}
}

func TestDriftAdd(t *testing.T) {
	d := NewDrift(Sample{start, 0}, Sample{start + second, 400_000})
	d.Add(Sample{start + second, 7})    // not later
	d.Add(Sample{start + second/2, 70}) // earlier
	want := []Sample{{start, 0}, {start + second, 400_000}}
	if diff := cmp.Diff(want, d.Samples()); diff != "" {
		t.Errorf("Samples (-want +got):\n%s", diff)
	}
	d.Add(Sample{start + 2*second, 400_000 + 1_500_000}) // 500 ppm and 1 ms
	if steps := d.Steps(); len(steps) != 0 {
		t.Errorf("steps: %+v", steps)
	}
	d.Add(Sample{start + 3*second, 400_000 + 1_500_000 - 1_500_001})
	if diff := cmp.Diff([]Step{{start + 2*second, start + 3*second, -1_500_001}}, d.Steps()); diff != "" {
		t.Errorf("Steps (-want +got):\n%s", diff)
	}
}

// Watch samples at once, each interval, and when it is told to end.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, d := New(), NewDrift()
		began := c.NowNS()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan bool)
		go func() { c.Watch(ctx, time.Second, d); close(done) }()
		time.Sleep(2500 * time.Millisecond)
		cancel()
		<-done
		want := []Sample{{began, 0}, {began + second, 0}, {began + 2*second, 0}, {began + 2*second + second/2, 0}}
		if diff := cmp.Diff(want, d.Samples()); diff != "" {
			t.Errorf("Samples (-want +got):\n%s", diff)
		}
	})
}

// A stamp of now is now, through a sample of the real clocks.
func TestSample(t *testing.T) {
	c := New()
	d := NewDrift(c.Sample())
	for range 1000 {
		before := c.NowNS()
		wall := uint64(time.Now().UnixNano())
		after := c.NowNS()
		if ns, ok := d.RunNS(wall, before, after); !ok {
			t.Fatalf("RunNS(%d) = %d, want it between %d and %d", wall, ns, before, after)
		}
	}
}

func BenchmarkRunNS(b *testing.B) {
	d := wall{ppm: 20}.drift(3600)
	stamp := uint64(start + 1800*second + second/3)
	b.ReportAllocs()
	for b.Loop() {
		d.RunNS(stamp, stamp-second/10, stamp+second/10)
	}
}
