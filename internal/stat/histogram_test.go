package stat

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// Buckets have no gaps between them, and each ends where it says.
func TestBuckets(t *testing.T) {
	for _, b := range []int{1, histogramBits, 12} {
		for i := range bucketOf(math.MaxInt64, b) {
			end := bucketEnd(i, b)
			if bucketOf(end, b) != i || bucketOf(end+1, b) != i+1 {
				t.Fatalf("%d bits: bucket %d ends at %d, which is in bucket %d; the next value in %d", b, i, end, bucketOf(end, b), bucketOf(end+1, b))
			}
		}
		if end := bucketEnd(bucketOf(math.MaxInt64, b), b); end != math.MaxInt64 {
			t.Errorf("%d bits: the last bucket ends at %d", b, end)
		}
	}
}

// exact is the percentile by its definition.
func exact(d []time.Duration, pct int) time.Duration {
	d = slices.Sorted(slices.Values(d))
	return d[max((len(d)*pct+99)/100, 1)-1]
}

func TestHistogram(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var all Histogram
	var every []time.Duration
	for _, n := range []int{1, 2, 99, 100, 101, 5000} {
		var s Histogram
		var d []time.Duration
		for range n {
			v := time.Duration(math.Exp(rnd.Float64() * 43)) // up to 150 years
			s.Add(v)
			d = append(d, v)
		}
		all.Merge(&s)
		every = append(every, d...)
		for _, x := range []struct {
			s *Histogram
			d []time.Duration
		}{{&s, d}, {&all, every}} {
			for _, pct := range []int{1, 50, 99, 100} {
				got, want := x.s.Percentile(pct), exact(x.d, pct)
				if got < want || got > want+want/64 {
					t.Errorf("p%d of %d: %d, want %d to 1/64 more", pct, len(x.d), got, want)
				}
			}
			if x.s.Len() != len(x.d) || x.s.Max() != slices.Max(x.d) {
				t.Errorf("%d durations up to %d, want %d up to %d", x.s.Len(), x.s.Max(), len(x.d), slices.Max(x.d))
			}
		}
	}
	all.Reset()
	if all.Len() != 0 || all.Percentile(50) != 0 {
		t.Error("not empty after reset")
	}
	all.Add(-5)
	if all.Percentile(99) != 0 || all.Max() != 0 || all.Len() != 1 {
		t.Errorf("a negative duration: %d up to %d, want 0", all.Percentile(99), all.Max())
	}
}
