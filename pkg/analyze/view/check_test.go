package view

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/summary"
	"github.com/pa-tools/pa/pkg/answer"
)

// check reports what is wrong with a run, whatever it shows.
func check(t *testing.T, run *Run, rows int) {
	t.Helper()
	if len(run.Levels) != len(run.Report.Experiments) {
		t.Fatalf("%d levels of %d experiments", len(run.Levels), len(run.Report.Experiments))
	}
	kept, total := 0, 0
	for i := range run.Levels {
		l := &run.Levels[i]
		if l.Experiment != &run.Report.Experiments[i] {
			t.Errorf("level %d: another experiment", i)
		}
		checkDistributions(t, l)
		for k := range l.Series {
			checkSeries(t, &l.Series[k])
		}
		for _, h := range []*Heatmap{&l.GapsByTime, &l.GapsByPosition} {
			checkHeatmap(t, h, l.Experiment)
		}
		if len(l.Prompts) > mostPrompts {
			t.Errorf("level %d: %d prompts", i, len(l.Prompts))
		}
		checkRequests(t, l)
		kept += len(l.Requests)
		total += len(l.Requests) + l.LeftOut + l.Timeless
		for k := range l.Requests {
			if l.Requests[k].Lane == Absent {
				total--
			}
		}
		if (l.LeftOut > 0) != (l.Sampling != "") {
			t.Errorf("level %d: %d left out, %q", i, l.LeftOut, l.Sampling)
		}
	}
	most := 2 * rows
	if slices.ContainsFunc(run.Levels, func(l Level) bool { return l.LeftOut > 0 }) {
		most = rows
	}
	if kept > most || total != run.Report.Requests {
		t.Errorf("%d requests kept of %d, at most %d; the report has %d", kept, total, most, run.Report.Requests)
	}
	for k := range run.Telemetry {
		checkSeries(t, &run.Telemetry[k])
	}
}

// checkDistributions compares distributions with the report.
func checkDistributions(t *testing.T, l *Level) {
	t.Helper()
	for _, d := range l.Distributions {
		s := l.Experiment.Metric(d.Metric)
		if s != d.Summary || s.Curve == nil {
			t.Fatalf("%v: another summary", d.Metric)
		}
		for i, p := range summary.Levels {
			k := slices.Index(summary.CurveLevels[:], p)
			if k < 0 {
				t.Fatalf("p%v is not among CurveLevels", p)
			}
			if s.Curve.At(k) != s.Pct[i] {
				t.Errorf("%v p%v: %v, the report has %v", d.Metric, p, s.Curve.At(k), s.Pct[i])
			}
		}
		if s.Curve[0] != s.Min || s.Curve[len(s.Curve)-1] != s.Max || !slices.IsSorted(s.Curve[:]) {
			t.Errorf("%v: from %v to %v", d.Metric, s.Curve[0], s.Curve[len(s.Curve)-1])
		}
	}
}

func checkSeries(t *testing.T, s *Series) {
	t.Helper()
	if len(s.AtNS) == 0 || len(s.AtNS) != len(s.Value) || !slices.IsSorted(s.AtNS) || s.Key == "" || s.Label == "" {
		t.Errorf("%s: %d times, %d values", s.Key, len(s.AtNS), len(s.Value))
	}
	most := mostPoints
	if s.BinNS != 0 {
		most = mostBins
	}
	if len(s.AtNS) > most {
		t.Errorf("%s: %d points", s.Key, len(s.AtNS))
	}
	for i, v := range s.Value {
		if math.IsInf(v, 0) || v < 0 && s.Source == "" && s.Key != TTFTMedian && s.Key != TTFTMax {
			t.Errorf("%s: value %v", s.Key, v)
		}
		if i > 0 && s.BinNS != 0 && s.AtNS[i]-s.AtNS[i-1] != s.BinNS {
			t.Errorf("%s: bins of %d ns, %d apart", s.Key, s.BinNS, s.AtNS[i]-s.AtNS[i-1])
		}
	}
	if s.Key == InFlight && s.Value[len(s.Value)-1] != 0 {
		t.Errorf("%v requests in flight at the end", s.Value[len(s.Value)-1])
	}
}

func checkHeatmap(t *testing.T, h *Heatmap, e *analyze.Experiment) {
	t.Helper()
	if h.N == 0 {
		if len(h.X)+len(h.Y)+len(h.Counts) != 0 {
			t.Errorf("empty heat map %+v", h)
		}
		return
	}
	sum, most := int64(0), uint32(0)
	for column := range len(h.X) - 1 {
		for row := range len(h.Y) - 1 {
			n := h.At(column, row)
			sum += int64(n)
			most = max(most, n)
		}
	}
	itl := e.Metric(answer.ITL)
	if sum != h.N || most != h.Most || !slices.IsSorted(h.X) || !slices.IsSorted(h.Y) || itl == nil || h.N > int64(itl.N) {
		t.Errorf("heat map of %d values, at most %d: %+v", sum, most, h)
	}
}

// checkRequests checks that requests are in order, that lanes hold one at a time, and that the parts of a
// request follow one another.
func checkRequests(t *testing.T, l *Level) {
	t.Helper()
	ends := map[int]int64{}
	for i := range l.Requests {
		r := l.Requests[i]
		if r.Lane == Absent {
			if r.EndNS != Absent || r.Excluded != "failed" {
				t.Errorf("request without a lane: %+v", r)
			}
			continue
		}
		begin := r.BeginNS()
		if begin < l.FromNS || r.EndNS > l.ToNS || begin > r.EndNS && r.StartNS != begin || r.Lane >= l.Lanes || r.Lane < 0 {
			t.Errorf("level from %d to %d, %d lanes: %+v", l.FromNS, l.ToNS, l.Lanes, r)
		}
		if end, ok := ends[r.Lane]; ok && begin < end {
			t.Errorf("lane %d: %+v begins before %d", r.Lane, r, end)
		}
		ends[r.Lane] = max(begin, r.EndNS)
		last := begin
		for _, at := range []int64{r.FirstNS, r.LastTokenNS} {
			if at != Absent && (at < last || at > r.EndNS) {
				t.Errorf("parts of %+v", r)
			}
			last = max(last, at)
		}
	}
	begin := func(r *Request) int64 {
		if r.Lane == Absent {
			return math.MaxInt64
		}
		return r.BeginNS()
	}
	if !slices.IsSortedFunc(l.Requests, func(a, b *Request) int { return cmp.Compare(begin(a), begin(b)) }) {
		t.Errorf("requests are not in the order of their begins")
	}
}
