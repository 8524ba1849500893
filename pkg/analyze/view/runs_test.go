package view

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pa-tools/pa/internal/test/golden"
	"github.com/pa-tools/pa/internal/test/memrun"
	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/profilejson"
	"github.com/pa-tools/pa/pkg/export/shards"
)

// keys returns the keys of the series of a level.
func keys(l *Level) (all []string) {
	for i := range l.Series {
		all = append(all, l.Series[i].Key)
	}
	return all
}

// Unusual runs give what they have, and no more.
func TestUnusual(t *testing.T) {
	failed := export.Request{HasMeta: true, ID: 3, Status: export.StatusTimeout, Message: "no"}
	failedAt := failed
	failedAt.IssuedNS, failedAt.FailedNS = 1e9, 2e9
	body := memrun.OpenAI(`{"object":"chat.completion","choices":[{"index":0,"message":{"content":"a b"}}],"usage":{"prompt_tokens":4,"completion_tokens":2}}`)
	damaged := memrun.At(math.MaxUint64-5, math.MaxUint64)
	for _, tt := range []struct {
		name     string
		kind     string
		levels   [][]export.Request
		series   string
		requests int // in the first level
		timeless int
		metrics  string
		prompts  int
		origin   uint64
	}{
		{name: "no level"},
		{name: "no request", levels: [][]export.Request{{}, {}}},
		{name: "one request", levels: [][]export.Request{{memrun.At(1e9, 2e9, 3e9)}}, series: "in_flight output_tokens_per_s requests_per_s ttft_p50 ttft_max", requests: 1, metrics: "ttft itl tpot e2el", origin: 1e9},
		{name: "undecided", levels: [][]export.Request{{memrun.At(1e9, 2e9)}}, series: "in_flight requests_per_s", requests: 1, metrics: "e2el", origin: 1e9},
		{name: "undecided beside a stream", levels: [][]export.Request{{memrun.At(2e9, 3e9), memrun.At(1e9, 2e9, 3e9)}}, series: "in_flight output_tokens_per_s requests_per_s ttft_p50 ttft_max", requests: 2, metrics: "ttft itl tpot e2el", origin: 1e9},
		{name: "not streamed", kind: "openai", levels: [][]export.Request{{body}}, series: "in_flight output_tokens_per_s requests_per_s", requests: 1, metrics: "e2el", origin: 1000},
		{name: "failed without a time", levels: [][]export.Request{{failed, failed}}, requests: 2, timeless: 2},
		{name: "failed before they left", levels: [][]export.Request{{failedAt}}, series: "failures_per_s", requests: 1, origin: 1e9},
		{name: "a damaged time", levels: [][]export.Request{{memrun.At(1e9, 2e9, 3e9), damaged}}, series: "in_flight output_tokens_per_s requests_per_s ttft_p50 ttft_max", requests: 1, timeless: 1, metrics: "ttft itl tpot e2el", origin: 1e9},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := memrun.New(tt.kind, tt.levels...)
			run := collect(t, r, Config{})
			check(t, run, defaultRows)
			if run.OriginNS != tt.origin {
				t.Errorf("origin %d", run.OriginNS)
			}
			if len(run.Levels) != len(tt.levels) {
				t.Fatalf("%d levels", len(run.Levels))
			}
			if len(run.Levels) == 0 {
				return
			}
			l := &run.Levels[0]
			if got := strings.Join(keys(l), " "); got != tt.series {
				t.Errorf("series %s, want %s", got, tt.series)
			}
			var metrics []string
			for _, d := range l.Distributions {
				metrics = append(metrics, d.Metric.String())
			}
			if got := strings.Join(metrics, " "); got != tt.metrics {
				t.Errorf("distributions of %s, want %s", got, tt.metrics)
			}
			if len(l.Requests) != tt.requests || l.Timeless != tt.timeless {
				t.Errorf("%d requests, %d timeless", len(l.Requests), l.Timeless)
			}
			if tt.series == "" && (l.FromNS != Absent || l.ToNS != Absent) {
				t.Errorf("from %d to %d", l.FromNS, l.ToNS)
			}
		})
	}
}

// Rates by hand: bins of 2 s of a run of 40 s would do, but few events make bins wider until there are
// fewer than 2·fewBins. What counts is the sum.
func TestRates(t *testing.T) {
	first := memrun.OpenAI(memrun.Delta("a"), memrun.Delta("b"), memrun.Usage5) // 5 tokens in 2 events
	for i, s := range []uint64{10, 20, 21} {
		first.Responses[i].RecvNS = s * 1e9
	}
	first.StartNS = 1e9
	body := memrun.OpenAI(`{"object":"chat.completion","choices":[{"index":0,"message":{"content":"a b"}}],"usage":{"prompt_tokens":4,"completion_tokens":7}}`)
	body.StartNS, body.Responses[0].RecvNS = 2e9, 41e9
	run := collect(t, memrun.New("openai", []export.Request{first, body}), Config{})
	l := &run.Levels[0]
	tokens := series(t, l, OutputTokens)
	want := map[int64]float64{9e9: 2.5, 19e9: 2.5, 40e9: 7} // at the events, from the first start
	for i, v := range tokens.Value {
		got := v * float64(tokens.BinNS) / 1e9
		for at, n := range want {
			if at >= tokens.AtNS[i] && at < tokens.AtNS[i]+tokens.BinNS {
				if math.Abs(got-n) > 1e-9 {
					t.Errorf("%v tokens at %d, want %v", got, at, n)
				}
				got = 0
				delete(want, at)
			}
		}
		if got != 0 {
			t.Errorf("%v tokens at %d", got, tokens.AtNS[i])
		}
	}
	if len(want) > 0 {
		t.Errorf("no tokens at %v", want)
	}
	if n := len(tokens.AtNS); n < fewBins || n >= 2*fewBins+1 {
		t.Errorf("%d bins", n)
	}
	done := series(t, l, Completed)
	sum := 0.0
	for _, v := range done.Value {
		sum += v * float64(done.BinNS) / 1e9
	}
	if math.Abs(sum-2) > 1e-9 {
		t.Errorf("%v requests completed", sum)
	}
	ttft := series(t, l, TTFTMax)
	known := 0
	for i, v := range ttft.Value {
		switch {
		case math.IsNaN(v):
		case v == 9e9 && ttft.AtNS[i] <= 0 && ttft.AtNS[i]+ttft.BinNS > 0:
			known++
		default:
			t.Errorf("TTFT %v at %d", v, ttft.AtNS[i])
		}
	}
	if known != 1 {
		t.Errorf("%d bins with a TTFT", known)
	}
}

// A bin has the median and the maximum TTFT of the requests that start in it. 40 requests with a TTFT
// of 1 to 40 ms, in any order, start at about one time, and one request starts far later.
func TestFirstTokens(t *testing.T) {
	var all []export.Request
	for i := range uint64(40) {
		start := 1e9 + i
		all = append(all, memrun.At(start, start+(i*7%40+1)*1e6, start+1e9))
	}
	all = append(all, memrun.At(11e9, 11.5e9, 12e9))
	run := collect(t, memrun.New("", all), Config{})
	median, most := series(t, &run.Levels[0], TTFTMedian), series(t, &run.Levels[0], TTFTMax)
	if median.Value[0] != 20.5e6 || most.Value[0] != 40e6 {
		t.Errorf("first bin: %v, %v", median.Value[0], most.Value[0])
	}
	for i := range median.Value {
		holds := 10e9 >= float64(median.AtNS[i]) && 10e9 < float64(median.AtNS[i]+median.BinNS)
		if holds && (median.Value[i] != 0.5e9 || most.Value[i] != 0.5e9) || !holds && i > 0 && !math.IsNaN(median.Value[i]) {
			t.Errorf("bin at %d: %v, %v", median.AtNS[i], median.Value[i], most.Value[i])
		}
	}
}

// Cached tokens are absent unless stated, and a stated 0 is 0.
func TestCached(t *testing.T) {
	usage := func(details string) export.Request {
		return memrun.OpenAI(memrun.Delta("a"), memrun.Delta("b"), `data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2`+details+`}}`+"\n\n")
	}
	run := collect(t, memrun.New("openai", []export.Request{
		usage(""), usage(`,"prompt_tokens_details":{"cached_tokens":0}`), usage(`,"prompt_tokens_details":{"cached_tokens":6}`),
	}), Config{})
	want := []Prompt{{9, 6, 10}, {9, Absent, 10}, {9, 0, 10}}
	if d := cmp.Diff(want, run.Levels[0].Prompts); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	var cached []int64
	for _, r := range run.Levels[0].Requests {
		cached = append(cached, r.CachedTokens)
	}
	if d := cmp.Diff([]int64{Absent, 0, 6}, cached); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// Each rank has lanes of its own.
func TestRanks(t *testing.T) {
	var all []export.Request
	for rank := range 3 {
		for i := range uint64(4) {
			q := memrun.At(1e9+i*10, 1e9+i*10+25)
			q.Rank, q.Worker, q.HasMeta, q.ID = rank, int(i%3), true, i
			all = append(all, q)
		}
	}
	r := memrun.New("", all)
	r.Header.Meta = &export.RunMeta{Merged: &export.MergedMeta{}}
	run := collect(t, r, Config{})
	check(t, run, defaultRows)
	l := &run.Levels[0]
	if l.Lanes != 9 {
		t.Errorf("%d lanes", l.Lanes)
	}
	for i := range l.Requests {
		if q := l.Requests[i]; q.Lane != 3*q.Rank+q.Slot {
			t.Errorf("rank %d, slot %d: lane %d", q.Rank, q.Slot, q.Lane)
		}
	}
	if flight := series(t, l, InFlight); cmp.Diff([]float64{3, 6, 9, 6, 9, 6, 3, 0}, flight.Value) != "" {
		t.Errorf("in flight %v", flight.Value)
	}
}

// The start that the file states is the origin, unless it cannot be.
func TestOrigin(t *testing.T) {
	for _, tt := range []struct{ stated, want uint64 }{{5e8, 5e8}, {1.5e9, 1e9}, {0, 1e9}, {5e18, 1e9}} {
		r := memrun.New("", []export.Request{memrun.At(2e9, 3e9, 4e9), memrun.At(1e9, 3e9)})
		r.Header.Meta = &export.RunMeta{StartNS: tt.stated}
		run := collect(t, r, Config{})
		l := &run.Levels[0]
		if run.OriginNS != tt.want || len(l.Requests) != 2 || l.Requests[0].StartNS != int64(1e9-tt.want) || l.FromNS != int64(1e9-tt.want) {
			t.Errorf("stated %d: origin %d, from %d, %+v", tt.stated, run.OriginNS, l.FromNS, l.Requests)
		}
	}
}

// Gauges as they are, in the unit of the report, growth of counters a second. Series without a figure are not there,
// and leave their place to others.
func TestTelemetry(t *testing.T) {
	gauge := &export.Series{Name: "DCGM_FI_DEV_GPU_UTIL", Type: "gauge"}
	counter := &export.Series{Name: "vllm:generation_tokens_total", Type: "counter"}
	other := &export.Series{Name: "x", Labels: []export.Label{{Name: "a", Value: "b"}}}
	bucket := &export.Series{Name: "ttft_bucket", Type: "histogram"}
	r := memrun.New("", []export.Request{memrun.At(2e9, 3e9)})
	for i, v := range []float64{100, 150, 140, math.NaN(), 160} {
		at := uint64(i+1) * 1e9
		r.Telemetry = append(r.Telemetry, export.Scrape{Source: "http://a/metrics", StartNS: at, EndNS: at + 2000, Samples: []export.Sample{
			{Series: gauge, Value: v}, {Series: counter, Value: v}, {Series: other, Value: 1}, {Series: bucket, Value: 1},
		}})
	}
	r.Telemetry = append(r.Telemetry, export.Scrape{Source: "http://a/metrics", StartNS: 5e9, EndNS: 5e9, Error: "no"}, export.Scrape{Source: "b", StartNS: 5e18, EndNS: 5e18, Samples: []export.Sample{{Series: gauge}}})
	run := collect(t, r, Config{})
	at := []int64{-1e9 + 1000, 1000, 1e9 + 1000, 2e9 + 1000, 3e9 + 1000}
	want := []Series{
		{Key: "DCGM_FI_DEV_GPU_UTIL", Label: "DCGM_FI_DEV_GPU_UTIL", Unit: "ratio", Quantity: "GPU utilization", Source: "http://a/metrics", AtNS: []int64{at[0], at[1], at[2], at[4]}, Value: []float64{1, 1.5, 1.4000000000000001, 1.6}},
		{Key: "vllm:generation_tokens_total", Label: "vllm:generation_tokens_total per second", Unit: "count/s", Quantity: "output tokens", Source: "http://a/metrics", AtNS: at[:1], Value: []float64{50}},
	}
	if d := cmp.Diff(want, run.Telemetry, cmpopts.EquateApprox(1e-15, 0)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// A run without requests shows its telemetry.
func TestTelemetryAlone(t *testing.T) {
	r := memrun.New("")
	r.Telemetry = []export.Scrape{{Source: "b", StartNS: 7e9, EndNS: 7e9, Samples: []export.Sample{{Series: &export.Series{Name: "vllm:num_requests_running"}, Value: 2}}}}
	for i := range MostSeries + 3 {
		r.Telemetry[0].Samples = append(r.Telemetry[0].Samples, export.Sample{Series: &export.Series{Name: fmt.Sprint("g", i)}})
	}
	run := collect(t, r, Config{})
	if run.OriginNS != 7e9 || len(run.Telemetry) != 1 || run.Telemetry[0].AtNS[0] != 0 {
		t.Errorf("origin %d, %+v", run.OriginNS, run.Telemetry)
	}
}

// wild returns requests with times and numbers that may be anything.
func wild(rng *rand.Rand) []export.Request {
	var all []export.Request
	time := func() uint64 {
		switch rng.IntN(12) {
		case 0:
			return 0
		case 1:
			return rng.Uint64()
		case 2:
			return math.MaxUint64 - rng.Uint64N(3)
		}
		return 1e18 + rng.Uint64N(1<<rng.IntN(50))
	}
	for i := range rng.IntN(60) {
		q := export.Request{ID: uint64(i), NoOutputs: true, HasMeta: rng.IntN(2) == 0, StartNS: time(), Worker: rng.IntN(9) - 2, Rank: rng.IntN(2)}
		if rng.IntN(3) == 0 {
			q.ScheduledNS, q.IssuedNS, q.SentNS, q.FailedNS = time(), time(), time(), time()
			q.Connect, q.TLS = timeDuration(rng), timeDuration(rng)
		}
		if rng.IntN(5) == 0 {
			q.Status = export.StatusTimeout
		}
		for range rng.IntN(6) {
			q.Responses = append(q.Responses, export.Response{RecvNS: time()})
		}
		all = append(all, q)
	}
	return all
}

func timeDuration(rng *rand.Rand) time.Duration { return time.Duration(rng.Int64N(1 << 40)) }

// For any times, nothing panics, and everything that is shown is in order.
func TestWild(t *testing.T) {
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 7))
		r := memrun.New("", wild(rng), wild(rng))
		r.Header.Meta = &export.RunMeta{StartNS: rng.Uint64() >> rng.IntN(64)}
		run := collect(t, r, Config{Rows: 20, Analyze: analyze.Config{From: answer.From(rng.IntN(4))}})
		for i := range run.Levels {
			l := &run.Levels[i]
			for k := range l.Series {
				checkSeries(t, &l.Series[k])
			}
			checkRequests(t, l)
			checkHeatmap(t, &l.GapsByTime, l.Experiment)
			checkHeatmap(t, &l.GapsByPosition, l.Experiment)
			checkDistributions(t, l)
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// An alternating reader reads a request of each level in turn.
type alternating struct {
	*memrun.Reader
	level, at int
}

func (r *alternating) Next() bool {
	for range 2 * len(r.Requests) {
		if r.level++; r.level >= len(r.Requests) {
			r.level, r.at = 0, r.at+1
		}
		if r.at < len(r.Requests[r.level]) {
			return true
		}
	}
	return false
}

func (r *alternating) Request() *export.Request { return &r.Requests[r.level][r.at] }
func (r *alternating) Experiment() int          { return r.level }

// Levels are as in runs of their own, whether their requests come one level after the other or in turn: only the
// level of the last request has bins.
func TestLevelsInTurn(t *testing.T) {
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 9))
		run := func(requests ...[]export.Request) *memrun.Reader {
			r := memrun.New("", requests...)
			r.Header.Meta = &export.RunMeta{StartNS: 1e18}
			return r
		}
		var levels [][]export.Request
		var want []Level
		for range 3 {
			requests := append(manyRequests(rng, 30, 3, 1e18), wild(rng)...) // a damaged time that comes first moves the anchor
			for i := range requests {
				requests[i].ID, requests[i].HasMeta = uint64(i), true
			}
			alone := collect(t, run(requests), Config{})
			if alone.OriginNS == 1e18 { // else a damaged time is less than a year too early
				levels, want = append(levels, requests), append(want, alone.Levels...)
			}
		}
		for _, r := range []export.Reader{run(levels...), &alternating{run(levels...), -1, 0}} {
			if d := difference(want, collect(t, r, Config{}).Levels); d != "" {
				t.Fatalf("seed %d, %T (-alone +together):\n%s", seed, r, d)
			}
		}
	}
}

// A small level takes memory by what it holds, not bins for the longest one.
func TestMemoryOfLevels(t *testing.T) {
	testenv.NoRace(t)
	const metrics = float64(answer.NumStrict) * 1.05e3 // their samples and summaries
	for part, most := range map[Part]float64{
		0: 31e3 + metrics, PartFigures: 9e3 + metrics, PartCurves: 9e3 + metrics, PartSeries: 22.5e3 + metrics, PartHeatmaps: 14.5e3 + metrics, PartPrompts: 9e3 + metrics, PartRequests: 10.5e3 + metrics,
	} {
		each := memrun.AllocatedByEach(func(n int) { collect(t, memrun.Levels(n), Config{Parts: part}) })
		each -= memrun.AllocatedByEach(func(n int) { memrun.Levels(n) }) // the requests are the test's
		if each > most {
			t.Errorf("part %d: a level takes %.0f bytes, want at most %.0f", part, each, most)
		}
	}
}

// A run has the parts that were asked for, as in a run with all of them, and no others.
func TestParts(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 8))
	stated := memrun.OpenAI(memrun.Delta("a"), memrun.Usage5)
	requests := append(manyRequests(rng, 100, 5, 1e9), stated)
	collected := func(parts Part) *Level { return &collect(t, memrun.New("", requests), Config{Parts: parts}).Levels[0] }
	all := collected(0)
	if len(all.Series) == 0 || all.GapsByTime.N == 0 || all.GapsByPosition.N == 0 || len(all.Prompts) == 0 || len(all.Requests) == 0 || all.Lanes == 0 {
		t.Fatalf("%d series, %d and %d gaps, %d prompts, %d requests in %d lanes", len(all.Series), all.GapsByTime.N, all.GapsByPosition.N, len(all.Prompts), len(all.Requests), all.Lanes)
	}
	for part := PartFigures; part < allParts; part <<= 1 {
		got := collected(part)
		want := Level{Experiment: all.Experiment, FromNS: all.FromNS, ToNS: all.ToNS, Distributions: got.Distributions, Prompts: []Prompt{}, Requests: []*Request{}}
		switch part {
		case PartSeries:
			want.Series = all.Series
		case PartHeatmaps:
			want.GapsByTime, want.GapsByPosition = all.GapsByTime, all.GapsByPosition
		case PartPrompts:
			want.Prompts, want.PromptsLeftOut = all.Prompts, all.PromptsLeftOut
		case PartRequests:
			want.Requests, want.LeftOut, want.Sampling, want.Lanes = all.Requests, all.LeftOut, all.Sampling, all.Lanes
		}
		if d := difference([]Level{want}, []Level{*got}); d != "" {
			t.Errorf("part %d (-want +got):\n%s", part, d)
		}
		if d := &got.Distributions[0]; (d.Summary.Curve != nil) != (part == PartCurves) {
			t.Errorf("part %d: curve of %d", part, len(d.Summary.Curve))
		}
	}
}

// Exact percentiles stay exact when the values do not fit in memory.
func TestLittleMemory(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	requests := manyRequests(rng, 20_000/testenv.Stride(5), 10, 1e9)
	whole := collect(t, memrun.New("", requests), Config{})
	little := collect(t, memrun.New("", requests), Config{Analyze: analyze.Config{ValueMemory: 1000}})
	check(t, little, defaultRows)
	if d := difference(whole.Levels, little.Levels); d != "" {
		t.Errorf("(-whole +little):\n%s", d)
	}
}

// difference returns how levels differ, "" if they do not. It compares the experiments of reports
// only by their numbers of good requests and metrics.
func difference(want, got []Level, more ...cmp.Option) string {
	options := cmp.Options{
		cmpopts.EquateNaNs(), cmp.Comparer(func(a, b *analyze.Experiment) bool { return a.OK == b.OK && len(a.Metrics) == len(b.Metrics) }),
		cmp.Options(more),
	}
	// Package cmp compares the elements of long slices one by one, which takes many times as long
	// as a comparison of whole slices.
	fast := cmp.Options{
		options,
		cmp.Comparer(func(a, b Heatmap) bool { return reflect.DeepEqual(a, b) }),
		cmp.Comparer(func(a, b *Request) bool { return reflect.DeepEqual(a, b) }),
		cmp.Comparer(func(a, b []Prompt) bool { return reflect.DeepEqual(a, b) }),
		cmp.Comparer(func(a, b []int64) bool { return reflect.DeepEqual(a, b) }),
		cmp.Comparer(func(a, b []float64) bool {
			return (a == nil) == (b == nil) && slices.EqualFunc(a, b, func(x, y float64) bool { return x == y || math.IsNaN(x) && math.IsNaN(y) })
		}),
	}
	if cmp.Equal(want, got, fast) {
		return ""
	}
	return cmp.Diff(want, got, options)
}

// The levels of a file are the same whether its reader gives batches or single requests, and
// whether or not the analysis keeps all requests.
func TestFile(t *testing.T) {
	requests := []export.Request{}
	rng := rand.New(rand.NewPCG(5, 1))
	at := uint64(1e18)
	for i := range uint64(300) {
		at += rng.Uint64N(1e7)
		q := memrun.OpenAI(memrun.Role, memrun.Delta("a"), memrun.Delta("b"), memrun.Delta("c"), memrun.Usage5, memrun.Done)
		q.HasMeta, q.ID, q.Status, q.StartNS, q.Worker = true, i+1, export.StatusOK, at, int(i%4)
		q.IssuedNS, q.Connect = at-rng.Uint64N(1e6), time.Duration(rng.Int64N(1e6))
		last := at
		for k := range q.Responses {
			last += rng.Uint64N(1e7)
			q.Responses[k].RecvNS = last
		}
		if i%50 == 7 {
			q = export.Request{HasMeta: true, ID: i + 1, StartNS: at, FailedNS: at + 5, Status: export.StatusTimeout, Message: "late"}
		}
		requests = append(requests, q)
	}
	kind, endpoint, streaming := "openai", "v1/chat/completions", true
	header := &export.Run{ServiceKind: &kind, Endpoint: &endpoint, Meta: &export.RunMeta{Schema: export.Schema, Tool: "x", Streaming: &streaming, StartNS: 1e18 - 5}}
	var file bytes.Buffer
	w := profilejson.NewWriter(&file)
	err := w.BeginExperiment(export.ModeConcurrency, "4")
	for i := range requests {
		err = errors.Join(err, w.WriteRequest(&requests[i]))
	}
	if err := errors.Join(err, w.EndExperiment(&export.Experiment{}), w.Close(header)); err != nil {
		t.Fatal(err)
	}
	want := collect(t, open(t, file.Bytes()), Config{})
	check(t, want, defaultRows)
	if l := &want.Levels[0]; len(l.Requests) != 300 || l.GapsByTime.N != 294*2 || l.GapsByPosition.N != 294*2 {
		t.Errorf("%d requests, %d and %d gaps", len(l.Requests), l.GapsByTime.N, l.GapsByPosition.N)
	}
	for name, run := range map[string]*Run{
		"kept": collect(t, open(t, file.Bytes()), Config{Analyze: analyze.Config{Series: true}}),
		"part": collect(t, open(t, file.Bytes()), Config{Analyze: analyze.Config{Selection: analyze.Selection{TrimStart: analyze.Trim{Share: 0}, TrimEnd: analyze.Trim{Share: 1e-9}}}}),
		"one":  collect(t, oneByOne{open(t, file.Bytes())}, Config{}),
	} {
		if d := difference(want.Levels, run.Levels, cmpopts.IgnoreFields(Level{}, "Distributions"), cmpopts.IgnoreSliceElements(func(s Series) bool { return name == "part" && strings.HasPrefix(s.Key, "ttft") })); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

// oneByOne is a reader without batches.
type oneByOne struct{ export.Reader }

// The result files of other tools show what they hold. A file without the times of its requests shows
// nothing over time.
func TestForeign(t *testing.T) {
	peers := golden.FS(t, "peers")
	untimed := 0
	for _, name := range []string{
		"aiperf/ok/profile_export.jsonl", "aiperf/ok/profile_export_raw.jsonl", "infperf/ok/reports/per_request_lifecycle_metrics.json",
		"guidellm/ok/benchmarks.json", "vllm/ok/result.json", "vllm_rs/ok/result.json", "sglang/ok/result.jsonl", "sglang_rs/ok/result.jsonl",
	} {
		t.Run(name, func(t *testing.T) {
			data, err := fs.ReadFile(peers, name)
			if err != nil {
				t.Fatal(err)
			}
			run := collect(t, open(t, data), Config{})
			check(t, run, defaultRows)
			if len(run.Levels) == 0 {
				t.Fatal("no level")
			}
			for i := range run.Levels {
				l := &run.Levels[i]
				_, lacks := run.Report.Run.Lacks(export.PartStarts)
				if lacks != (l.Untimed != "") || lacks && (len(l.Series) > 0 || l.GapsByTime.N > 0) || !lacks && len(l.Series) == 0 {
					t.Errorf("untimed: %q, series %v", l.Untimed, keys(l))
				}
				if lacks {
					untimed++
				}
				if len(l.Requests) == 0 || len(l.Distributions) == 0 {
					t.Errorf("%d requests, %d distributions", len(l.Requests), len(l.Distributions))
				}
			}
		})
	}
	if untimed == 0 {
		t.Error("no file lacks the times of its requests")
	}
}

// All recorded exports give sensible runs.
func TestRecorded(t *testing.T) {
	exports, _ := golden.ProfileExports(t)
	for name, data := range exports {
		run, err := Collect(t.Context(), open(t, data), Config{Name: name, Rows: 100})
		if err != nil {
			continue // a file that breaks off; it is read as far as it goes
		}
		for i := range run.Levels {
			l := &run.Levels[i]
			checkDistributions(t, l)
			checkRequests(t, l)
			for k := range l.Series {
				checkSeries(t, &l.Series[k])
			}
		}
		if t.Failed() {
			t.Fatal(name)
		}
	}
}

// The error of the reader and the end of the context come back, with what was read.
func TestErrors(t *testing.T) {
	full := errors.New("full")
	r := memrun.New("", []export.Request{memrun.At(10, 20, 30)})
	r.Failure = full
	run, err := Collect(t.Context(), r, Config{})
	if !errors.Is(err, full) || len(run.Levels) != 1 || len(run.Levels[0].Requests) != 1 {
		t.Errorf("%v, %+v", err, run)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(full)
	if run, err := Collect(ctx, memrun.New("", []export.Request{memrun.At(10, 20)}), Config{}); !errors.Is(err, full) || run == nil {
		t.Errorf("%v", err)
	}
}

// The shards of a run, given in any order, show what the whole run shows.
func TestShards(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 1))
	whole := memrun.RandomRun(rng, 90, "9", "18")
	var all []shards.Shard
	for _, part := range memrun.Divide(whole, 3) {
		all = append(all, shards.Shard{Name: "x", Reader: part})
	}
	slices.Reverse(all)
	merged, err := shards.Merge(all)
	if err != nil {
		t.Fatal(err)
	}
	run := collect(t, merged, Config{})
	check(t, run, defaultRows)
	want := collect(t, memrun.Again(whole), Config{})
	for i := range want.Levels {
		a, b := &want.Levels[i], &run.Levels[i]
		if a.GapsByPosition.N != b.GapsByPosition.N || len(a.Requests) != len(b.Requests) || a.ToNS-a.FromNS != b.ToNS-b.FromNS {
			t.Errorf("level %d: %d and %d gaps, %d and %d requests", i, a.GapsByPosition.N, b.GapsByPosition.N, len(a.Requests), len(b.Requests))
		}
		if d := cmp.Diff(series(t, a, InFlight).Value, series(t, b, InFlight).Value); d != "" {
			t.Errorf("level %d: in flight (-whole +shards):\n%s", i, d)
		}
		ranks := map[int]bool{}
		for k := range b.Requests {
			ranks[b.Requests[k].Rank] = true
		}
		if len(ranks) != 3 {
			t.Errorf("level %d: ranks %v", i, ranks)
		}
	}
}
