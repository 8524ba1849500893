package answer

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/pkg/export"
)

// briefRequest returns a request whose responses a reader left out, and its derived values: three tokens, 10 ns
// apart, and the end 20 ns after the last of them.
func briefRequest() (*export.Request, *export.Derived) {
	d := &export.Derived{
		Streamed: new(true), TokenSource: "usage", InputTokens: export.IntOf(9), OutputTokens: export.IntOf(3), TimedTokens: export.IntOf(2), CachedTokens: export.IntOf(4),
		TTFT: export.IntOf(10), E2EL: export.IntOf(50), ITL: [][]int64{{10, 10}}, ITLEvents: export.IntOf(3),
		Responses: &export.ResponseSummary{N: 4, User: 4, First: 5, Last: 50},
	}
	return &export.Request{StartNS: 1 << 60, HasMeta: true, Status: export.StatusOK, Phase: export.PhaseMeasured, Summary: d.Responses}, d
}

// A number in a file that cannot be true is no measure, and all other measures stay.
func TestImpossible(t *testing.T) {
	t.Parallel()
	gaps := Quantity(ITL)
	for _, tt := range []struct {
		name   string
		change func(r *export.Request, d *export.Derived)
		want   []Wrong
		lost   []Metric // beside ITL
	}{
		{"nothing", func(*export.Request, *export.Derived) {}, nil, nil},
		{"first token after the end", func(_ *export.Request, d *export.Derived) { d.TTFT.V = 51 }, []Wrong{{Quantity(TTFT), 1, 51}}, []Metric{TTFT}},
		{"first token in 292 years", func(_ *export.Request, d *export.Derived) { d.TTFT.V = math.MaxInt64 }, []Wrong{{Quantity(TTFT), 1, math.MaxInt64}}, []Metric{TTFT}},
		{"end before the start", func(r *export.Request, _ *export.Derived) { r.Summary.Last = -1 }, []Wrong{{Quantity(E2EL), 1, -1}}, []Metric{E2EL}},
		{"end in more than a year", func(r *export.Request, _ *export.Derived) { r.Summary.Last = 1 << 55 }, []Wrong{{Quantity(E2EL), 1, 1 << 55}}, []Metric{E2EL}},
		{"gap below 0", func(_ *export.Request, d *export.Derived) { d.ITL = [][]int64{{10, -1}} }, []Wrong{{gaps, 1, -1}}, nil},
		{"both gaps below 0", func(_ *export.Request, d *export.Derived) { d.ITL = [][]int64{{-2, -1}} }, []Wrong{{gaps, 2, -2}, {Quantity(TPOT), 1, -3}}, []Metric{TTST, TPOT}},
		{"token after the end", func(_ *export.Request, d *export.Derived) { d.ITL = [][]int64{{10, 31}} }, []Wrong{{gaps, 1, 31}}, []Metric{TTST, TPOT}},
		{"gaps whose sum overflows", func(_ *export.Request, d *export.Derived) { d.ITL = [][]int64{{math.MaxInt64, math.MaxInt64}} }, []Wrong{{gaps, 1, math.MaxInt64}}, []Metric{TTST, TPOT}},
		{"gaps whose sum overflows below", func(_ *export.Request, d *export.Derived) { d.ITL = [][]int64{{math.MinInt64, math.MinInt64}} }, []Wrong{{gaps, 1, math.MinInt64}}, []Metric{TTST, TPOT}},
		{"output tokens below 0", func(_ *export.Request, d *export.Derived) { d.OutputTokens.V = -5 }, []Wrong{{Quantity(OutputTokens), 1, -5}}, []Metric{OutputTokens, TPOT}},
		{"2^40 output tokens", func(_ *export.Request, d *export.Derived) { d.OutputTokens.V = 1 << 40 }, []Wrong{{Quantity(OutputTokens), 1, 1 << 40}}, []Metric{OutputTokens, TPOT}},
		{"2^40 − 1 output tokens", func(_ *export.Request, d *export.Derived) { d.OutputTokens.V = 1<<40 - 1 }, nil, nil},
		{"input tokens below 0", func(_ *export.Request, d *export.Derived) { d.InputTokens.V = -5 }, []Wrong{{Quantity(InputTokens), 1, -5}}, []Metric{InputTokens}},
		{"more cached than input tokens", func(_ *export.Request, d *export.Derived) { d.CachedTokens.V = 10 }, []Wrong{{Quantity(CachedTokens), 1, 10}}, []Metric{CachedTokens}},
		{"cached tokens below 0", func(_ *export.Request, d *export.Derived) { d.CachedTokens.V = -1 }, []Wrong{{Quantity(CachedTokens), 1, -1}}, []Metric{CachedTokens}},
		{"start beyond int64", func(r *export.Request, _ *export.Derived) { r.StartNS = 1 << 63 }, []Wrong{{Times, 1, math.MinInt64}}, []Metric{TTFT, E2EL}},
		{"prefill below 0", func(_ *export.Request, d *export.Derived) { d.Server.Prefill = export.IntOf(-1) }, []Wrong{{Quantity(ServerPrefill), 1, -1}}, nil},
		{"queue in 292 years, 2^40 drafts", func(_ *export.Request, d *export.Derived) {
			d.Server.Queue, d.Server.DraftTokens = export.IntOf(math.MaxInt64), export.IntOf(1<<40)
			d.Server.SentNS = export.IntOf(math.MaxInt64) // an instant of another clock
		}, []Wrong{{Quantity(ServerQueue), 1, math.MaxInt64}, {ServerNumber, 1, 1 << 40}}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, d := briefRequest()
			tt.change(r, d)
			got := NewMeter(&export.Run{}, Config{}).MeasureDerived(r, d)
			if diff := cmp.Diff(tt.want, got.Wrong); diff != "" {
				t.Errorf("wrong numbers (-want +got):\n%s", diff)
			}
			for _, m := range []Metric{TTFT, TTST, E2EL, OutputTokens, InputTokens, CachedTokens} {
				if lost := slices.Contains(tt.lost, m); got.Value(m).OK == lost {
					t.Errorf("%v = %+v, missing should be %v", m, got.Value(m), lost)
				}
			}
			if _, ok := got.TPOT(); ok == slices.Contains(tt.lost, TPOT) {
				t.Errorf("TPOT is there: %v", ok)
			}
			if got.Server.Prefill.OK {
				t.Errorf("prefill %+v", got.Server.Prefill)
			}
		})
	}
}

// Times are within the run that pa-record states, and a minute around it. Other tools may use another clock.
func TestTimesOfRun(t *testing.T) {
	t.Parallel()
	const minute = 60_000_000_000
	meta := export.RunMeta{StartNS: 10 * minute, EndNS: 20 * minute}
	other := export.RunMeta{StartNS: meta.StartNS, EndNS: meta.EndNS, Import: &export.Import{Format: "f"}}
	for _, tt := range []struct {
		meta       *export.RunMeta
		start, end uint64
		want       bool
	}{
		{&meta, 10 * minute, 20 * minute, true},
		{&meta, 9 * minute, 21 * minute, true},
		{&meta, 9*minute - 1, 20 * minute, false},
		{&meta, 10 * minute, 21*minute + 1, false},
		{&other, 1, 21*minute + 1, true},
		{&export.RunMeta{StartNS: 10 * minute}, 1, 30 * minute, true}, // it was killed
		{nil, 1, 21*minute + 1, true},
		{nil, 1<<63 - 2, 1<<63 - 1, true},
		{nil, 1 << 63, 1<<63 + 1, false},
	} {
		r := &export.Request{StartNS: tt.start, NoOutputs: true, Responses: []export.Response{{RecvNS: tt.end}}}
		m := NewMeter(&export.Run{Meta: tt.meta}, Config{}).Measure(r)
		if got := m.E2EL.OK; got != tt.want || m.HasWrong(Times) == tt.want {
			t.Errorf("%+v, %d to %d: E2EL %+v, %+v", tt.meta, tt.start, tt.end, m.E2EL, m.Wrong)
		}
	}
}

// For any numbers in a file, each measure is within its bounds.
func TestBoundsHold(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	extreme := func() int64 {
		v := []int64{0, 10, math.MinInt64, -1 << 62, 1 << 40, 1 << 55, 1 << 62, math.MaxInt64}[random.IntN(8)]
		return v + random.Int64N(5) - 2
	}
	meter := NewMeter(&export.Run{}, Config{})
	for range 20_000 {
		r, d := briefRequest()
		for _, v := range []*int64{&d.TTFT.V, &d.OutputTokens.V, &d.InputTokens.V, &d.CachedTokens.V, &d.ITL[0][0], &d.ITL[0][1], &r.Summary.First, &r.Summary.Last} {
			if random.IntN(3) == 0 {
				*v = extreme()
			}
		}
		if random.IntN(4) == 0 {
			r.StartNS = uint64(extreme())
		}
		d.TTFAT = export.IntOf(extreme())
		m := meter.MeasureDerived(r, d)
		for x := TTFT; x < numMetrics; x++ {
			v := m.Value(x)
			most := int64(mostTokens)
			switch {
			case x == TTFT && m.E2EL.OK || x == TTFAT && m.E2EL.OK:
				most = m.E2EL.V
			case x == CachedTokens && m.InputTokens.OK:
				most = m.InputTokens.V
			case x.Unit() == Nanoseconds:
				most = export.LongestNS
			}
			if v.OK && (v.V < 0 || v.V > most) {
				t.Fatalf("%v = %d of %+v, %+v, %+v", x, v.V, r, r.Summary, d)
			}
		}
		if tpot, ok := m.TPOT(); ok && !(tpot >= 0 && tpot <= float64(export.LongestNS)) {
			t.Fatalf("TPOT = %v of %+v", tpot, d)
		}
		for _, gap := range m.Gaps {
			if gap < 0 || gap > export.LongestNS {
				t.Fatalf("gap %d of %+v", gap, d)
			}
		}
	}
}
