package recorder

import (
	"math"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/pa-tools/pa/pkg/export"
)

// What is done while it watches is in the numbers.
func TestProcessWatch(t *testing.T) {
	w := startProcessWatch()
	var before export.ClientMeta
	w.fill(&before)
	for range 3 {
		runtime.GC()
		w.look()
	}
	var files []*os.File
	for range 5 {
		f, err := os.Open(os.DevNull)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		files = append(files, f)
	}
	x := 1.0
	for i := range 5_000_000 {
		x += math.Sqrt(float64(i))
	}
	var m export.ClientMeta
	w.fill(&m)
	if m.DurationNS <= before.DurationNS || x == 0 {
		t.Errorf("duration %d, before %d", m.DurationNS, before.DurationNS)
	}
	if m.GC.Cycles < 3 || m.GC.PauseTotalNS <= 0 || m.GC.PauseMaxNS <= 0 || m.GC.PauseMaxNS > m.GC.PauseTotalNS {
		t.Errorf("GC %+v, want at least 3 cycles and their pauses", *m.GC)
	}
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		if m.CPU != nil || m.FDs != nil || m.MaxRSSBytes != 0 {
			t.Errorf("%+v: where do they come from?", m)
		}
		return
	}
	if got, want := m.FDs.Open, before.FDs.Open+len(files); got != want || m.FDs.Limit == 0 {
		t.Errorf("%d descriptors of %d, want %d", got, m.FDs.Limit, want)
	}
	if c := m.CPU; c.UserNS <= before.CPU.UserNS || c.Cores < 1 || c.Share <= 0 || c.Share > 1 {
		t.Errorf("CPU %+v", *c)
	}
	if m.MaxRSSBytes < 1<<20 {
		t.Errorf("%d bytes of memory", m.MaxRSSBytes)
	}
}

func TestWaitsPercentile(t *testing.T) {
	inf := math.Inf(1)
	for _, tt := range []struct {
		name   string
		counts []uint64
		bounds []float64
		pct    float64
		want   time.Duration
	}{
		{"none", []uint64{0, 0}, []float64{0, 1, 2}, 99, 0},
		{"nothing known", nil, nil, 99, 0},
		{"one", []uint64{0, 1}, []float64{0, 1, 2}, 50, 2 * time.Second},
		{"99 and 1", []uint64{99, 1}, []float64{0, 1e-6, 2}, 99, time.Microsecond},
		{"98 and 2", []uint64{98, 2}, []float64{0, 1e-6, 2}, 99, 2 * time.Second},
		{"open ends", []uint64{1, 0, 3}, []float64{-inf, 0, 1, inf}, 99, time.Second},
		{"in the lowest", []uint64{5, 0, 0}, []float64{-inf, 0, 1, inf}, 99, 0},
	} {
		if got := (waits{tt.counts, tt.bounds}).percentile(tt.pct); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
	d := waits{[]uint64{5, 7}, []float64{0, 1, 2}}.since(waits{[]uint64{5, 3}, []float64{0, 1, 2}})
	if got := d.percentile(1); got != 2*time.Second {
		t.Errorf("of what came since: %v, want 2s", got)
	}
	if got := readWaits(); len(got.counts) == 0 || len(got.bounds) != len(got.counts)+1 {
		t.Errorf("the runtime gives %d counts in %d bounds", len(got.counts), len(got.bounds))
	}
}
