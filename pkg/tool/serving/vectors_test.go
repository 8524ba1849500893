package serving

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/internal/test/runtest"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// The table of TensorRT-LLM's documentation, which has no blanks at the ends of
// lines: one request of 1024 tokens, 1024 tokens back.
func TestDocumentation(t *testing.T) {
	want, err := os.ReadFile("testdata/trtllm-serve.txt")
	if err != nil {
		t.Fatal(err)
	}
	q := sentRequest{prompt: strings.Repeat("a ", 1024), reads: []read{{12_830_000, completion("x")}}}
	at := 12_830_000
	const slow, slowNS = 12, 1_770_000 // gaps from the 99th percentile on
	rest := 1_643_440_000 - at - slow*slowNS
	for i := range 1023 {
		switch {
		case i < slow:
			at += slowNS
		case i < slow+rest%(1023-slow):
			at += rest/(1023-slow) + 1
		default:
			at += rest / (1023 - slow)
		}
		q.reads = append(q.reads, read{at, completion(" x")})
	}
	q.reads = append(q.reads, read{at + 100_000, usage(1024, 1024)}, read{at + 200_000, ended})
	rep := analyzed(t, "trtllm-1.0", completionsExport(1_644_821_000, "", q), map[string]string{"percentile_metrics": "ttft,tpot,itl,e2el"})
	var got []string
	for line := range strings.Lines(rep.console(t)) {
		if line = strings.TrimSuffix(line, "\n"); len(line) < 50 {
			t.Errorf("a line of %d columns: %q", len(line), line)
		}
		got = append(got, strings.TrimRight(line, " ")+"\n")
	}
	if d := cmp.Diff(string(want), strings.Join(got, "")); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if l := &rep.Levels[0]; math.Abs(l.UserRate-623.083) > 5e-4 || math.Abs(l.AR.Mean-1023.0/1025) > 1e-12 || math.Abs(l.TPOT.Mean-1.593949) > 5e-7 {
		t.Errorf("user throughput %v, AR %v, TPOT %v", l.UserRate, l.AR.Mean, l.TPOT.Mean)
	}
}

// The formulas of the tools by example.
func TestVectors(t *testing.T) {
	three := func(start int) sentRequest {
		return sentRequest{startNS: start, prompt: "a b c d", reads: []read{{100e6, completion("a")}, {300e6, completion(" b")}, {500e6, completion(" c")}, {500e6, usage(4, 3)}, {500e6, ended}}}
	}
	one := sentRequest{prompt: "a b c d", reads: []read{{100e6, completion("a")}, {100e6, usage(4, 1)}, {100e6, ended}}}
	chunks := func(start int, at ...int) sentRequest {
		q := sentRequest{startNS: start, prompt: "a", maxTokens: 3 * len(at)}
		for _, ns := range at {
			q.reads = append(q.reads, read{ns, completion("x y z ")})
		}
		return q
	}
	for _, tt := range []struct {
		name, tool, export string
		args               map[string]string
		want               map[string]string // of the result
	}{
		{"ttft 0.1, gaps 0.2 and 0.2, 3 tokens, 1 s", "trtllm-main", completionsExport(1e9, "", three(0)), map[string]string{"percentile_metrics": "ttft,tpot,itl,e2el"}, map[string]string{
			"mean_ttft_ms": "100.0", "mean_tpot_ms": "200.0", "mean_itl_ms": "200.0", "mean_e2el_ms": "500.0",
			"user_throughput": "6.0", "output_throughput": "3.0", "request_throughput": "1.0", "total_token_throughput": "7.0",
		}},
		{"a request of one token has no TPOT, and 0 for its objective", "vllm", completionsExport(1e9, "", three(0), one), map[string]string{"goodput": "tpot:150", "save_detailed": "True"}, map[string]string{
			"mean_tpot_ms": "200.0", "std_tpot_ms": "0.0", "request_goodput": "1.0", "output_lens": "[3, 1]", "completed": "2",
		}},
		{"requests from 0 to 1, 0 to 1 and 1 to 2 touch second 1", "sglang", completionsExport(2e9, "", chunks(0, 1e9), chunks(0, 1e9), chunks(1e9, 1e9)), nil, map[string]string{
			"max_concurrent_requests": "3", "concurrency": "1.5",
		}},
		{"four chunks of three tokens in a second", "sglang", completionsExport(1e9, "", chunks(0, 1e8, 2e8, 3e8, 4e8)), nil, map[string]string{
			"max_output_tokens_per_s": "4.0", "output_throughput": "12.0", "total_output_tokens_retokenized": "12",
		}},
		{"the same of vLLM, which counts with the tokenizer", "vllm", completionsExport(1e9, "", chunks(0, 1e8, 2e8, 3e8, 4e8)), nil, map[string]string{
			"max_output_tokens_per_s": "4.0", "output_throughput": "12.0",
		}},
		{"gaps are spread over tokens when the server speculates", "sglang", completionsExport(1e9, "", chunks(0, 1e8, 4e8)), map[string]string{
			"backend": "sglang-oai", "server_info": `{"internal_states": [{"avg_spec_accept_length": 2.5}]}`,
		}, map[string]string{"mean_itl_ms": "99.99999999999999", "accept_length": "2.5"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rep := analyzed(t, tt.tool, tt.export, tt.args)
			for name, want := range tt.want {
				if got := rep.value(t, name); got != want {
					t.Errorf("%s: %s, want %s", name, got, want)
				}
			}
			if w := rep.warned(); w != "" {
				t.Errorf("warnings: %s", w)
			}
		})
	}
}

// The detailed results of the tools, of two requests of which the second failed.
func TestDetailedResults(t *testing.T) {
	good := sentRequest{prompt: "a b c d", maxTokens: 3, reads: []read{{100e6, completion("a")}, {300e6, completion(" b")}, {500e6, completion(" c")}, {500e6, ended}}}
	failed := func(code int, reads ...read) sentRequest {
		return sentRequest{prompt: "a b c d", reads: reads, pa: fmt.Sprintf(`{"status":"http_error","code":%d}`, code)}
	}
	result := func(tool string, second sentRequest, args map[string]string) *report {
		args["save_detailed"] = "True"
		return analyzed(t, tool, completionsExport(1e9, "", good, second), args)
	}
	const trtllm = `{"date": "20260101-120000", "backend": "openai", "model_id": "m", "tokenizer_id": "m", "num_prompts": 2, "gpu": "H100", "duration": 1.0, "completed": 1, ` +
		`"total_input_tokens": 4, "total_output_tokens": 3, "request_throughput": 1.0, "request_goodput:": null, "output_throughput": 3.0, "total_token_throughput": 7.0, ` +
		`"user_throughput": 6.0, "avg_decoded_tokens_per_iter": {"mean": 0.0, "min": 0.0, "max": 0.0, "median": 0.0, "std": 0.0, "percentiles": {"p99.0": 0.0}}, ` +
		`"input_lens": [4, 4], "output_lens": [3, 0], "ttfts": [0.1, 0.0], "itls": [[0.2, 0.2], []], "e2els": [0.5, 0.0], "generated_texts": ["a b c", ""], ` +
		`"errors": ["", "Internal Server Error"], "std_ttft_ms": 0.0, "mean_ttft_ms": 100.0, "median_ttft_ms": 100.0, "p99_ttft_ms": 100.0, ` +
		`"request_rate": "inf", "burstiness": 1.0, "max_concurrency": 1}`
	var b bytes.Buffer
	if err := result("trtllm-main", failed(500), map[string]string{"percentile_metrics": "ttft", "date": "20260101-120000", "metadata": "gpu=H100"}).JSON(&b); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(trtllm, strings.TrimSpace(b.String())); d != "" {
		t.Errorf("TensorRT-LLM (-want +got):\n%s", d)
	}
	vllm := result("vllm", failed(500), map[string]string{"percentile_metrics": "ttft"})
	sglang := result("sglang", failed(400, read{1e6, "no such model"}), map[string]string{})
	for _, tt := range []struct {
		rep        *report
		name, want string
	}{
		{vllm, "failed", "1"},
		{vllm, "request_goodput", "null"},
		{vllm, "input_lens", "[4, 4]"},
		{vllm, "output_lens", "[3, 0]"},
		{vllm, "ttfts", "[0.1, 0.0]"},
		{vllm, "itls", "[[0.2, 0.2], []]"},
		{vllm, "latencies", "[0.5, 0.0]"},
		{vllm, "start_times", "[1.0, 1.0]"},
		{vllm, "queue_times", "[0.0, 0.0]"},
		{vllm, "generated_texts", `["a b c", ""]`},
		{vllm, "errors", `["", "Internal Server Error"]`},
		{sglang, "tag", "null"},
		{sglang, "backend", `"sglang-oai"`},
		{sglang, "request_rate", "Infinity"},
		{sglang, "server_info", "null"},
		{sglang, "duration", "1.0"},
		{sglang, "completed", "1"},
		{sglang, "input_lens", "[4, 4]"},
		{sglang, "output_lens", "[3, 0]"},
		{sglang, "ttfts", "[0.1, 0.0]"},
		{sglang, "itls", "[[0.2, 0.2], []]"},
		{sglang, "generated_texts", `["a b c", ""]`},
		{sglang, "errors", `["", "Bad Request: no such model"]`},
	} {
		if got := tt.rep.value(t, tt.name); got != tt.want {
			t.Errorf("%s: %s: %s, want %s", tt.rep.release.Name, tt.name, got, tt.want)
		}
	}
	if b.Reset(); vllm.JSON(&b) == nil && strings.Contains(b.String(), "user_throughput") {
		t.Error("vLLM has no user_throughput")
	}
}

func TestStats(t *testing.T) {
	x := stat.NewStore(0, "").NewList(stat.Float)
	for _, v := range []float64{0.004, 0.001, 0.003, 0.002} {
		x.AddFloat(v)
	}
	s := new(level).stats(x, []float64{99}, 1000)
	for _, c := range []struct {
		name      string
		got, want float64
	}{{"median", s.Median, 2.5}, {"p99", s.percentiles[0], 3.97}, {"std", s.Std, 1.118033988749895}, {"mean", s.Mean, 2.5}, {"max", s.Max, 4}} {
		if math.Abs(c.got-c.want) > 1e-12 {
			t.Errorf("%s = %v, want %v", c.name, c.got, c.want)
		}
	}
}

// Rare requests of a run and their figures.
func TestEdges(t *testing.T) {
	good := sentRequest{prompt: "a b", maxTokens: 2, reads: []read{{1e8, completion("a")}, {3e8, completion(" b")}, {3e8, usage(2, 2)}, {3e8, ended}}}
	with := func(pa string) sentRequest {
		q := good
		q.pa = pa
		return q
	}
	merged := good
	merged.reads = []read{{1e8, completion("a")}, {3e8, completion(" b") + usage(2, 2) + ended}}
	split := good
	split.reads = []read{{1e8, completion("a")}, {2e8, completion(" b")[:20]}, {3e8, completion(" b")[20:]}, {3e8, usage(2, 2)}, {3e8, ended}}
	unended := good
	unended.reads = nil
	for _, r := range good.reads {
		unended.reads = append(unended.reads, read{r.atNS, strings.TrimSpace(r.text)})
	}
	ping := good
	ping.reads = append([]read{{5e7, ": ping\n\n"}}, good.reads...)
	usageFirst := good
	usageFirst.reads = []read{{0, usage(2, 2)}}
	plain := good
	plain.reads = good.reads[:2]
	timeless := sentRequest{prompt: "a", reads: []read{{0, completion("x")}, {0, ended}}}
	for _, tt := range []struct {
		name, tool, export, warning string
		want                        map[string]string
	}{
		{"several events in one read", "vllm", completionsExport(1e9, "", merged), "", map[string]string{"ttfts": "[0.1]", "itls": "[[0.2]]", "output_lens": "[2]"}},
		{"an event in several reads", "trtllm-main", completionsExport(1e9, "", split), "", map[string]string{"ttfts": "[0.1]", "itls": "[[0.2]]", "e2els": "[0.3]"}},
		{"an event in several reads, by blank lines", "vllm", completionsExport(1e9, "", split), "", map[string]string{"ttfts": "[0.1]", "itls": "[[0.2]]"}},
		{"no line feeds", "trtllm-main", completionsExport(1e9, "", unended), "", map[string]string{"ttfts": "[0.1]", "itls": "[[0.2]]", "completed": "1"}},
		{"a comment is skipped", "vllm", completionsExport(1e9, "", ping), "", map[string]string{"completed": "1"}},
		{"a comment is an exception", "trtllm-main", completionsExport(1e9, "", ping), "for the tool 1 request failed: it raises JSONDecodeError", map[string]string{"completed": "0", "errors": `["<traceback>"]`, "ttfts": "[0.0]"}},
		{"a stream without a token", "trtllm-main", completionsExport(1e9, "", usageFirst), "", map[string]string{"completed": "0", "errors": `["` + noChunk + `"]`}},
		{"an HTTP error", "vllm", completionsExport(1e9, "", good, with(`{"status":"http_error","code":503,"message":"overloaded"}`)), "", map[string]string{"completed": "1", "failed": "1", "errors": `["", "Service Unavailable"]`}},
		{"no connection", "sglang", completionsExport(1e9, "", plain, sentRequest{prompt: "a", pa: `{"status":"connect_error","message":"refused"}`}), "", map[string]string{"errors": `["", "refused"]`, "itls": "[[0.2], []]"}},
		{"warm-up", "vllm", completionsExport(1e9, "", with(`{"phase":"warmup"}`), good), "left out of the report: 1 request of the warm-up", map[string]string{"completed": "1", "num_prompts": "1"}},
		{"no requests", "vllm", completionsExport(1e9, ""), "", map[string]string{"completed": "0", "mean_ttft_ms": "0.0", "request_throughput": "0.0"}},
		{"no time", "vllm", completionsExport(0, "", good), "vllm itself stops at this file: ZeroDivisionError", map[string]string{"request_throughput": "Infinity", "mean_ttft_ms": "100.0"}},
		{"an answer at the very start", "trtllm-main", completionsExport(1e9, "", timeless), "ZeroDivisionError: float division by zero (request 0 takes no time, the first of 1;", map[string]string{"user_throughput": "0.0", "completed": "1"}},
		{"answers without any time", "trtllm-main", completionsExport(1e9, "", timeless, timeless, timeless), "float division by zero (request 0 takes no time, the first of 3; the user throughput leaves such requests out)", map[string]string{"user_throughput": "0.0", "completed": "3"}},
		{"no request succeeds", "sglang", completionsExport(1e9, "", with(`{"status":"http_error","code":500}`)), "sglang itself stops at this file: IndexError: index -1", map[string]string{"mean_e2e_latency_ms": "NaN", "mean_ttft_ms": "0.0"}},
		{"what was recorded with a tool's command line", "vllm", completionsExport(1e9, `,"pa":{"schema":"pa-export/1","tool":"x","analysis_hints":{"max_concurrency":"None","percentile_metrics":"e2el","other":"x","model_id":"big"}}`, good), "", map[string]string{"max_concurrency": "null", "mean_e2el_ms": "300.0", "model_id": `"big"`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rep := analyzed(t, tt.tool, tt.export, map[string]string{"save_detailed": "True"})
			for name, want := range tt.want {
				if got := rep.value(t, name); got != want {
					t.Errorf("%s: %s, want %s", name, got, want)
				}
			}
			if w := rep.warned(); !strings.HasPrefix(w, tt.warning) && !strings.Contains(w, tt.warning) || tt.warning == "" && w != "" {
				t.Errorf("warnings %q, want %q", w, tt.warning)
			}
		})
	}
}

// Requests that failed are in requests or in pa.excluded_requests; they count
// in the order of their issue.
func TestOrder(t *testing.T) {
	var all []string
	for i, status := range []string{"", `"status":"http_error","code":500,`, ""} {
		q := sentRequest{prompt: "a", startNS: i, reads: []read{{(3 - i) * 1e8, completion("x")}}, pa: `{` + status + `"id":` + string(rune('0'+i)) + `}`}
		all = append(all, q.json())
	}
	const outline = `{"experiments":[{"experiment":{"mode":"concurrency","value":1},"requests":[%R],"window_boundaries":[1000000000,2000000000]%P}],"version":"1","service_kind":"openai","endpoint":"v1/completions"}`
	inPlace := strings.NewReplacer("%R", strings.Join(all, ","), "%P", "").Replace(outline)
	apart := strings.NewReplacer("%R", all[2]+","+all[0], "%P", `,"pa":{"excluded_requests":[`+all[1]+`]}`).Replace(outline)
	for _, export := range []string{inPlace, apart} {
		rep := analyzed(t, "vllm", export, map[string]string{"save_detailed": "True"})
		if got, want := rep.value(t, "latencies"), "[0.3, 0.0, 0.1]"; got != want {
			t.Errorf("latencies %s, want %s", got, want)
		}
	}
}

// Each level is a run of the tool.
func TestLevels(t *testing.T) {
	q := sentRequest{prompt: "a", reads: []read{{1e8, completion("x")}}}
	const level = `{"experiment":{"mode":"concurrency","value":%V},"requests":[%R],"window_boundaries":[1000000000,2000000000]}`
	two := `{"experiments":[` + strings.NewReplacer("%V", "1", "%R", q.json()).Replace(level) + "," + strings.NewReplacer("%V", "8", "%R", q.json()).Replace(level) + `],"version":"1","service_kind":"openai","endpoint":"v1/completions"}`
	rep := analyzed(t, "vllm", two, nil)
	if n := strings.Count(rep.console(t), blockTitle); n != 2 {
		t.Errorf("%d blocks, want 2", n)
	}
	rep, err := reportOf("vllm", runtest.Open(t, []byte(two)), dialect.Config{Tokenizer: words{}, Level: dialect.Level{Value: "8.0"}})
	if err != nil || len(rep.Levels) != 1 || rep.value(t, "max_concurrency") != "8" {
		t.Errorf("level 8: %v, %v", rep, err)
	}
	_, err = reportOf("vllm", runtest.Open(t, []byte(two)), dialect.Config{Tokenizer: words{}, Level: dialect.Level{Value: "3"}})
	if err == nil || !strings.Contains(err.Error(), "choose one with --experiment: concurrency:1, concurrency:8") {
		t.Errorf("level 3: %v", err)
	}
}

func TestMistakes(t *testing.T) {
	q := sentRequest{prompt: "a", reads: []read{{1e8, completion("x")}}}
	for _, tt := range []struct{ tool, key, value, want string }{
		{"vllm", "no_such", "1", "unknown; vllm knows backend, "},
		{"vllm", "tag", "x", "unknown"},
		{"vllm", "backend", "openai-embeddings", `"openai-embeddings": expected one of openai, openai-chat, vllm`},
		{"vllm", "request_rate", "fast", `"fast": give requests per second`},
		{"vllm", "request_rate", "0", "give requests per second"},
		{"vllm", "max_concurrency", "-1", "give a whole number"},
		{"vllm", "percentile_metrics", "ttft,e2e", `"e2e": give names out of ttft, tpot`},
		{"vllm", "metric_percentiles", "99,101", `"101": give percentiles from 0 to 100`},
		{"vllm", "metric_percentiles", "nan", "give percentiles"},
		{"vllm", "goodput", "itl:5", `"itl": objectives are of ttft, tpot, e2el`},
		{"vllm", "goodput", "ttft=5", `"ttft=5": give pairs such as ttft:300`},
		{"vllm", "goodput", "ttft:-5", "give milliseconds of 0 or more"},
		{"sglang", "goodput", "ttft:0", "expected a finite number above 0, as sglang does"},
		{"vllm", "save_detailed", "yes", `"yes": give True or False`},
		{"vllm", "metadata", "version", `"version": give pairs such as version=1`},
		{"vllm", "tool", "sglang", "is not the dialect, which is vllm"},
		{"sglang", "server_info", "{", "give JSON"},
	} {
		_, err := reportOf(tt.tool, runtest.Open(t, []byte(completionsExport(1e9, "", q))), dialect.Config{Tokenizer: words{}, Args: map[string]string{tt.key: tt.value}})
		argument := new(dialect.ArgError)
		if !errors.As(err, &argument) || argument.Key != tt.key || !strings.Contains(argument.Msg, tt.want) {
			t.Errorf("%s %s=%s: %v, want %s", tt.tool, tt.key, tt.value, err, tt.want)
		}
	}
	open := func(text string, cfg dialect.Config) error {
		_, err := reportOf("trtllm-main", runtest.Open(t, []byte(text)), cfg)
		return err
	}
	if err := open(completionsExport(1e9, "", q), dialect.Config{}); !errors.Is(err, dialect.ErrNoTokenizer) {
		t.Errorf("no tokenizer: %v", err)
	}
	if err := open(strings.Replace(completionsExport(1e9, "", q), `"openai"`, `"triton"`, 1), dialect.Config{Tokenizer: words{}}); err == nil || !strings.Contains(err.Error(), "measures OpenAI servers") {
		t.Errorf("a run of Triton: %v", err)
	}
	bad := completionsExport(1e9, `,"pa":{"schema":"pa-export/1","tool":"x","analysis_hints":{"dialect":"trtllm-main","goodput":"x:1"}}`, q)
	if err := open(bad, dialect.Config{Tokenizer: words{}}); err == nil || !strings.Contains(err.Error(), "the file's hint goodput") {
		t.Errorf("a bad hint: %v", err)
	}
	if err := open(bad, dialect.Config{Tokenizer: words{}, Args: map[string]string{"goodput": "None"}}); err != nil {
		t.Errorf("a bad hint that is replaced: %v", err)
	}
}

func TestHintsInWordsOfAnotherTool(t *testing.T) {
	q := sentRequest{prompt: "a b", maxTokens: 2, reads: []read{
		{1e8, "data: {\"choices\":[{\"text\":\"a\"}]}\n\n"}, {2e8, "data: {\"choices\":[{\"text\":\" b\"}]}\n\n"},
	}}
	text := completionsExport(1e9, `,"pa":{"schema":"pa-export/1","tool":"x","analysis_hints":{"goodput":"time_to_first_token:60","max_concurrency":"3"}}`, q)
	for _, name := range []string{"trtllm-1.0", "trtllm-main", "vllm", "sglang"} {
		rep, err := reportOf(name, runtest.Open(t, []byte(text)), dialect.Config{Tokenizer: words{}})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if w := rep.Warnings(); len(w) == 0 || !strings.HasPrefix(w[0].Error(), "the file's hint goodput is left out, because this tool does not take it: ") {
			t.Errorf("%s: warnings %v", name, w)
		}
		if rep.args.goodput != nil || rep.args.maxConcurrency == nil || *rep.args.maxConcurrency != 3 {
			t.Errorf("%s: goodput %v, max_concurrency %v; want none and 3", name, rep.args.goodput, rep.args.maxConcurrency)
		}
		rep, err = reportOf(name, runtest.Open(t, []byte(text)), dialect.Config{Tokenizer: words{}, Args: map[string]string{"goodput": "ttft:60"}})
		if err != nil || slices.ContainsFunc(rep.Warnings(), func(w error) bool { return strings.Contains(w.Error(), "hint") }) {
			t.Errorf("%s: a hint that is replaced: %v", name, err)
		}
	}
}
