package tool

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/golden"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/internal/resultfile"
)

// A sent is what the server's own log says of a request.
type sent struct {
	ID     string   `json:"id"`
	RecvNS int64    `json:"recv"`
	Stamps []uint64 `json:"stamps"`
	End    string   `json:"end"`
}

// serverLog returns the log by the time of the first token, which is also that
// token's text, and by the id that the client sent.
func serverLog(t *testing.T, fsys fs.FS, name string) map[string]*sent {
	t.Helper()
	log := map[string]*sent{}
	data, err := fs.ReadFile(fsys, name)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(data) {
		var s sent
		if err := json.Unmarshal(line, &s); err != nil {
			t.Fatal(err)
		}
		if len(s.Stamps) > 0 {
			log[strconv.FormatUint(s.Stamps[0], 10)] = &s
		}
		if s.ID != "" {
			log[s.ID] = &s
		}
	}
	return log
}

// readAll opens data as a file of one of the formats and returns its requests.
func readAll(t *testing.T, name string, data []byte) (*export.Run, []*export.Request, export.Reader) {
	t.Helper()
	for _, f := range Formats() {
		if !f.Sniff(data[:min(len(data), 4<<10)]) {
			continue
		}
		r, err := f.Open(t.Context(), name, bytes.NewReader(data), int64(len(data)), export.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		var all []*export.Request
		for r.Next() {
			all = append(all, r.Request().Clone())
		}
		if r.Err() != nil {
			t.Fatal(r.Err())
		}
		return r.Run(), all, r
	}
	t.Fatalf("%s: no format takes it", name)
	return nil, nil, nil
}

// aiperfIDs returns the ids of the records of an AIPerf file, in order.
func aiperfIDs(t *testing.T, data []byte) (ids []string) {
	for line := range bytes.Lines(data) {
		var x struct {
			Metadata struct {
				ID string `json:"x_request_id"`
			} `json:"metadata"`
		}
		if err := json.Unmarshal(line, &x); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, x.Metadata.ID)
	}
	return ids
}

// tokens returns the texts of the tokens of a request: what the server wrote
// there is when it sent them.
func tokens(r *export.Request) []string {
	if r.Stated != nil && r.Stated.Text != nil {
		return strings.Fields(*r.Stated.Text)
	}
	var all []string
	for _, p := range r.Responses {
		v, _ := p.Outputs.Get("response")
		_, rest, ok := bytes.Cut(v.Data, []byte(`":" 1`))
		if !ok {
			continue
		}
		text, _, _ := bytes.Cut(rest, []byte(`"`))
		all = append(all, "1"+string(text))
	}
	return all
}

// tokenTimes returns when the tokens came, by what the import says.
func tokenTimes(r *export.Request) []uint64 {
	var at []uint64
	for i, p := range r.Responses {
		if r.Stated != nil && slices.Contains(r.Stated.Silent, i) || p.Final {
			continue
		}
		if v, ok := p.Outputs.Get("response"); ok && !bytes.Contains(v.Data, []byte(`":" 1`)) {
			continue
		}
		at = append(at, p.RecvNS)
	}
	return at
}

// peerFiles are the importable files of the archive of peers. errMS is how far
// that client's times were from the server's on that busy machine of two cores.
var peerFiles = []struct {
	dir, file string
	requests  int
	failed    int
	events    int // token events of all requests
	compared  int // own figures of the file
	errMS     int64
	lacks     string
}{
	{"aiperf/ok", "profile_export.jsonl", 8, 0, 160, 48, 31, "texts inputs"},
	{"aiperf/cut", "profile_export.jsonl", 20, 2, 360, 108, 16, "texts inputs"}, // of failed requests it has no metrics
	{"aiperf/int", "profile_export.jsonl", 8, 0, 800, 48, 39, "texts inputs"},
	{"aiperf/ok", "profile_export_raw.jsonl", 8, 0, 160, 0, 31, ""},
	{"aiperf/cut", "profile_export_raw.jsonl", 20, 2, 380, 0, 16, ""},
	{"aiperf/int", "profile_export_raw.jsonl", 7, 0, 700, 0, 39, ""}, // shortened
	{"guidellm/ok", "benchmarks.json", 8, 0, 160, 98, 3, "gaps texts"},
	{"guidellm/cut", "benchmarks.json", 20, 2, 380, 98, 3, "gaps texts"},
	{"infperf/ok", "reports/per_request_lifecycle_metrics.json", 8, 0, 160, 0, 20, "epoch"},
	{"infperf/cut", "reports/per_request_lifecycle_metrics.json", 20, 2, 360, 0, 21, "epoch"},
	{"vllm/ok", "result.json", 8, 0, 160, 19, 9, "epoch texts inputs"},
	{"vllm/cut", "result.json", 20, 2, 380, 19, 12, "epoch texts inputs"},
	{"vllm_rs/ok", "result.json", 8, 0, 160, 28, 5, "epoch texts inputs"},
	{"vllm_rs/cut", "result.json", 20, 2, 380, 28, 4, "epoch texts inputs"},
	{"sglang/ok", "result.jsonl", 8, 0, 160, 16, 4, "starts ends texts inputs"},
	{"sglang/cut", "result.jsonl", 20, 2, 380, 16, 19, "starts ends texts inputs"},
	{"sglang_rs/ok", "result.jsonl", 8, 0, 160, 16, 5, "starts ends texts inputs"},
	{"sglang_rs/cut", "result.jsonl", 20, 2, 360, 16, 12, "starts ends texts inputs"},
	{"sglang_rs/int", "result.jsonl", 32, 0, 3200, 16, 21, "starts ends texts inputs"},
	{"endpoints/ok", "events.jsonl", 8, 0, 16, 0, 5, "epoch texts gaps"}, // first and last
	{"endpoints/chunks", "events.jsonl", 8, 0, 160, 0, 5, "epoch texts"},
	{"endpoints/cut", "events.jsonl", 20, 0, 380, 0, 15, "epoch texts"}, // the tool calls the cut ones complete
}

func TestPeersImported(t *testing.T) {
	fsys := golden.FS(t, "peers")
	for _, tt := range peerFiles {
		t.Run(tt.dir+"/"+path.Base(tt.file), func(t *testing.T) {
			data, err := fs.ReadFile(fsys, tt.dir+"/"+tt.file)
			if err != nil {
				t.Fatal(err)
			}
			run, all, r := readAll(t, tt.file, data)
			failed, events := 0, 0
			for _, q := range all {
				n := len(tokenTimes(q))
				if s := q.Stated; s != nil && s.TokenEvents != nil {
					n = int(*s.TokenEvents)
				}
				events += n
				if q.Excluded() == export.NotExcluded {
					continue
				}
				failed++
				if q.Status != export.StatusTruncated || q.Message == "" {
					t.Errorf("request %d: %v %q, want a truncated one with a message", q.ID, q.Status, q.Message)
				}
			}
			if len(all) != tt.requests || failed != tt.failed || events != tt.events {
				t.Errorf("%d requests, %d failed, %d token events, want %d, %d, %d", len(all), failed, events, tt.requests, tt.failed, tt.events)
			}
			if c, _ := export.Checked(r); c.Compared != tt.compared || c.Differing != 0 || len(r.Warnings()) > 0 && tt.dir != "endpoints/cut" {
				t.Errorf("own figures: %+v, %v, want %d compared and none to differ", c, r.Warnings(), tt.compared)
			}
			var lacks []string
			for _, l := range run.Meta.Import.Lacks {
				lacks = append(lacks, string(l.Part))
				if l.Why == "" {
					t.Errorf("%s is lacking without a reason", l.Part)
				}
			}
			if got := strings.Join(lacks, " "); got != tt.lacks {
				t.Errorf("lacks %q, want %q", got, tt.lacks)
			}
		})
	}
}

// Imported times agree with what the server wrote down about each request:
// absolute ones where the file has them, else the time to the first token and
// what came after it.
func TestPeersAgainstServer(t *testing.T) {
	fsys := golden.FS(t, "peers")
	for _, tt := range peerFiles {
		t.Run(tt.dir+"/"+path.Base(tt.file), func(t *testing.T) {
			log := serverLog(t, fsys, tt.dir+"/stampd.jsonl")
			data, err := fs.ReadFile(fsys, tt.dir+"/"+tt.file)
			if err != nil {
				t.Fatal(err)
			}
			run, all, _ := readAll(t, tt.file, data)
			var ids []string // of AIPerf, where the records have no texts
			if strings.HasPrefix(tt.dir, "aiperf") {
				ids = aiperfIDs(t, data)
			}
			_, noEpoch := run.Lacks(export.PartEpoch)
			_, noStarts := run.Lacks(export.PartStarts)
			most := tt.errMS * 1e6
			var gaps []int64
			found := 0
			for i, r := range all {
				at := tokenTimes(r)
				if len(at) == 0 {
					continue
				}
				var s *sent
				switch texts := tokens(r); {
				case ids != nil:
					s = log[ids[i]]
				case len(texts) > 0:
					s = log[texts[0]]
				}
				if s == nil {
					if r.Status == export.StatusOK {
						t.Errorf("request %d is not in the server's log", r.ID)
					}
					continue // cut off, and the file has no text
				}
				found++
				stamps := s.Stamps
				if s.End == "cut" && r.Status == export.StatusOK {
					stamps = stamps[:min(len(at), len(stamps))]
				}
				if _, sparse := run.Lacks(export.PartGaps); sparse {
					stamps = []uint64{stamps[0], stamps[len(stamps)-1]}
				}
				if len(at) != len(stamps) {
					t.Fatalf("request %d: %d token events, the server sent %d", r.ID, len(at), len(stamps))
				}
				ttft := int64(at[0]-r.StartNS) - (int64(stamps[0]) - s.RecvNS)
				if ttft < 0 || ttft > most {
					t.Errorf("request %d: TTFT is %d ns more than between the server's request and first token", r.ID, ttft)
				}
				for k := range at {
					late := int64(at[k]-at[0]) - int64(stamps[k]-stamps[0])
					if !noEpoch && !noStarts {
						late = int64(at[k]) - int64(stamps[k])
						if late < 0 {
							t.Errorf("request %d: token %d came %d ns before the server sent it", r.ID, k, -late)
						}
					}
					if late < -most || late > most {
						t.Errorf("request %d: token %d is %d ns from the server's time", r.ID, k, late)
					}
					if k > 0 {
						gaps = append(gaps, absolute(int64(at[k]-at[k-1])-int64(stamps[k]-stamps[k-1])))
					}
				}
			}
			if found < tt.requests-tt.failed {
				t.Errorf("%d requests found in the server's log, want %d", found, tt.requests-tt.failed)
			}
			slices.Sort(gaps)
			if median := gaps[len(gaps)/2]; median > 1e6 {
				t.Errorf("half of the gaps are %d ns or more from the server's", median)
			}
		})
	}
}

func absolute(v int64) int64 { return max(v, -v) }

// AIPerf and inference-perf keep their figures in other files: what is imported
// gives them.
func TestPeersSummaries(t *testing.T) {
	fsys := golden.FS(t, "peers")
	for _, tt := range []struct {
		dir, file, summary string
		prefix             string // of the distributions in the summary
		unit               float64
	}{
		{"aiperf/ok", "profile_export.jsonl", "profile_export_aiperf.json", "", 1e6},
		{"aiperf/cut", "profile_export.jsonl", "profile_export_aiperf.json", "", 1e6},
		{"aiperf/int", "profile_export.jsonl", "profile_export_aiperf.json", "", 1e6},
		{"infperf/ok", "reports/per_request_lifecycle_metrics.json", "reports/summary_lifecycle_metrics.json", "successes.latency.", 1e9},
		{"infperf/cut", "reports/per_request_lifecycle_metrics.json", "reports/summary_lifecycle_metrics.json", "successes.latency.", 1e9},
	} {
		t.Run(tt.dir, func(t *testing.T) {
			var data, summary []byte
			for name, to := range map[string]*[]byte{tt.file: &data, tt.summary: &summary} {
				b, err := fs.ReadFile(fsys, tt.dir+"/"+name)
				if err != nil {
					t.Fatal(err)
				}
				*to = b
			}
			_, all, _ := readAll(t, tt.file, data)
			var ttft, second, latency, perToken, gaps resultfile.Sample
			for _, r := range all {
				if r.Excluded() != export.NotExcluded {
					continue
				}
				at := tokenTimes(r)
				span := func(from, to uint64) float64 { return float64(to-from) / tt.unit }
				ttft = append(ttft, span(r.StartNS, at[0]))
				second = append(second, span(at[0], at[1]))
				latency = append(latency, span(r.StartNS, at[len(at)-1]))
				perToken = append(perToken, span(at[0], at[len(at)-1])/float64(*r.Stated.OutputTokens-1))
				for k := 1; k < len(at); k++ {
					gaps = append(gaps, span(at[k-1], at[k]))
				}
			}
			want := map[string]resultfile.Sample{
				"time_to_first_token": ttft, "time_to_second_token": second, "request_latency": latency,
				"inter_token_latency": perToken, "inter_chunk_latency": gaps,
			}
			if tt.prefix != "" { // inference-perf has other names, and ends a request later
				want = map[string]resultfile.Sample{"time_to_first_token": ttft, "time_per_output_token": perToken, "inter_token_latency": gaps}
			}
			figures := map[string]float64{}
			var tree any
			if err := json.Unmarshal(summary, &tree); err != nil {
				t.Fatal(err)
			}
			flatten("", tree, figures)
			n := 0
			for metric, values := range want {
				for _, stat := range []string{"avg", "mean", "std", "min", "max", "median", "p1", "p5", "p10", "p25", "p50", "p75", "p90", "p95", "p99", "p99.9"} {
					stored, ok := figures[tt.prefix+metric+"."+stat]
					if !ok {
						continue
					}
					n++
					values = values.Sorted()
					made := values.Stat(map[string]string{"avg": "mean", "min": "p0", "max": "p100"}[stat])
					if math.IsNaN(made) {
						made = values.Stat(stat)
					}
					// A difference of two floats around 4000 s is good to 10⁻¹² s.
					if math.Abs(made-stored) > 1e-9*stored+1e-3/tt.unit {
						t.Errorf("%s %s = %v, the tool says %v", metric, stat, made, stored)
					}
				}
			}
			if n < 30 {
				t.Errorf("%d figures compared, want 30 at least", n)
			}
		})
	}
}

// flatten puts the numbers of a JSON tree into figures by their path.
func flatten(name string, tree any, figures map[string]float64) {
	switch x := tree.(type) {
	case float64:
		figures[strings.TrimPrefix(name, ".")] = x
	case map[string]any:
		for k, v := range x {
			flatten(name+"."+k, v, figures)
		}
	}
}

// The results that the serving benchmarks wrote are read, where they hold
// requests, and their figures follow from them.
func TestServingResults(t *testing.T) {
	fsys := golden.FS(t, "serving")
	read, refused := 0, 0
	err := fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
		base := path.Base(p)
		if err != nil || base != "result.json" && base != "result.jsonl" {
			return err
		}
		data, err := fs.ReadFile(fsys, p)
		if err != nil {
			return err
		}
		args, err := fs.ReadFile(fsys, path.Dir(p)+"/args.txt")
		if err != nil {
			return err
		}
		tool := strings.Split(p, "/")[0]
		if bytes.Contains(args, []byte("save_detailed: False")) {
			refused++
			for _, f := range Formats() {
				if !f.Sniff(data[:min(len(data), 4<<10)]) {
					continue
				}
				_, err := f.Open(t.Context(), p, bytes.NewReader(data), int64(len(data)), export.Limits{})
				if err == nil || !strings.Contains(err.Error(), "that holds figures and no requests; run it with --") {
					t.Errorf("%s: %v, want an error that says what is missing", p, err)
				}
			}
			return nil
		}
		read++
		run, all, r := readAll(t, p, data)
		if c, ok := export.Checked(r); !ok || c.Differing > 0 || len(r.Warnings()) > 0 {
			t.Errorf("%s: %+v, %v", p, c, r.Warnings())
		}
		if len(all) == 0 {
			t.Errorf("%s: no requests", p)
		}
		wantTool := map[string]string{
			"vllm": "vllm bench serve", "sglang": "SGLang bench_serving", "trtllm-1.0": "TensorRT-LLM benchmark_serving",
			"trtllm-main": "TensorRT-LLM benchmark_serving", "llm_perf-v1": "llm_perf.py", "llm_perf-v2": "llm_perf.py",
		}[tool]
		if run.Meta.Tool != wantTool {
			t.Errorf("%s: taken for a file of %q, want %q", p, run.Meta.Tool, wantTool)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if read < 40 || refused < 10 {
		t.Errorf("%d results read and %d refused, want 40 and 10 at least", read, refused)
	}
}
