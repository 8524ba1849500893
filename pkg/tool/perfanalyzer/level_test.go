package perfanalyzer

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pa-tools/pa/internal/test/runtest"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/pawindow"
	"github.com/pa-tools/pa/pkg/export/profilejson"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// A level whose rate was not kept up has a warning, and the notes that only pa-record has.
func TestLevelDelayed(t *testing.T) {
	l := Level{
		Mode: export.ModeRequestRate, Value: 2000, NoServer: true, SentPerSecond: 298.314, Notes: []string{"Failed requests: 2"},
		Summary: pawindow.Summary{
			Duration: time.Second, Requests: 100, Delayed: 99, Mean: 6691 * time.Microsecond, StdDevUS: 653,
			Percentiles: []pawindow.Percentile{{Pct: 50, Latency: 6573 * time.Microsecond}},
		},
		Windows: []pawindow.Summary{{}, {Duration: time.Second, Requests: 1, Mean: time.Millisecond, StdDevUS: pawindow.NoDeviation}},
		Times:   &pawindow.MeanTimes{Request: 6681 * time.Microsecond, Send: 100 * time.Microsecond, Receive: 16 * time.Microsecond},
	}
	l.OverheadPct = new(50.006)
	s := Settings{Verbose: true, Protocol: "http"}
	var out strings.Builder
	if err := s.WriteLevel(&out, &l); err != nil {
		t.Fatal(err)
	}
	const want = `Request Rate: 2000 inference requests per second
  Pass [1] cb::Error: No valid requests recorded within time interval. Please use a larger time window.
  Pass [2] throughput: 1 infer/sec. Avg latency: 1000 usec (std 18446744073709551615 usec). 
  Client: 
    Request count: 100
    Failed requests: 2
    Avg send request rate: 298.31 infer/sec
    [WARNING] Perf Analyzer was not able to keep up with the desired request rate. 99.00% of the requests were delayed. 
    Throughput: 100 infer/sec
    Avg client overhead: 50.01%
    Avg latency: 6691 usec (standard deviation 653 usec)
    p50 latency: 6573 usec
    Avg HTTP time: 6681 usec (send 100 usec + response wait 6565 usec + receive 16 usec)
[WARNING] Perf Analyzer is not able to keep up with the desired load. The results may not be accurate.
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
	l.Summary.Delayed = 1
	out.Reset()
	if err := s.WriteLevel(&out, &l); err != nil || strings.Contains(out.String(), "delayed") {
		t.Errorf("1 %% delayed is too few to be said: %v\n%s", err, out.String())
	}
}

// Warm-up has a line of its own, and no more requests at a time than in all.
func TestLevelHead(t *testing.T) {
	old := named(t, "24.08")
	for _, tt := range []struct {
		name string
		s    Settings
		l    Level
		want string
	}{
		{"concurrency", Settings{}, Level{Mode: export.ModeConcurrency, Value: 8}, "Request concurrency: 8\n"},
		{"warm-up", Settings{Warmup: 3}, Level{Mode: export.ModeConcurrency, Value: 8}, "Request concurrency: 3\nRequest concurrency: 8\n"},
		{"warm-up of more", Settings{Warmup: 30}, Level{Mode: export.ModeConcurrency, Value: 8}, "Request concurrency: 8\nRequest concurrency: 8\n"},
		{"a release without warm-up", Settings{Release: old, Warmup: 3}, Level{Mode: export.ModeConcurrency, Value: 8}, "Request concurrency: 8\n"},
		{"a rate is warmed up without a word", Settings{Warmup: 3}, Level{Mode: export.ModeRequestRate, Value: 2.5}, "Request Rate: 2.5 inference requests per second\n"},
		{"until 24.12", Settings{Release: old}, Level{Mode: export.ModeRequestRate, Value: 10}, "Request Rate: 10 inference requests per seconds\n"},
		{"intervals", Settings{}, Level{Mode: export.ModeRequestRate, Value: 10, Unnamed: true}, ""},
		{"a load of pa-record's own", Settings{}, Level{Name: "Session concurrency 4"}, "Session concurrency 4\n"},
	} {
		p := &printer{}
		tt.s.writeHead(p, &tt.l)
		if got := p.b.String(); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestReleaseOf(t *testing.T) {
	for version, want := range map[string]string{
		"2.38.0": "23.09", "2.39.0": "23.10", "2.44.0": "24.03", "": "24.08", "2.52.0": "24.11", "2.59.1": "25.06", "2.60.0": "25.07",
		"2.21.0": "23.09", "2.99.0": "25.07", "0.0.0": "25.07", "3.1": "25.07", "2": "25.07", "2.x": "25.07",
	} {
		if got := releaseOf(&export.Run{Version: &version}).Name; got != want {
			t.Errorf("version %q is of %s, want %s", version, got, want)
		}
	}
	if got := releaseOf(&export.Run{}).Name; got != "25.07" {
		t.Errorf("no version is of %s, want the latest", got)
	}
	version := "2.44.0"
	if got := releaseOf(&export.Run{Version: &version, Meta: &export.RunMeta{}}).Name; got != "25.07" {
		t.Errorf("a run of pa-record is of %s, want the latest", got)
	}
}

// reportOf returns a release's report of a run; a nil release stands for the one that
// wrote the file.
func reportOf(release *Release, r export.Reader, cfg dialect.Config) (*Report, error) {
	return runtest.Analyze[*Report](context.Background(), newTool(family, release), r, cfg)
}

// named returns the release of that name.
func named(t *testing.T, name string) *Release {
	t.Helper()
	i := slices.IndexFunc(releases, func(r Release) bool { return r.Name == name })
	if i < 0 {
		t.Fatalf("no release %s", name)
	}
	return &releases[i]
}

// analyze reads an export given as JSON.
func analyze(t *testing.T, text string, cfg dialect.Config) *Report {
	t.Helper()
	r, err := profilejson.NewReader(context.Background(), "run.json", strings.NewReader(text), int64(len(text)), export.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	rep, err := reportOf(nil, r, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

// blind makes an export without outputs, of requests with these gaps in ms.
func blind(requests ...[]float64) string {
	var all []string
	for i, gaps := range requests {
		at := float64(1000 * (i + 1))
		start := at
		var times []string
		for _, g := range gaps {
			at += g
			times = append(times, fmt.Sprintf("%.0f", at*1e6))
		}
		all = append(all, fmt.Sprintf(`{"timestamp":%.0f,"response_timestamps":[%s]}`, start*1e6, strings.Join(times, ",")))
	}
	return fmt.Sprintf(`{"experiments":[{"experiment":{"mode":"concurrency","value":1},"requests":[%s],"window_boundaries":[1,9000000000,18000000000,27000000000]}],"version":"2.39.0"}`,
		strings.Join(all, ","))
}

// Without outputs, the times of a run tell whether last responses were null. What
// they come to is seen in the mean latency.
func TestNullLastByTime(t *testing.T) {
	for _, tt := range []struct {
		name      string
		run       string
		mean      time.Duration
		responses int
	}{
		{"null: right behind the last token", blind([]float64{300, 20, 20, 0.3}, []float64{300, 20, 20, 0.2}), 340 * time.Millisecond, 6},
		{"the last token takes its time", blind([]float64{300, 20, 20, 19}, []float64{300, 20, 20, 21}), 360 * time.Millisecond, 8},
		{"one slow null among others", blind([]float64{300, 20, 20, 0.3}, []float64{300, 20, 20, 18}, []float64{300, 20, 20, 0.2}), 340 * time.Millisecond, 9},
		{"a token and null", blind([]float64{300, 0.3}, []float64{300, 0.2}), 300 * time.Millisecond, 2},
		{"two tokens", blind([]float64{300, 5}, []float64{300, 5}), 305 * time.Millisecond, 4},
		{"one response is never null", blind([]float64{300}, []float64{300}), 300 * time.Millisecond, 2},
	} {
		l := analyze(t, tt.run, dialect.Config{}).Levels[0]
		if got := l.Summary.Mean.Round(time.Millisecond); got != tt.mean || l.Summary.Responses != tt.responses {
			t.Errorf("%s: mean latency %v, %d responses, want %v, %d", tt.name, got, l.Summary.Responses, tt.mean, tt.responses)
		}
	}
}

// A single empty response is the answer of a model, or of a decoupled one the end
// of none.
func TestSingleEmpty(t *testing.T) {
	const head = `{"experiments":[{"experiment":{"mode":"concurrency","value":1},"requests":[` +
		`{"timestamp":100,"request_inputs":{},"response_timestamps":[200],"response_outputs":[{"OUT":""}]}`
	const tail = `],"window_boundaries":[1,1000]}],"version":"2.60.0","service_kind":"triton","endpoint":""}`
	if l := analyze(t, head+tail, dialect.Config{}).Levels[0]; l.Summary.Requests != 1 {
		t.Errorf("alone: %d requests, want 1", l.Summary.Requests)
	}
	more := `,{"timestamp":300,"request_inputs":{},"response_timestamps":[400,500],"response_outputs":[{"OUT":"a"},{"OUT":""}]}`
	rep := analyze(t, head+more+tail, dialect.Config{})
	if l := rep.Levels[0]; l.Summary.Requests != 1 || l.Summary.Mean != 100 || !rep.Settings.Decoupled {
		t.Errorf("of a decoupled model: %d requests, mean %v, want one of 100 ns", l.Summary.Requests, l.Summary.Mean)
	}
}

// sequenced returns requests of sequences: id, start and end of each.
func sequenced(rows ...[3]uint64) *sequences {
	var s sequences
	for _, r := range rows {
		s.add(&export.Request{SequenceID: r[0], StartNS: r[1], Responses: []export.Response{{RecvNS: r[2]}}}, pawindow.Find(pawindow.Cut([]uint64{0, 100, 200}), r[2]))
	}
	return &s
}

func TestSequences(t *testing.T) {
	for _, tt := range []struct {
		name string
		s    *sequences
		want []int // that ended in each of two windows
	}{
		{"none", sequenced(), []int{0, 0}},
		{"one", sequenced([3]uint64{1, 0, 10}, [3]uint64{1, 11, 20}), []int{1, 0}},
		{"one after the other", sequenced([3]uint64{1, 0, 10}, [3]uint64{1, 11, 90}, [3]uint64{2, 91, 95}, [3]uint64{2, 100, 150}), []int{1, 1}},
		{"the last was cut off", sequenced([3]uint64{1, 0, 10}, [3]uint64{1, 11, 90}, [3]uint64{2, 91, 95}), []int{1, 0}},
		{"two at a time, the last of one cut off", sequenced(
			[3]uint64{1, 0, 10}, [3]uint64{2, 1, 12}, [3]uint64{1, 11, 90}, [3]uint64{2, 13, 80}, [3]uint64{4, 81, 140}, [3]uint64{3, 91, 95}, [3]uint64{3, 96, 110},
		), []int{2, 1}},
		{"in no window", sequenced([3]uint64{1, 0, 300}), []int{0, 0}},
	} {
		windows := make([]pawindow.Stats, 2)
		tt.s.count(windows)
		if got := []int{windows[0].Sequences, windows[1].Sequences}; !slices.Equal(got, tt.want) {
			t.Errorf("%s: %d ended, want %d", tt.name, got, tt.want)
		}
	}
}

// Levels that perf_analyzer was interrupted in, or does not measure, are not
// reported; a warning says so.
func TestUnreported(t *testing.T) {
	run := func(version, mode, value, windows string) string {
		return fmt.Sprintf(`{"experiments":[{"experiment":{"mode":%q,"value":%s},"requests":[{"timestamp":100,"response_timestamps":[200],"response_outputs":[{"OUT":"a"}]}],`+
			`"window_boundaries":%s}],"version":%q,"service_kind":"triton"}`, mode, value, windows, version)
	}
	for _, tt := range []struct {
		name, run string
		console   string // behind the settings
		warning   string
	}{
		{"two windows", run("2.60.0", "concurrency", "1", "[1,300,500]"), "Request concurrency: 1\n", "interrupted after 2 of at least 3 windows"},
		{"one, before there were request counts", run("2.44.0", "concurrency", "1", "[1,300]"), "Request concurrency: 1\n", "interrupted after 1 of"},
		{"no valid request in the last windows", run("2.60.0", "concurrency", "1", "[1,300,500,600,700]"), "Request concurrency: 1\n", "no valid requests in the last windows"},
		{"sessions", run("2.59.0", "request_rate", "0.0", "[0,18446744073709551615]"), "", "perf_analyzer measures no windows there"},
	} {
		rep := analyze(t, tt.run, dialect.Config{})
		var out strings.Builder
		if err := rep.Console(&out, 0); err != nil {
			t.Fatal(err)
		}
		if _, got, _ := strings.Cut(out.String(), "\n\n"); got != tt.console {
			t.Errorf("%s: console %q, want %q", tt.name, got, tt.console)
		}
		if w := fmt.Sprint(rep.Warnings()); !strings.Contains(w, tt.warning) {
			t.Errorf("%s: warnings %s, want %q", tt.name, w, tt.warning)
		}
		var csv strings.Builder
		if err := rep.CSV(&csv); err != nil || csv.Len() > 0 {
			t.Errorf("%s: a CSV file of nothing: %v\n%s", tt.name, err, csv.String())
		}
	}
}

func TestArguments(t *testing.T) {
	for _, tt := range []struct{ name, value, want string }{
		{"measurement-mode", "windows", "--arg measurement-mode=windows: expected time_windows or count_windows"},
		{"request-count", "-1", "--arg request-count=-1: expected a whole number"},
		{"concurrency-range", "a:b", "--arg concurrency-range=a:b: expected start:end:step"},
		{"protocol", "udp", "--arg protocol=udp: expected http or grpc"},
		{"max-threads", "4", "--arg max-threads=4: perf_analyzer's reports do not depend on this flag; expected one of measurement-mode, "},
	} {
		err := new(Settings).apply(&dialect.Config{Args: map[string]string{tt.name: tt.value}})
		if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%s=%s: %v, want %q", tt.name, tt.value, err, tt.want)
		}
	}
}

// A level without windows is one window, from the first start to the last end,
// however the requests stand in the file.
func TestLevelWithoutWindows(t *testing.T) {
	const file = `{"experiments":[{"experiment":{"mode":"concurrency","value":2},"requests":[` +
		`{"timestamp":1000000000,"response_timestamps":[1400000000],"response_outputs":[{"response":"{}"}]},` +
		`{"timestamp":1400000000,"response_timestamps":[2000000000],"response_outputs":[{"response":"{}"}]},` +
		`{"timestamp":1000000000,"response_timestamps":[1500000000],"response_outputs":[{"response":"{}"}]}],` +
		`"window_boundaries":[]}],"version":"","service_kind":"openai","endpoint":"v1/chat/completions"}`
	rep := analyze(t, file, dialect.Config{})
	if s := rep.Levels[0].Summary; s.Requests != 3 || s.Duration != time.Second || s.Mean != 500*time.Millisecond {
		t.Errorf("%d requests in %v, mean %v; want 3 in 1s, mean 500ms", s.Requests, s.Duration, s.Mean)
	}
}
