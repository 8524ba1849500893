package check

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pa-tools/pa/internal/test/golden"
	"github.com/pa-tools/pa/internal/test/memrun"
	"github.com/pa-tools/pa/internal/test/schematest"
	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool"
)

const (
	ms = 1_000_000
	s  = 1000 * ms
)

// run returns n requests, one each interval, whose 10 tokens come every 10 ms after 50 ms.
func run(n int, interval uint64) []export.Request {
	all := make([]export.Request, n)
	for i := range all {
		start := uint64(1000*s) + uint64(i)*interval
		var recv []uint64
		for k := range uint64(10) {
			recv = append(recv, start+50*ms+k*10*ms)
		}
		all[i] = memrun.At(start, recv...)
		all[i].HasMeta, all[i].Status, all[i].Phase, all[i].ID = true, export.StatusOK, export.PhaseMeasured, uint64(i)
		all[i].Stated = &export.Stated{}
		all[i].NoOutputs = true
		tokens := int64(10)
		all[i].Stated.OutputTokens = &tokens
	}
	return all
}

// item returns the item of a name.
func item(t *testing.T, r *Result, name string) Item {
	t.Helper()
	for _, x := range r.Levels[0].Items {
		if x.Name == name {
			return x
		}
	}
	t.Fatalf("no item %q", name)
	return Item{}
}

func streamed(r *memrun.Reader) *export.RunMeta {
	r.Header.Meta = &export.RunMeta{Streaming: new(true), Tool: "pa-record"}
	return r.Header.Meta
}

// even returns the distance of n even gaps, which are their mean, from an exponential distribution.
func even(n float64) float64 {
	return (1 - math.Exp(-1) - 0.2/n) * (math.Sqrt(n) + 0.26 + 0.5/math.Sqrt(n))
}

func TestItems(t *testing.T) {
	scheduled := func(late uint64) func([]export.Request, *memrun.Reader) {
		return func(all []export.Request, r *memrun.Reader) {
			r.Header.Experiments[0].Mode, r.Header.Experiments[0].Value = export.ModeRequestRate, "10"
			for i := range all {
				all[i].ScheduledNS = all[i].StartNS - late
			}
		}
	}
	ofLoad := func(text string) func([]export.Request, *memrun.Reader) {
		return func(all []export.Request, r *memrun.Reader) {
			scheduled(0)(all, r)
			r.Header.Experiments[0].Meta = &export.ExperimentMeta{Load: text}
		}
	}
	calibrated := func(p99 int64) func([]export.Request, *memrun.Reader) {
		return func(_ []export.Request, r *memrun.Reader) {
			r.Header.Meta.Calibration = &export.Calibration{Services: []export.CalibratedService{{Recordings: []export.CalibratedRecording{
				{Stamps: "user", Receive: &export.ClockError{P99NS: p99}},
				{Stamps: "kernel", Receive: &export.ClockError{P99NS: 5 * s}}, // of times that the run does not have
				{Stamps: "user"}, // nothing compared
			}}}}
		}
	}
	for _, tt := range []struct {
		name     string
		n        int
		interval uint64
		change   func([]export.Request, *memrun.Reader)
		profile  Profile
		from     answer.From
		item     string
		want     Status
		value    float64
		near     float64 // how far the value may be off; 0: by rounding
		text     string
	}{
		{name: "no warm-up", n: 10, item: "warm-up", want: Fail, text: "no request before the measurement"},
		{
			name: "warm-up", n: 10, item: "warm-up", want: Pass, value: 2, text: "2 requests before the measurement left out",
			change: func(all []export.Request, _ *memrun.Reader) {
				all[0].Phase, all[1].Phase = export.PhaseWarmup, export.PhaseWarmup
			},
		},
		{
			name: "a file without phases", n: 10, item: "warm-up", want: NA, text: "does not record",
			change: func(_ []export.Request, r *memrun.Reader) { r.Header.Meta = nil },
		},
		{
			name: "a file of another tool", n: 10, item: "warm-up", want: NA, text: "X holds no requests of a warm-up",
			change: func(_ []export.Request, r *memrun.Reader) { r.Header.Meta.Import = &export.Import{Format: "X"} },
		},
		{name: "60 s", n: 600, item: "duration", want: Pass, value: 59.9 + 0.14, text: "60.0 s; at least 60 s needed"},
		{name: "59 s", n: 599, item: "duration", want: Fail, value: 59.8 + 0.14},
		{name: "MLPerf wants 600 s", n: 600, profile: mlPerfServer(), item: "duration", want: Fail, value: 60.04, text: "at least 600 s needed"},
		{name: "enough for p99", n: 662, item: "samples", want: Pass, value: 662},
		{name: "one too few for p99", n: 661, item: "samples", want: Fail, value: 661, text: "661 successful requests; at least 662 needed"},
		{name: "closed loop", n: 10, item: "load", want: Pass, value: 4, text: "closed loop of 4"},
		{name: "MLPerf wants an open loop", n: 10, profile: mlPerfServer(), item: "load", want: Fail, value: 4},
		{
			name: "a rate that was not sent", n: 30, item: "load", want: Fail, value: 10, text: "10 requests/s were sent, 16.7 % below the named rate of 12",
			change: func(_ []export.Request, r *memrun.Reader) {
				r.Header.Experiments[0].Mode, r.Header.Experiments[0].Value = export.ModeRequestRate, "12.0"
			},
		},
		{name: "open loop", n: 10, change: scheduled(0), item: "load", want: Pass, value: 10, text: "open loop"},
		{ // it is left out, because JSON could not hold it
			name: "edge: a load that is no finite number", n: 10, item: "load", want: NA,
			change: func(_ []export.Request, r *memrun.Reader) { r.Header.Experiments[0].Value = "+Inf" },
		},
		{
			name: "load not stated", n: 10, item: "load", want: NA,
			change: func(_ []export.Request, r *memrun.Reader) { r.Header.Experiments[0].Mode = "" },
		},
		{name: "closed loop", n: 10, item: "coordinated omission", want: NA, text: "closed loop"},
		{name: "all 2.5 ms late of 50", n: 10, change: scheduled(2.5 * ms), item: "coordinated omission", want: Pass, value: 2.5 * ms},
		{
			name: "all 2.6 ms late of 50, more than 5 % of the mean", n: 10, change: scheduled(2.6 * ms), item: "coordinated omission", want: Fail, value: 2.6 * ms,
			text: "mean TTFT is 50.000 ms from the start and 52.600 ms from the schedule, at most 5 % more allowed",
		},
		{
			name: "one of 200 waited for a minute", n: 200, item: "coordinated omission", want: Fail, value: 0,
			text: "p99 of start − schedule is 0.000 ms, at most 5.000 ms allowed (10 % of the median TTFT); the maximum is 60000.000 ms, at most 50.000 ms allowed (p99 of TTFT); mean TTFT is 50.000 ms from the start and 350.000 ms from",
			change: func(all []export.Request, r *memrun.Reader) {
				scheduled(0)(all, r)
				all[7].ScheduledNS -= 60 * s
			},
		},
		{ // the mean rises by 0.255 ms
			name: "one of 200 later than the p99 of TTFT", n: 200, item: "coordinated omission", want: Fail, value: 0, text: "the maximum is 51.000 ms, at most 50.000 ms allowed",
			change: func(all []export.Request, r *memrun.Reader) {
				scheduled(0)(all, r)
				all[7].ScheduledNS -= 51 * ms
			},
		},
		{
			name: "one of 200 as late as the p99 of TTFT", n: 200, item: "coordinated omission", want: Pass, value: 0, text: "the maximum is 50.000 ms",
			change: func(all []export.Request, r *memrun.Reader) {
				scheduled(0)(all, r)
				all[7].ScheduledNS -= 50 * ms
			},
		},
		{
			name: "one of 200 waited, which latencies from the schedule count", n: 200, item: "coordinated omission", want: Pass, value: 0, text: "latencies count from the schedule", from: answer.FromScheduled,
			change: func(all []export.Request, r *memrun.Reader) {
				scheduled(0)(all, r)
				all[7].ScheduledNS -= 60 * s
			},
		},
		{name: "6 ms late of 50", n: 10, change: scheduled(6 * ms), item: "coordinated omission", want: Fail, value: 6 * ms, text: "at most 5.000 ms allowed (10 % of the median TTFT)"},
		{
			name: "the client was the limit", n: 10, item: "client", want: Fail, text: export.SaturationWarning,
			change: func(_ []export.Request, r *memrun.Reader) {
				r.Header.Experiments[0].Meta = &export.ExperimentMeta{Warnings: []string{export.SaturationWarning + ": x"}}
			},
		},
		{
			name: "other programs took the cores", n: 10, item: "client", want: Fail, text: "600 of 2,000 tokens arrived together",
			change: func(_ []export.Request, r *memrun.Reader) {
				r.Header.Experiments[0].Meta = &export.ExperimentMeta{Warnings: []string{"600 of 2,000 tokens arrived together with the previous one, so their gaps are unknown; " + export.TogetherCrowded}}
			},
		},
		{
			name: "the client's CPU", n: 10, item: "client", want: Pass, value: 0.25, text: "25 % of the CPU time of 2 cores",
			change: func(_ []export.Request, r *memrun.Reader) {
				r.Header.Experiments[0].Meta = &export.ExperimentMeta{Client: &export.ClientMeta{CPU: &export.CPUMeta{Share: 0.25, Cores: 2}}}
			},
		},
		{name: "no figures of the client", n: 10, item: "client", want: NA},
		{name: "not calibrated", n: 10, item: "clock", want: NA, text: "--calibrate"},
		{name: "calibrated", n: 10, change: calibrated(ms), item: "clock", want: Pass, value: ms},
		{name: "calibrated, a bad clock", n: 10, change: calibrated(ms + 1), item: "clock", want: Fail, value: ms + 1},
		{
			name: "the clock was set back", n: 10, item: "clock", want: Fail, value: 1, text: "1 gap between tokens below 0",
			change: func(all []export.Request, _ *memrun.Reader) {
				all[0].Responses[5].RecvNS = all[0].Responses[4].RecvNS - 1
			},
		},
		{name: "stated tokens", n: 10, item: "token source", want: Pass, text: "the file's own counts"},
		{
			name: "chunks", n: 10, item: "token source", want: Fail, text: "counts of chunks",
			change: func(all []export.Request, _ *memrun.Reader) {
				for i := range all {
					all[i].Stated.OutputTokens = nil
				}
			},
		},
		{
			name: "mixed", n: 10, item: "token source", want: Fail, text: "several sources",
			change: func(all []export.Request, _ *memrun.Reader) { all[3].Stated.OutputTokens = nil },
		},
		{name: "no failures", n: 100, item: "failures", want: Pass, value: 0},
		{
			name: "1 % failed", n: 100, item: "failures", want: Pass, value: 0.01,
			change: func(all []export.Request, _ *memrun.Reader) { all[7].Status = export.StatusTimeout },
		},
		{
			name: "MLPerf wants no failures", n: 100, profile: mlPerfServer(), item: "failures", want: Fail, value: 0.01,
			change: func(all []export.Request, _ *memrun.Reader) { all[7].Status = export.StatusTimeout },
		},
		{name: "a closed loop", n: 40, item: "arrivals", want: NA, text: "a closed loop sends when an answer ends, so it has no arrival process"},
		{name: "a rate", n: 40, change: scheduled(0), item: "arrivals", want: NA, text: "the load asked for equal gaps"},
		{name: "gamma", n: 40, change: ofLoad("request rate 10, gamma of burstiness 0.5"), item: "arrivals", want: NA, text: "gamma-distributed gaps"},
		{name: "another distribution", n: 40, change: ofLoad("request rate 10, pareto, unscaled, at most 4 in flight"), item: "arrivals", want: NA, text: "pareto-distributed gaps"},
		{name: "a ceiling", n: 40, change: ofLoad("request rate 10, at most 4 in flight"), item: "arrivals", want: NA, text: "the load asked for equal gaps"},
		{name: "the share of a rank", n: 40, change: ofLoad("rank 0 of 3: request rate 10, at most 2 in flight"), item: "arrivals", want: NA, text: "the load asked for equal gaps"},
		{name: "a trace", n: 40, change: ofLoad("schedule of 40 requests"), item: "arrivals", want: NA, text: "the load is a recorded schedule"},
		{name: "even gaps in place of Poisson", n: 40, change: ofLoad("request rate 10, poisson, at most 4 in flight"), interval: 100*ms + 1, item: "arrivals", want: Fail, value: even(39), text: "not as a Poisson process"},
		{name: "few arrivals", n: 30, change: ofLoad("request rate 10, poisson"), item: "arrivals", want: NA, text: "at least 30 gaps"},
		{name: "steady", n: 100, item: "steady state", want: Pass},
		{name: "too few to tell", n: 99, item: "steady state", want: NA, text: "100 needed"},
		{
			name: "20 cold requests of 1000", n: 1000, item: "steady state", want: Fail, text: "the first 20 requests took 6.0 times as long as the rest: TTFT 300.00 ms, then 50.00 ms on average; --trim-start 10%",
			change: func(all []export.Request, _ *memrun.Reader) {
				for i := range 20 {
					all[i].StartNS -= 250 * ms
				}
			},
		},
		{
			name: "the first of 40 cold", n: 40, item: "steady state", want: Fail, text: "the first request took 6.0 times as long as the rest",
			change: func(all []export.Request, _ *memrun.Reader) { all[0].StartNS -= 250 * ms },
		},
		{
			name: "drift of 30 %", n: 1000, item: "steady state", want: Fail, text: "TTFT drifts: it changes by +30 % from the first request to the last",
			change: func(all []export.Request, _ *memrun.Reader) {
				for i := range all {
					all[i].StartNS -= uint64(i) * 15 * ms / 999
				}
			},
		},
		{
			name: "a slow start", n: 200, item: "steady state", want: Fail,
			change: func(all []export.Request, _ *memrun.Reader) {
				for i := range 20 {
					all[i].StartNS -= 45 * ms
				}
			},
		},
		{
			name: "even gaps are not Poisson", n: 200, interval: 100*ms + 1, change: scheduled(0), profile: mlPerfServer(), item: "Poisson arrivals", want: Fail, text: "scheduled requests",
			value: even(199),
		},
		{
			name: "even gaps in whole milliseconds are not Poisson", n: 200, change: scheduled(0), profile: mlPerfServer(), item: "Poisson arrivals", want: Fail,
			value: even(199),
		},
		{
			name: "times too coarse", n: 200, interval: 1.5 * ms, profile: mlPerfServer(), item: "Poisson arrivals", want: NA, text: "times are rounded to 1.000 ms, which is too much for gaps of 1.497 ms",
			change: func(all []export.Request, r *memrun.Reader) {
				scheduled(0)(all, r)
				for i := range all {
					all[i].ScheduledNS -= all[i].ScheduledNS % ms
				}
			},
		},
		{name: "ten gaps at least", n: 10, profile: mlPerfServer(), item: "Poisson arrivals", want: NA, text: "10 gaps between sent requests"},
	} {
		t.Run(tt.item+": "+tt.name, func(t *testing.T) {
			if tt.interval == 0 {
				tt.interval = 100 * ms
			}
			all := run(tt.n, tt.interval)
			r := memrun.New("", all)
			r.Header.Experiments[0].Mode, r.Header.Experiments[0].Value = export.ModeConcurrency, "4"
			streamed(r)
			if tt.change != nil {
				tt.change(all, r)
			}
			if tt.profile.Name == "" {
				tt.profile = Default()
			}
			res, rep, err := Run(t.Context(), "x.json", r, analyze.Config{From: tt.from}, tt.profile)
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range OfReport(rep, &rep.Experiments[0], tt.profile) {
				if whole := item(t, res, x.Name); x != whole {
					t.Errorf("of the report alone: %+v, with the requests: %+v", x, whole)
				}
			}
			got := item(t, res, tt.item)
			if got.Status != tt.want || math.Abs(got.Value-tt.value) > max(tt.near, 1e-9*tt.value) || !strings.Contains(got.Text, tt.text) {
				t.Errorf("%+v, want %s, %v, %q", got, tt.want, tt.value, tt.text)
			}
		})
	}
}

// The test of arrivals refuses about 1 % of Poisson arrivals at any rate and number, and finds
// even gaps, bursts and a mixture of rates.
func TestExponentialDistance(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{20, 100, 700 / testenv.Stride(2)} {
		refused := 0
		const replications = 3000
		for range replications {
			at, arrivals := 1e12, make([]uint64, 0, n)
			for range n {
				at += rng.ExpFloat64() * 3e7
				arrivals = append(arrivals, uint64(at))
			}
			if d, ok := exponentialDistance(arrivals); !ok || d > poissonLimit {
				refused++
			}
		}
		// 1 % ± three standard deviations, and the approximation of the limit.
		if share := float64(refused) / replications; share < 0.003 || share > 0.017 {
			t.Errorf("n = %d: %.2f %% of Poisson arrivals refused, want about 1 %%", n, 100*share)
		}
	}
	for name, gap := range map[string]func(i int) float64{
		"even":   func(int) float64 { return 3e7 },
		"bursts": func(i int) float64 { return map[bool]float64{true: 3e8, false: 1e3}[i%10 == 0] },
		"gamma":  func(int) float64 { return 1e7 * (rng.ExpFloat64() + rng.ExpFloat64() + rng.ExpFloat64()) },
	} {
		at, arrivals := 1e12, []uint64{}
		for i := range 300 {
			at += gap(i)
			arrivals = append(arrivals, uint64(at))
		}
		if d, ok := exponentialDistance(arrivals); !ok || d <= poissonLimit {
			t.Errorf("%s gaps: distance %v, want more than %v", name, d, poissonLimit)
		}
	}
	if _, ok := exponentialDistance(make([]uint64, 50)); ok { // edge: all at once
		t.Error("arrivals at one time have a distance")
	}
}

// By hand: 11 arrivals with gaps 1 to 10. Mean 5.5; the largest distance is at the gap 1:
// F(1) = 1 − e^(−1/5.5) = 0.16625, against 0 before it.
func TestExponentialDistanceByHand(t *testing.T) {
	arrivals, at := []uint64{100}, uint64(100)
	for g := range uint64(10) {
		at += g + 1
		arrivals = append(arrivals, at)
	}
	worst := 0.0
	for g := 1.0; g <= 10; g++ {
		f := 1 - math.Exp(-g/5.5)
		worst = math.Max(worst, math.Max(math.Abs(g/10-f), math.Abs((g-1)/10-f)))
	}
	want := (worst - 0.02) * (math.Sqrt(10) + 0.26 + 0.5/math.Sqrt(10))
	if got, ok := exponentialDistance(arrivals); !ok || math.Abs(got-want) > 1e-12 {
		t.Errorf("distance %v, want %v", got, want)
	}
}

// The certificates are the percentiles that MLPerf's client wrote about the same requests.
func TestCertificateOfMLPerf(t *testing.T) {
	fsys := golden.FS(t, "peers")
	for _, kind := range []string{"ok", "cut"} {
		data, err := fs.ReadFile(fsys, "endpoints/"+kind+"/events.jsonl")
		if err != nil {
			t.Fatal(err)
		}
		summary, err := fs.ReadFile(fsys, "endpoints/"+kind+"/performance/result_summary.json")
		if err != nil {
			t.Fatal(err)
		}
		var stated struct {
			TTFT struct {
				Early map[string]*float64 `json:"early_stopping_percentiles"`
			} `json:"ttft"`
		}
		if err := json.Unmarshal(summary, &stated); err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "events.jsonl"), data, 0o600); err != nil {
			t.Fatal(err)
		}
		o := export.Opener{Formats: tool.Formats()}
		r, err := o.Open(t.Context(), filepath.Join(dir, "events.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		res, _, err := Run(t.Context(), "events.jsonl", r, analyze.Config{}, Default())
		if err != nil {
			t.Fatal(err)
		}
		compared := 0
		for _, c := range res.Levels[0].Certificates {
			if c.Metric != answer.TTFT {
				continue
			}
			for _, p := range c.Percentiles {
				want, ok := stated.TTFT.Early[map[float64]string{50: "50.0", 75: "75.0", 80: "80.0", 90: "90.0", 95: "95.0", 97: "97.0", 99: "99.0", 99.9: "99.9"}[p.Level]]
				if !ok || p.OK != (want != nil) || p.OK && p.Value != *want {
					t.Errorf("%s: p%v = %v %v, want %v", kind, p.Level, p.Value, p.OK, want)
				}
				compared++
			}
		}
		if compared != 8 {
			t.Errorf("%s: %d percentiles compared, want 8", kind, compared)
		}
	}
}

// The documents follow their schemas and keep foreign texts out of markup.
func TestFormats(t *testing.T) {
	all := run(700, 100*ms)
	r := memrun.New("", all)
	r.Header.Experiments[0].Mode, r.Header.Experiments[0].Value = export.ModeConcurrency, "4|\x1b[31m"
	streamed(r)
	res, _, err := Run(t.Context(), "x.json", r, analyze.Config{}, Default())
	if err != nil {
		t.Fatal(err)
	}
	f := Checklist{res}.Formats()
	for _, name := range []string{"text", "markdown", "junit", "csv"} {
		var b bytes.Buffer
		if err := f.In(name, 100)(&b); err != nil {
			t.Fatal(err)
		}
		if text := b.String(); strings.Contains(text, "\x1b") || !strings.Contains(text, "662") && name != "text" {
			t.Errorf("%s:\n%q", name, text)
		}
	}
	var b bytes.Buffer
	if err := f.In("json", 0)(&b); err != nil {
		t.Fatal(err)
	}
	if err := schematest.Open(t, "check.schema.json").Check(t, b.Bytes()); err != nil {
		t.Error(err)
	}
	if c := res.Levels[0].Certificates[0]; c.EffectiveN != 700 {
		t.Errorf("700 constant values are worth %v", c.EffectiveN)
	}
	if n := len(res.Failed()); n != 1 { // no warm-up
		t.Errorf("%d items failed: %v", n, res.Failed())
	}
}

// The CSV has a line for each item and each certified percentile, and the documented columns.
func TestCSV(t *testing.T) {
	r := memrun.New("", run(100, 100*ms))
	streamed(r)
	res, _, err := Run(t.Context(), "=x.json", r, analyze.Config{}, Default())
	if err != nil {
		t.Fatal(err)
	}
	res.Levels = append(res.Levels, LevelChecklist{Mode: "concurrency", Value: "8", Problem: errors.New("no windows")})
	var b bytes.Buffer
	if err := (Checklist{res}).Formats().In("csv", 0)(&b); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	l := &res.Levels[0]
	want := 2 + len(l.Items)
	for _, c := range l.Certificates {
		want += len(c.Percentiles)
	}
	if len(rows) != want || len(l.Certificates) == 0 {
		t.Errorf("%d lines, want %d", len(rows), want)
	}
	found := map[string][]string{}
	for _, row := range rows {
		found[row[0]+" "+row[4]+" "+row[5]] = row
	}
	for key, want := range map[string]string{
		"item samples ":           "fail 100 requests",
		"percentile e2el_ns 90":   "pass " + sheet.CSVNumber(l.Certificates[len(l.Certificates)-1].Percentiles[3].Value) + " ns 100 64 ",
		"percentile e2el_ns 99":   "n/a  ns 100 662 ",
		"percentile e2el_ns 99.9": "n/a  ns 100 6636 ",
		"level  ":                 "n/a     no windows",
	} {
		row := found[key]
		if row == nil || !strings.HasPrefix(strings.Join(row[6:], " "), want) || row[1] != "'=x.json" {
			t.Errorf("%s: %q, want %s", key, row, want)
		}
	}
	doc, err := os.ReadFile("../../../schemas/check_csv.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range columns {
		if !strings.Contains(string(doc), "`"+c+"`") {
			t.Errorf("schemas/check_csv.md lacks the column %s", c)
		}
	}
}

func TestFindProfile(t *testing.T) {
	for _, name := range []string{"default", "mlperf-server"} {
		if p, err := FindProfile(name); err != nil || p.Name != name {
			t.Errorf("FindProfile(%q) = %+v, %v", name, p, err)
		}
	}
	if _, err := FindProfile("x"); err == nil || err.Error() != `"x": expected default or mlperf-server` {
		t.Errorf("FindProfile(x): %v", err)
	}
	if p := mlPerfServer(); p.MinDuration != 10*time.Minute || p.MinSamples != 662 {
		t.Errorf("%+v", p)
	}
}

// Poisson arrivals in rounded times pass the test of MLPerf's profile as often as others, whatever the rate
// and the unit are. As the file has them, the test refuses 22 % of 1000 arrivals in whole milliseconds.
func TestRoundedArrivals(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 8))
	const rounds = 300
	for _, tt := range []struct {
		rate float64 // per second
		unit uint64  // ns
	}{{10, ms}, {50, ms}, {100, ms}, {400, ms}, {20, 10 * ms}, {4, 100 * ms}, {0.2, 1000 * ms}} {
		refused := 0
		for range rounds {
			at, arrivals := 1e15, []uint64{}
			for range 1000 {
				at += 1e9 / tt.rate * random.ExpFloat64()
				arrivals = append(arrivals, uint64(at)/tt.unit*tt.unit)
			}
			if why := undoRounding(arrivals); why != "" {
				t.Fatal(why)
			}
			if d, ok := exponentialDistance(arrivals); !ok || d > poissonLimit {
				refused++
			}
		}
		if refused > 11 { // 3, and three standard deviations of 1.7 each are 8
			t.Errorf("%v/s in units of %d ns: %d of %d refused", tt.rate, tt.unit, refused, rounds)
		}
	}
	even := make([]uint64, 300)
	for i := range even {
		even[i] = uint64(float64(i)*2.4*ms) / ms * ms
	}
	if why := undoRounding(even); why != "" {
		t.Fatal(why)
	}
	if d, ok := exponentialDistance(even); !ok || d <= poissonLimit {
		t.Errorf("even gaps of 2.4 ms in whole milliseconds: distance %v", d)
	}
}

// Poisson arrivals pass, also with rounded times; what is not exponential, not independent or
// not of one rate fails.
func TestPoissonOf(t *testing.T) {
	const n = 400
	random := rand.New(rand.NewPCG(7, 7))
	refused, rounds := 0, 300
	at := func(gap func(i int) float64, resolution float64) []uint64 {
		now, all := 1e15, []uint64{}
		for i := range n + 1 {
			now += gap(i)
			all = append(all, uint64(math.Round(now/resolution)*resolution))
		}
		return all
	}
	exponential := func(int) float64 { return 1e8 * random.ExpFloat64() }
	for _, resolution := range []float64{1, 1e6} {
		refused = 0
		for range rounds {
			p, why := poissonOf(at(exponential, resolution))
			if why != "" {
				t.Fatal(why)
			}
			if len(p.failures()) > 0 {
				refused++
			}
		}
		if share := float64(refused) / float64(rounds); share > 0.05 {
			t.Errorf("times rounded to %v ns: %.1f %% of Poisson arrivals refused, want at most 2 %%", resolution, 100*share)
		}
	}
	held := 0.0
	for _, tt := range []struct {
		name, want string
		gap        func(i int) float64
	}{
		{"even gaps", "the gaps are not exponential", func(int) float64 { return 1e8 }},
		{"pairs of gaps", "the gaps depend on each other", func(i int) float64 {
			if i%2 == 0 {
				held = exponential(i)
			}
			return held
		}},
		{"a rate that falls", "the rate changes", func(i int) float64 {
			if i > n/2 {
				return 1.5 * exponential(i)
			}
			return exponential(i)
		}},
	} {
		p, why := poissonOf(at(tt.gap, 1))
		if why != "" || !slices.Contains(p.failures(), tt.want) {
			t.Errorf("%s: %+v fails %q (%s), want %q", tt.name, p, p.failures(), why, tt.want)
		}
	}
	for _, tt := range []struct {
		arrivals []uint64
		want     string
	}{
		{at(exponential, 1)[:30], "at least 30 gaps between sent requests are needed"},
		{make([]uint64, 50), "all requests were sent at one time"},
		{at(func(i int) float64 { return exponential(i) / 100 }, 1e6), "times are rounded to 1.000 ms"},
		{at(exponential, 1e8), "times are rounded to 100.000 ms"},
	} {
		if _, why := poissonOf(tt.arrivals); !strings.HasPrefix(why, tt.want) {
			t.Errorf("%q, want %q", why, tt.want)
		}
	}
}
