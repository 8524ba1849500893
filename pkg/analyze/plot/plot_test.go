package plot

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/internal/test/golden"

	"github.com/pa-tools/pa/internal/test/memrun"
	"github.com/pa-tools/pa/internal/test/runtest"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/expr"
	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/analyze/pareto"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/analyze/svg"
	"github.com/pa-tools/pa/pkg/analyze/trend"
	"github.com/pa-tools/pa/pkg/analyze/view"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// A source of numbers that look random and are the same on every machine.
type source uint64

// next returns a number from 0 up to n−1.
func (s *source) next(n uint64) uint64 {
	*s += stat.SplitMixStep
	return stat.Mix(uint64(*s)) % n
}

// made returns a run of a closed loop at these levels: slow tells how many percent its times are of usual
// times. Each request has a prompt of prompt to 2·prompt tokens, half of them cached for every third, and 4
// to 12 answer tokens; one in forty fails, and one in thirty stalls for 300 ms. A queue before eight
// slots of the server makes high levels wait. Gauges are scraped each half second.
func made(slow, prompt uint64, levels ...int) *memrun.Reader {
	kind, endpoint, streaming := "openai", "v1/chat/completions", true
	r := &memrun.Reader{Header: export.Run{ServiceKind: &kind, Endpoint: &endpoint, Meta: &export.RunMeta{Schema: export.Schema, Tool: "pa-record 0.1.0", Model: "tiny", Streaming: &streaming}}}
	random := source(slow)
	now := uint64(1_700_000_000_000_000_000)
	begin := now
	for _, level := range levels {
		var all []export.Request
		slots := make([]uint64, level)
		for i := range slots {
			slots[i] = now
		}
		for i := range 60 {
			s := i % level
			start := slots[s]
			input := prompt + random.next(prompt)
			cached := uint64(0)
			if i%3 == 0 {
				cached = input / 2
			}
			x := export.Request{ID: uint64(i), StartNS: start, StartSource: export.SourceKernel, HasMeta: true, Status: export.StatusOK, Phase: export.PhaseMeasured, Worker: s}
			wait := uint64(0)
			if level > 8 {
				wait = uint64(level-8) * 9_000_000
			}
			at := start + (wait+12_000_000+random.next(9_000_000)+(input-cached)*30_000)*slow/100
			if random.next(40) == 0 {
				x.Status, x.FailedNS, x.Message = export.StatusTimeout, at, "no answer"
				slots[s] = at
				all = append(all, x)
				continue
			}
			tokens := 4 + int(random.next(9))
			stall := random.next(30) == 0
			for k := range tokens {
				if k > 0 {
					at += (4_000_000 + random.next(3_000_000)) * slow / 100
				}
				if stall && k == 3 {
					at += 300_000_000
				}
				x.Responses = append(x.Responses, chunk(at, `data: {"choices":[{"index":0,"delta":{"content":"a"}}]}`))
			}
			x.Responses = append(x.Responses, chunk(at+100_000, fmt.Sprintf(`data: {"choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":%d,"prompt_tokens_details":{"cached_tokens":%d}}}`, input, tokens, cached)))
			slots[s] = at + 1_000_000
			all = append(all, x)
		}
		for _, t := range slots {
			now = max(now, t)
		}
		now += 200_000_000
		r.Header.Experiments = append(r.Header.Experiments, export.Experiment{Mode: export.ModeConcurrency, Value: strconv.Itoa(level)})
		r.Requests = append(r.Requests, all)
	}
	queue := &export.Series{Name: "vllm:num_requests_waiting", Type: "gauge"}
	cache := &export.Series{Name: "vllm:kv_cache_usage_perc", Type: "gauge"}
	other := &export.Series{Name: "vllm:unknown_to_us", Type: "gauge"}
	for at := begin; at < now; at += 500_000_000 {
		r.Telemetry = append(r.Telemetry, export.Scrape{Source: "http://server/metrics", StartNS: at, EndNS: at + 1_000_000, Samples: []export.Sample{
			{Series: queue, Value: float64(random.next(6))}, {Series: cache, Value: float64(random.next(100)) / 100}, {Series: other, Value: 1},
		}})
	}
	return r
}

func chunk(at uint64, text string) export.Response {
	return export.Response{RecvNS: at, Source: export.SourceKernel, Outputs: export.Fields{{Name: "response", Value: export.Text(text + "\n\n")}}}
}

// collected collects a run under an objective.
func collected(t testing.TB, name string, r export.Reader) *view.Run {
	t.Helper()
	objective, err := expr.ParseObjective("ttft<=60ms && tpot<=10ms")
	if err != nil {
		t.Fatal(err)
	}
	run, err := view.Collect(t.Context(), r, view.Config{Name: name, Analyze: analyze.Config{SLO: objective, SLOTarget: 0.9, Economics: &figure.EconomicsConfig{GPUs: 2}}})
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// document draws a figure as a file, which must be XML.
func document(t testing.TB, f *svg.Figure) string {
	t.Helper()
	var b bytes.Buffer
	if err := f.Write(&b); err != nil {
		t.Fatal(err)
	}
	d := xml.NewDecoder(bytes.NewReader(b.Bytes()))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return b.String()
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// ofResult returns the frontier of runs.
func ofResult(runs []*view.Run) *pareto.Result {
	var inputs []report.Input
	for _, r := range runs {
		inputs = append(inputs, report.Input{Name: r.Name, Report: r.Report})
	}
	return pareto.Analyze(inputs, pareto.Options{})
}

// drawings are all charts of runs.
func drawings() map[string]func([]*view.Run) *svg.Figure {
	with := func(f func([]*view.Run, Options) *svg.Figure) func([]*view.Run) *svg.Figure {
		return func(runs []*view.Run) *svg.Figure { return f(runs, Options{}) }
	}
	return map[string]func([]*view.Run) *svg.Figure{
		"cdf": with(CDF), "timeline": with(Timeline), "sweep": with(Sweep), "heatmap": with(Heatmap), "prompt-length": with(PromptLength),
		"scatter": func(runs []*view.Run) *svg.Figure { return Scatter(runs, nil, nil, Options{}) },
		"scatter-e2el": func(runs []*view.Run) *svg.Figure {
			x, _ := FindFigure("output_tokens")
			y, _ := FindFigure("e2el")
			return Scatter(runs, x, y, Options{})
		},
		"pareto": func(runs []*view.Run) *svg.Figure { return Pareto(ofResult(runs), Options{}) },
		"narrow": func(runs []*view.Run) *svg.Figure { return CDF(runs, Options{Width: 360}) },
	}
}

// ofTrend returns a trend with a step.
func ofTrend(t testing.TB) *svg.Figure {
	var groups []trend.Point
	for day := range 8 {
		p := trend.Point{Label: fmt.Sprintf("v1.%d", day)}
		for run := range 3 {
			ttft := 40 + float64(day%3) + float64(run)/2
			if day >= 4 {
				ttft *= 1.3
			}
			p.Runs = append(p.Runs, runtest.Read(t, memrun.Spec{Name: fmt.Sprintf("%d-%d", day, run), Second: uint64(day*100 + run*10), TTFT: ttft, ITL: 10 + float64(run)/10}))
		}
		groups = append(groups, p)
	}
	return Trend(trend.Analyze(trend.Points(groups), trend.Options{}), Options{})
}

// The pictures of made runs. They are looked at when they change.
func TestGolden(t *testing.T) {
	old, other := collected(t, "runs/old.json", made(100, 200, 1, 4, 8, 16)), collected(t, "runs/new.json", made(80, 200, 1, 4, 8, 16))
	figures := map[string]*svg.Figure{"trend": ofTrend(t)}
	for name, draw := range drawings() {
		figures[name] = draw([]*view.Run{old})
		figures[name+"-two"] = draw([]*view.Run{old, other})
	}
	var lengths []*view.Run
	for _, prompt := range []uint64{100, 400, 800, 1600} {
		lengths = append(lengths, collected(t, fmt.Sprintf("in-%d.json", prompt), made(100, prompt, 1)))
	}
	figures["prompt-length"] = PromptLength(lengths, Options{})
	for _, name := range []string{"narrow", "scatter-e2el", "heatmap", "prompt-length", "scatter", "sweep"} { // as with one
		delete(figures, name+"-two")
	}
	for name, f := range figures {
		t.Run(name, func(t *testing.T) {
			got := document(t, f)
			golden.File(t, filepath.Join("testdata", name+".svg"), got, *update)
		})
	}
}

// Two readings of one run give the same bytes, also on one processor.
func TestSameBytes(t *testing.T) {
	draw := drawings()
	var want map[string]string
	for _, procs := range []int{runtime.GOMAXPROCS(0), 1} {
		before := runtime.GOMAXPROCS(procs)
		runs := []*view.Run{collected(t, "a.json", made(100, 200, 1, 4)), collected(t, "b.json", made(90, 200, 1, 4))}
		got := map[string]string{}
		for name := range draw {
			got[name] = document(t, draw[name](runs))
		}
		runtime.GOMAXPROCS(before)
		for name := range want {
			if got[name] != want[name] {
				t.Errorf("%s: two pictures differ", name)
			}
		}
		want = got
	}
}

// Runs that have little give charts that say why.
func TestLittle(t *testing.T) {
	failed := made(100, 200, 1)
	for i := range failed.Requests[0] {
		x := &failed.Requests[0][i]
		x.Status, x.Responses, x.FailedNS = export.StatusTimeout, nil, x.StartNS+1
	}
	one := made(100, 200, 1)
	one.Requests[0] = one.Requests[0][:1]
	empty := made(100, 200, 1)
	empty.Requests[0], empty.Telemetry = nil, nil
	none := &memrun.Reader{}
	plain := made(100, 200, 1)
	plain.Header.Meta.Streaming = nil
	for i := range plain.Requests[0] { // the one response of an answer without a stream
		if x := &plain.Requests[0][i]; len(x.Responses) > 0 {
			x.Responses = []export.Response{{RecvNS: x.Responses[0].RecvNS, Source: export.SourceKernel, Outputs: export.Fields{{Name: "response", Value: export.Text(`{"object":"chat.completion","choices":[{"index":0,"message":{"content":"a b"}}],"usage":{"prompt_tokens":9,"completion_tokens":2}}`)}}}}
		}
	}
	for _, tt := range []struct {
		name string
		run  export.Reader
		want map[string]string // by chart
	}{
		{"all failed", failed, map[string]string{"cdf": "no data (no request succeeded)", "heatmap": "no data (no request succeeded)", "timeline": "Failed requests"}},
		{"one request", one, map[string]string{"cdf": "n 1", "sweep": "1 successful request", "scatter": "1 successful request"}},
		{"no request", empty, map[string]string{"cdf": "no data (no request succeeded)", "timeline": "no data (no request succeeded)"}},
		{"no level", none, map[string]string{"cdf": "no data (no request succeeded)", "pareto": "no data"}},
		{"not streamed", plain, map[string]string{"cdf": "no data (not streamed; record with --streaming", "heatmap": "no data (not streamed; record with --streaming"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			runs := []*view.Run{collected(t, "a.json", tt.run)}
			for name, draw := range drawings() {
				got := document(t, draw(runs))
				if strings.Contains(got, "NaN") || strings.Contains(got, "Inf") {
					t.Errorf("%s holds a number that is none", name)
				}
				if want := tt.want[name]; !strings.Contains(got, want) {
					t.Errorf("%s lacks %q", name, want)
				}
			}
		})
	}
}

// The names of files and models are foreign text.
func TestHostile(t *testing.T) {
	bad := "</title><script>alert(1)</script>\u202e\x00" + strings.Repeat("x", 1<<20)
	r := made(100, 200, 1, 2)
	r.Header.Experiments[0].Value, r.Header.Experiments[0].Mode = bad, bad
	other := made(100, 200, 1)
	runs := []*view.Run{collected(t, bad, r), collected(t, bad+"2", other)}
	for name, draw := range drawings() {
		got := document(t, draw(runs))
		if strings.Contains(got, "<script") || strings.Contains(got, "\u202e") || strings.Contains(got, "\x00") {
			t.Errorf("%s holds foreign markup", name)
		}
		if len(got) > 2<<20 {
			t.Errorf("%s: %d bytes", name, len(got))
		}
	}
}

// The curve of a distribution ends at the largest of n values, at 1 − 1/n, and has the percentiles of the
// report.
func TestCurve(t *testing.T) {
	run := collected(t, "a.json", made(100, 200, 1))
	f := CDF([]*view.Run{run}, Options{})
	s := run.Levels[0].Experiment.Metric(answer.TTFT)
	points := f.Panels[0].Series[0].Points
	last := points[len(points)-1]
	if want := 100 * (1 - 1/float64(s.N)); last.X != want || last.Y != s.Max {
		t.Errorf("the curve ends at %v, %v; want %v, %v", last.X, last.Y, want, s.Max)
	}
	found := 0
	for i := range points {
		if i > 0 && !(points[i].X > points[i-1].X && points[i].Y >= points[i-1].Y) {
			t.Errorf("point %d falls", i)
		}
		switch points[i].X {
		case 50, 90:
			if found++; points[i].Y != s.P(points[i].X) {
				t.Errorf("p%v is %v, the report has %v", points[i].X, points[i].Y, s.P(points[i].X))
			}
		}
	}
	if found != 2 {
		t.Errorf("%d of p50 and p90 are on the curve", found)
	}
}

// A sweep shows the rates of the report, and the load that Report.MaxLoad finds.
func TestSweepFigures(t *testing.T) {
	run := collected(t, "a.json", made(100, 200, 1, 4, 8, 16))
	f := Sweep([]*view.Run{run}, Options{})
	for i, p := range f.Panels[0].Series[0].Points {
		e := run.Levels[i].Experiment
		if strconv.FormatFloat(p.X, 'f', -1, 64) != e.Value || p.Y != e.Throughput.OutputTokens.PerSecond {
			t.Errorf("level %s is at %v, %v", e.Value, p.X, p.Y)
		}
	}
	m := run.Report.MaxLoad()
	if m == nil || m.Estimate == 0 {
		t.Fatalf("no highest load: %+v", m)
	}
	line := f.Panels[0].Lines[0]
	if line.At != m.Estimate || !line.Vertical {
		t.Errorf("line %+v, want at %v", line, m.Estimate)
	}
	// The lower bound is missing, and a band has two ends.
	if m.NA != "no level surely attains the target" || line.Band.Low < line.Band.High || line.Label != "" && line.Label != "meets the SLO up to 8.3" || !slices.Contains(f.Notes, "No level surely attains the target.") {
		t.Errorf("interval %+v (%s), band %+v, notes %q", m.Interval, m.NA, line.Band, f.Notes)
	}
	all := Sweep([]*view.Run{collected(t, "a.json", made(100, 200, 1, 4))}, Options{})
	if len(all.Notes) != 1 || all.Notes[0] != "All levels attain the target of the SLO, the highest one not surely." {
		t.Errorf("notes %q", all.Notes)
	}
	two := Sweep([]*view.Run{run, collected(t, "b.json", made(900, 200, 1, 4))}, Options{})
	if len(two.Notes) != 2 || !strings.HasPrefix(two.Notes[0], "a.json: the target of the SLO is attained up to concurrency 8.3 (95% interval up to ") || two.Notes[1] != "b.json: no level attains the target of the SLO." {
		t.Errorf("notes %q", two.Notes)
	}
	if lines := f.Panels[2].Lines; lines[0].At != 60e6 || lines[0].Label != "SLO ttft<=60ms" {
		t.Errorf("lines of TTFT: %+v", lines)
	}
}

// A sweep of many levels draws some, among them the highest and the lowest, says so, and has round ticks.
func TestManyLoads(t *testing.T) {
	run := &view.Run{Name: "a.json", Report: &analyze.Report{Run: &export.Run{}}}
	for i := range 5000 {
		e := &analyze.Experiment{Mode: export.ModeConcurrency, Value: strconv.Itoa(i + 1), OK: 3}
		e.Throughput.Requests = figure.Rate{PerSecond: float64(100 + i*7919%5000), OK: true}
		run.Levels = append(run.Levels, view.Level{Experiment: e})
	}
	f := Sweep([]*view.Run{run}, Options{})
	points := f.Panels[1].Series[0].Points
	byY := func(a, b svg.Point) int { return cmp.Compare(a.Y, b.Y) }
	least, most := slices.MinFunc(points, byY), slices.MaxFunc(points, byY)
	if len(points) < 500 || len(points) > mostLoads || least.Y != 100 || most.Y != 5099 || least.Title != "concurrency 1" || points[0].X != 1 || !slices.IsSortedFunc(points, func(a, b svg.Point) int { return cmp.Compare(a.X, b.X) }) {
		t.Errorf("%d points from %+v to %+v", len(points), least, most)
	}
	if !strings.Contains(f.Subtitle, "at most 1,000 levels of a run") || f.Panels[1].X.Ticks != nil {
		t.Errorf("%q, %d ticks", f.Subtitle, len(f.Panels[1].X.Ticks))
	}
	run.Levels = run.Levels[:1000]
	if f := Sweep([]*view.Run{run}, Options{}); len(f.Panels[1].Series[0].Points) != 1000 || strings.Contains(f.Subtitle, "at most") || len(f.Panels[1].X.Ticks) != 1000 {
		t.Errorf("%q, %d ticks of 1,000 levels", f.Subtitle, len(f.Panels[1].X.Ticks))
	}
}

// Loads of several kinds are categories.
func TestLoads(t *testing.T) {
	r := made(100, 200, 1, 4)
	r.Header.Experiments[1].Mode = "request_rate"
	f := Sweep([]*view.Run{collected(t, "a.json", r)}, Options{})
	if a := f.Panels[0].X; a.Scale != svg.Names || strings.Join(a.Names, "|") != "concurrency 1|request rate 4" {
		t.Errorf("axis %+v", a)
	}
}

// A heat map counts all gaps, and the row from 0 has the short ones.
func TestHeat(t *testing.T) {
	run := collected(t, "a.json", made(100, 200, 1, 4))
	for i := range run.Levels {
		for _, h := range []*view.Heatmap{&run.Levels[i].GapsByTime, &run.Levels[i].GapsByPosition} {
			one := []*view.Heatmap{h}
			b := binsOf(one, bounds(one, columnsOf))
			c := heat(h, &b)
			sum := uint64(0)
			for _, n := range c.Counts {
				sum += n
			}
			if sum != uint64(h.N) || len(c.Counts) != (len(c.X)-1)*(len(c.Y)-1) {
				t.Errorf("%d of %d gaps in %d cells", sum, h.N, len(c.Counts))
			}
		}
	}
	h := &view.Heatmap{X: []float64{0, 1}, Y: []float64{1, 2, 4, 100, 200, 400}, Counts: []uint32{3, 2, 0, 50, 1}, N: 56}
	b := binsOf([]*view.Heatmap{h}, h.X)
	c := heat(h, &b)
	if fmt.Sprint(c.Y, c.Counts) != "[0 4 100 200 400] [5 0 50 1]" {
		t.Errorf("%v %v", c.Y, c.Counts)
	}
}

// Heat maps of levels with the same name share their bins, in one chart and across charts, and count all gaps of
// these levels. Levels with other names do not matter.
func TestHeatBins(t *testing.T) {
	a, b := collected(t, "a.json", made(100, 200, 1, 4)), collected(t, "b.json", made(370, 90, 4, 8))
	panels, bins := map[string]*svg.Cells{}, BinsByName([]*view.Run{a, b})
	for _, f := range []*svg.Figure{
		Heatmap([]*view.Run{a, b}, Options{}), Heatmap([]*view.Run{a}, Options{Bins: bins}), Heatmap([]*view.Run{b}, Options{Bins: bins}),
	} {
		for _, p := range f.Panels {
			name := p.Title
			if len(f.Panels) == 4 && !strings.Contains(name, ".json") { // of one run
				name = map[bool]string{true: "a.json, ", false: "b.json, "}[f.Panels[0].Title == "concurrency 1: ITL over time"] + name
			}
			if old := panels[name]; old != nil && fmt.Sprint(*old) != fmt.Sprint(*p.Cells) {
				t.Errorf("%s depends on the picture:\n%v\n%v", name, *old, *p.Cells)
			}
			panels[name] = p.Cells
		}
	}
	if len(panels) != 8 {
		t.Fatalf("%d panels", len(panels))
	}
	if alone, old := panels["a.json, concurrency 1: ITL over time"], panels["a.json, concurrency 4: ITL over time"]; slices.Equal(alone.X, old.X) {
		t.Error("concurrency 1 has the bins of concurrency 4")
	}
	for _, what := range []string{"ITL over time", "ITL by position"} {
		old, young := panels["a.json, concurrency 4: "+what], panels["b.json, concurrency 4: "+what]
		if !slices.Equal(old.X, young.X) || !slices.Equal(old.Y, young.Y) {
			t.Errorf("%s: bins %v %v and %v %v", what, old.X, old.Y, young.X, young.Y)
		}
		for _, side := range []struct {
			cells *svg.Cells
			level *view.Level
		}{{old, &a.Levels[1]}, {young, &b.Levels[0]}} {
			h := &side.level.GapsByTime
			if what == "ITL by position" {
				h = &side.level.GapsByPosition
			}
			sum := uint64(0)
			for _, n := range side.cells.Counts {
				sum += n
			}
			if sum != uint64(h.N) {
				t.Errorf("%s: %d of %d gaps", what, sum, h.N)
			}
		}
	}
}

func TestThin(t *testing.T) {
	var all []mark
	for i := range 10_000 {
		all = append(all, mark{x: float64(i), y: math.Sin(float64(i))})
	}
	all[4321].y, all[4323].y, all[17].y = 9, -9, math.NaN()
	kept, leftOut := thin(all, 200)
	if len(kept)+leftOut != len(all) || len(kept) > 200 {
		t.Errorf("%d kept, %d left out", len(kept), leftOut)
	}
	low, high := 0.0, 0.0
	for i, p := range kept {
		low, high = min(low, p.y), max(high, p.y)
		if i > 0 && p.x <= kept[i-1].x {
			t.Errorf("mark %d is at %v after %v", i, p.x, kept[i-1].x)
		}
	}
	if low != -9 || high != 9 {
		t.Errorf("from %v to %v, want -9 to 9", low, high)
	}
	if kept, leftOut := thin(all[:50], 50); len(kept) != 50 || leftOut != 0 {
		t.Errorf("%d kept, %d left out of few", len(kept), leftOut)
	}
	same := []mark{{x: 1, y: 1}, {x: 1, y: 3}, {x: 1, y: 2}}
	if kept, leftOut := thin(same, 2); len(kept) != 2 || leftOut != 1 {
		t.Errorf("%v", kept)
	}
}

func TestShortNames(t *testing.T) {
	for _, tt := range []struct{ paths, want string }{
		{"", ""},
		{"runs/a.json runs/b.json", "a.json b.json"},
		{"old/run.json new/run.json", "old/run.json new/run.json"},
		{"/x/old/run.json /x/new/run.json", "old/run.json new/run.json"},
		{"/x/ab/run.json /x/ac/run.json /x/run.json", "ab/run.json ac/run.json run.json"},
		{"a.json a.json", "a.json a.json (2)"},
		{"-", "-"},
	} {
		if got := strings.Join(shortNames(strings.Fields(tt.paths)), " "); got != tt.want {
			t.Errorf("shortNames(%s) = %s, want %s", tt.paths, got, tt.want)
		}
	}
}

// The same run twice and many levels have entries of their own, but only so many curves.
func TestCurves(t *testing.T) {
	var levels []int
	for i := range 20 {
		levels = append(levels, i+1)
	}
	run := collected(t, "a.json", made(100, 50, levels...))
	all, note := curves([]*view.Run{run}, 12)
	if len(all) != 12 || all[0].name != "concurrency 1" || all[11].name != "concurrency 20" || note != "12 of 20 levels are shown; --experiment chooses others." {
		t.Errorf("%d curves from %s to %s, %q", len(all), all[0].name, all[11].name, note)
	}
}

func TestFindFigure(t *testing.T) {
	if _, err := FindFigure("speed"); err == nil || !strings.Contains(err.Error(), "give one of ttft, e2el") {
		t.Errorf("error %v", err)
	}
	r := view.Request{TTFTNS: 1, E2ELNS: 2, StartNS: 10, QueueNS: 4, ConnectNS: view.Absent, FirstNS: 20, LastTokenNS: 50, InputTokens: 8, CachedTokens: 3, OutputTokens: 5}
	want := map[string]int64{"ttft": 1, "e2el": 2, "decode": 30, "start": 10, "wait": 6, "input_tokens": 8, "cached_tokens": 3, "uncached_tokens": 5, "output_tokens": 5}
	for i := range figures {
		if got := figures[i].of(&r); got != want[figures[i].Name] {
			t.Errorf("%s = %d, want %d", figures[i].Name, got, want[figures[i].Name])
		}
	}
}

// Levels with the same name share few columns, however far apart they are.
func TestTimeBounds(t *testing.T) {
	const width, month = 8e6, 30 * 24 * 3600e9
	at := func(from float64, n int) *view.Heatmap {
		h := &view.Heatmap{}
		for i := range n + 1 {
			h.X = append(h.X, from+float64(i)*width)
		}
		return h
	}
	for _, tt := range []struct {
		name string
		all  []*view.Heatmap
		want []float64 // number of columns, width, last bound
	}{
		{"edge: one column", []*view.Heatmap{at(width, 1)}, []float64{1, width, 2 * width}},
		{"as many as fit", []*view.Heatmap{at(0, mostColumns)}, []float64{mostColumns, width, mostColumns * width}},
		{"one more", []*view.Heatmap{at(0, mostColumns+1)}, []float64{mostColumns/2 + 1, 2 * width, (mostColumns + 1) * width}},
		{"edge: a month apart", []*view.Heatmap{at(month, 1), at(0, 2)}, []float64{mostColumns, 6_750_001 * width, month + width}},
	} {
		x := timeBounds(tt.all)
		if got := []float64{float64(len(x) - 1), x[1] - x[0], x[len(x)-1]}; !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
	if x := timeBounds(nil); x != nil {
		t.Errorf("without heat maps: %v", x)
	}
}

// A load of sessions has the number 0, so a chart shows its name.
func TestShortLevel(t *testing.T) {
	for _, tt := range []struct{ value, want string }{{"8", "8"}, {"2.5", "2.5"}, {"0.0", "session concurrency 2"}, {"", ""}} {
		if got := shortLevel(tt.value, "session concurrency 2"); got != tt.want {
			t.Errorf("shortLevel(%q) = %q, want %q", tt.value, got, tt.want)
		}
	}
}

// A timeline counts the series that are not drawn, also series that the run lacks, and says that it does not mark
// the begins of many levels.
func TestTimelineSaysWhatIsLeftOut(t *testing.T) {
	levels := make([]int, mostBoundary+1)
	for i := range levels {
		levels[i] = i + 1
	}
	r := made(100, 2, levels...)
	s := &r.Telemetry[0]
	for i := range view.MostSeries + 90 {
		s.Samples = append(s.Samples, export.Sample{Series: &export.Series{Name: "vllm:num_requests_running", Type: "gauge", Labels: []export.Label{{Name: "engine", Value: strconv.Itoa(i)}}}})
	}
	s.Samples = append(s.Samples, export.Sample{Series: &export.Series{Name: "DCGM_FI_DEV_POWER_USAGE", Type: "gauge"}})
	text := Timeline([]*view.Run{collected(t, "a.json", r)}, Options{}).Subtitle
	for _, want := range []string{"Running requests: 282 more series are not drawn.", "GPU power: 1 more series is not drawn.", "The starts of the 17 levels are not marked: only up to 16 are."} {
		if !strings.Contains(text, want) {
			t.Errorf("%q lacks %q", text, want)
		}
	}
}
