package perfanalyzer

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/pawindow"
	"github.com/pa-tools/pa/pkg/export/profilejson"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// The console in the documentation of llm_perf: for each of its levels there are
// requests and counters of the server of which the rules make what is printed, to
// the character. The document has lost the blanks at the ends of lines, and the
// number of the release, which is one from 24.07 to 25.02.
func TestDocumentedConsole(t *testing.T) {
	text, err := os.ReadFile("testdata/llm_perf-readme.txt")
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	w := profilejson.NewWriter(&file)
	for _, l := range documentedLevels(t, string(text)) {
		l.write(t, w)
	}
	kind, version, streamed := triton, "0", true
	recorded := json.RawMessage(`{"async":true,"search":"6:8:1","measurement":{"mode":"time_windows","interval_ms":10000}}`)
	if err := w.Close(&export.Run{ServiceKind: &kind, Version: &version, Meta: &export.RunMeta{
		Protocol: "grpc", Streaming: &streamed, Config: recorded,
		Dataset: &export.DatasetMeta{Entries: 1376, Streams: 1, Files: make([]export.DatasetFile, 1)},
	}}); err != nil {
		t.Fatal(err)
	}
	r, err := profilejson.NewReader(t.Context(), "run.json", bytes.NewReader(file.Bytes()), int64(file.Len()), export.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	release := named(t, "25.02")
	rep, err := reportOf(release, r, dialect.Config{Verbose: true})
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := rep.Console(&out, 0); err != nil {
		t.Fatal(err)
	}
	got := regexp.MustCompile(`(?m) +$`).ReplaceAllString(out.String(), "")
	if d := cmp.Diff(string(text), got); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

// A documentedLevel is what the document says of a level.
type documentedLevel struct {
	value      string
	passes     [3]pass
	requests   int
	throughput string
	responses  string // per second
	overhead   float64
	mean, std  int    // µs
	at         [4]int // the 50th, 90th, 95th and 99th percentile, µs
	models     []documentedModel
}

type pass struct {
	rate      string
	mean, std int // µs
}

// A documentedModel is what the document says of a model, in µs: the request, the
// overhead, the queue, and the three parts of the time in the model or, of an
// ensemble, their sum.
type documentedModel struct {
	name  string
	n     uint64
	times []uint64
}

var (
	passLine   = regexp.MustCompile(`Pass \[(\d)\] throughput: (\S+) infer/sec\. Avg latency: (\d+) usec \(std (\d+) usec\)`)
	latency    = regexp.MustCompile(`Avg latency: (\d+) usec \(standard deviation (\d+) usec\)`)
	percentile = regexp.MustCompile(`p(\d+) latency: (\d+) usec`)
	composing  = regexp.MustCompile(`^  (\w+), version: 1$`)
	usec       = regexp.MustCompile(`(\d+) usec`)
)

func documentedLevels(t *testing.T, text string) []documentedLevel {
	t.Helper()
	number := func(s string) int {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	var all []documentedLevel
	var l *documentedLevel
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if name == "Request concurrency" {
			all = append(all, documentedLevel{value: value, models: []documentedModel{{name: "ensemble"}}})
			l = &all[len(all)-1]
		}
		if l == nil {
			continue
		}
		model := &l.models[len(l.models)-1]
		switch m := passLine.FindStringSubmatch(line); {
		case m != nil:
			l.passes[number(m[1])-1] = pass{m[2], number(m[3]), number(m[4])}
		case name == "Request count":
			l.requests = number(value)
		case name == "Throughput":
			l.throughput = strings.TrimSuffix(value, " infer/sec")
		case name == "Response Throughput":
			l.responses = strings.TrimSuffix(value, " infer/sec")
		case name == "Avg client overhead":
			pct, err := strconv.ParseFloat(strings.TrimSuffix(value, "%"), 64)
			if err != nil {
				t.Fatal(err)
			}
			l.overhead = pct
		case name == "Inference count":
			model.n = uint64(number(value))
		case name == "Avg request latency":
			for _, m := range usec.FindAllStringSubmatch(line, -1) {
				model.times = append(model.times, uint64(number(m[1])))
			}
		}
		if m := latency.FindStringSubmatch(line); m != nil {
			l.mean, l.std = number(m[1]), number(m[2])
		}
		if m := percentile.FindStringSubmatch(line); m != nil {
			l.at[slices.Index([]string{"50", "90", "95", "99"}, m[1])] = number(m[2])
		}
		if m := composing.FindStringSubmatch(line); m != nil {
			l.models = append(l.models, documentedModel{name: m[1]})
		}
	}
	if len(all) != 3 || len(all[2].models) != 4 {
		t.Fatalf("%d levels: %+v", len(all), all)
	}
	return all
}

// write writes requests and counters of which perf_analyzer makes the level.
func (l *documentedLevel) write(t *testing.T, w *profilejson.Writer) {
	t.Helper()
	const base = 1_720_000_000_000_000_000
	windows := l.solve(t)
	bounds := []uint64{base}
	for i := range windows {
		bounds = append(bounds, bounds[i]+uint64(windows[i].ns))
	}
	more := l.answers(t, time.Duration(bounds[3]-base)) - l.requests // that have two responses
	if err := w.BeginExperiment(export.ModeConcurrency, l.value); err != nil {
		t.Fatal(err)
	}
	id := uint64(0)
	for i, win := range windows {
		for k, us := range win.latencies {
			end := bounds[i] + uint64(k+1)*uint64(win.ns)/uint64(len(win.latencies)+1)
			q := &export.Request{ID: id, StartNS: end - uint64(us*1000)}
			if more > 0 {
				q.Responses = append(q.Responses, answer(end-1000))
				more--
			}
			q.Responses = append(q.Responses, answer(end))
			if err := w.WriteRequest(q); err != nil {
				t.Fatal(err)
			}
			id++
		}
	}
	meta := &export.ExperimentMeta{RequestCounts: export.RequestCounts{Measured: l.requests}, Client: &export.ClientMeta{CPU: &export.CPUMeta{Share: l.overhead / 100, Cores: 2}}, ServerStats: l.serverStats()}
	if err := w.EndExperiment(&export.Experiment{WindowBoundaries: bounds, Meta: meta}); err != nil {
		t.Fatal(err)
	}
}

// answers returns how many responses there were in that time.
func (l *documentedLevel) answers(t *testing.T, d time.Duration) int {
	t.Helper()
	rate, err := strconv.ParseFloat(l.responses, 64)
	if err != nil {
		t.Fatal(err)
	}
	return int(math.Round(rate * d.Seconds()))
}

func answer(ns uint64) export.Response {
	return export.Response{RecvNS: ns, Outputs: export.Fields{{Name: "text_output", Value: export.Text("a")}}}
}

// A solved window is how long it took and the latencies in it, in µs.
type solved struct {
	n         int
	ns        int64
	mean, std float64 // that it is to have, µs
	latencies []float64
}

// solve returns windows that print as the passes do, and together as the level
// does. How many requests each has, and where between two whole microseconds its
// mean and its deviation lie, the document does not say: the first that agree with
// what is printed of all together are taken.
func (l *documentedLevel) solve(t *testing.T) [3]solved {
	t.Helper()
	var w [3]solved
	third := l.requests / 3
	for first := third - 12; first <= third+12; first++ {
		for second := third - 12; second <= third+12; second++ {
			for tenth := -4; tenth <= 4; tenth++ { // of the last digit of the rates
				if !l.last(t, &w, [3]int{first, second, l.requests - first - second}, float64(tenth)/10) {
					continue
				}
				for k := range 100 {
					for i, p := range l.passes {
						w[i].mean, w[i].std = float64(p.mean)+float64(k/10)/10+0.05, float64(p.std)+float64(k%10)/10+0.05
					}
					if mean, std := pooled(w[:]); int(mean) == l.mean && int(std) == l.std && l.fill(&w) {
						return w
					}
				}
			}
		}
	}
	t.Fatalf("concurrency %s: no requests print so", l.value)
	return w
}

// last sets how long windows of so many requests last, and says whether rates of
// all together print as they do. The rates of the windows are the printed rates
// plus a part of a unit of their last digit.
func (l *documentedLevel) last(t *testing.T, w *[3]solved, requests [3]int, part float64) bool {
	t.Helper()
	together := time.Duration(0)
	for i, n := range requests {
		rate, err := strconv.ParseFloat(l.passes[i].rate, 64)
		if err != nil {
			t.Fatal(err)
		}
		w[i] = solved{n: n, ns: int64(float64(n) / (rate + part*1e-4) * 1e9)}
		together += time.Duration(w[i].ns)
	}
	return six(pawindow.PerSecond(l.requests, together)) == l.throughput && six(pawindow.PerSecond(l.answers(t, together), together)) == l.responses
}

// pooled returns the mean and the deviation of the sample of windows together.
func pooled(w []solved) (mean, std float64) {
	n := 0.0
	for _, x := range w {
		n += float64(x.n)
		mean += float64(x.n) * x.mean
	}
	mean /= n
	squares := 0.0
	for _, x := range w {
		squares += float64(x.n-1)*x.std*x.std + float64(x.n)*(x.mean-mean)*(x.mean-mean)
	}
	return mean, math.Sqrt(squares / (n - 1))
}

// fill makes latencies with the means and deviations of the windows and the
// percentiles of the level. Latencies from the median on have the value of the
// percentile at or below them. The slowest, above the 99th percentile, are in each
// window as slow, and the latencies below the median as fast, as its deviation and its mean
// want it; how many of the slowest are in which window is tried out.
func (l *documentedLevel) fill(w *[3]solved) bool {
	var index [4]int
	for i, pct := range [...]int{50, 90, 95, 99} {
		index[i] = pawindow.Index(pct, l.requests)
	}
	slowest := l.requests - index[3] - 1
	for a := range slowest + 1 {
	split:
		for b := range slowest + 1 - a {
			many := [3]int{a, b, slowest - a - b}
			for i := range w {
				w[i].latencies = nil
			}
			// The ranks from the median to the 99th percentile go round.
			for rank := index[0]; rank <= index[3]; rank++ {
				p := 3
				for index[p] > rank {
					p--
				}
				i := rank % 3
				w[i].latencies = append(w[i].latencies, float64(l.at[p])+0.5)
			}
			for i := range w {
				fast := w[i].n - len(w[i].latencies) - many[i] // below the median
				if fast <= 0 || !w[i].balance(many[i], fast, float64(l.at[0]), float64(l.at[3])+1) {
					continue split
				}
			}
			return true
		}
	}
	return false
}

// balance adds so many slow and fast latencies that the window has its mean and
// its deviation; false when they would have to be on the wrong side of the median
// or of the 99th percentile.
func (w *solved) balance(slow, fast int, median, least float64) bool {
	sum, squares := 0.0, 0.0
	for _, x := range w.latencies {
		sum += x
		squares += (x - w.mean) * (x - w.mean)
	}
	n := float64(w.n)
	fastest := func(x float64) float64 { return (n*w.mean - sum - float64(slow)*x) / float64(fast) }
	wide := func(x float64) float64 {
		f := fastest(x)
		all := squares + float64(slow)*(x-w.mean)*(x-w.mean) + float64(fast)*(f-w.mean)*(f-w.mean)
		return math.Sqrt(all / (n - 1))
	}
	low, high := least, 10e6
	if slow == 0 || wide(low) > w.std || wide(high) < w.std {
		return false
	}
	for range 100 {
		if mid := (low + high) / 2; wide(mid) < w.std {
			low = mid
		} else {
			high = mid
		}
	}
	f := fastest(low)
	if f <= 0 || f >= median {
		return false
	}
	for range slow {
		w.latencies = append(w.latencies, low)
	}
	for range fast {
		w.latencies = append(w.latencies, f)
	}
	return true
}

// serverStats returns counters before the first and behind the last window.
func (l *documentedLevel) serverStats() *export.ServerStats {
	s := &export.ServerStats{Models: []export.ServerModel{{Name: "ensemble", Version: "1", Platform: "ensemble", Composing: []int{1, 2, 3}, Decoupled: true}}}
	edges := []export.StatsSnapshot{{Edge: export.EdgeMeasure}, {Edge: export.EdgeWindow, Window: 0}, {Edge: export.EdgeWindow, Window: 1}, {Edge: export.EdgeWindow, Window: 2}}
	for i := range edges {
		edges[i].StartNS, edges[i].EndNS = uint64(i+1), uint64(i+1)
	}
	for i, m := range l.models {
		if i > 0 {
			s.Models = append(s.Models, export.ServerModel{Name: m.name, Version: "1"})
		}
		zero, grown := export.ModelStats{Name: m.name, Version: "1"}, m.counters()
		for k := range edges {
			if k < len(edges)-1 {
				edges[k].Stats = append(edges[k].Stats, zero)
			} else {
				edges[k].Stats = append(edges[k].Stats, grown)
			}
		}
	}
	s.Snapshots = edges
	return s
}

// counters returns what makes these times. What is printed of a model adds up to
// less than its request: the overhead is taken from the sum of its parts, which are
// rounded down one by one. Each has a part of what is missing.
func (m *documentedModel) counters() export.ModelStats {
	of := func(ns uint64) export.CountNS { return export.CountNS{Count: m.n, NS: m.n * ns} }
	s := export.ModelStats{Name: m.name, Version: "1", InferenceCount: m.n, ExecutionCount: m.n}
	s.InferenceStats.Success = of(m.times[0] * 1000)
	if len(m.times) == 6 {
		rest := m.times[0]
		for _, part := range m.times[1:] {
			rest -= part
		}
		part := rest*1000/3 + 1 // 1001 ns for 3 µs are too many: below 1000
		s.InferenceStats.Queue = of(m.times[2] * 1000)
		s.InferenceStats.ComputeInput, s.InferenceStats.ComputeInfer, s.InferenceStats.ComputeOutput = of(m.times[3]*1000+part), of(m.times[4]*1000+part), of(m.times[5]*1000+part)
	}
	return s
}
