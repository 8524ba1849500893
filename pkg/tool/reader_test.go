package tool

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/golden"
	"github.com/pa-tools/pa/internal/test/runtest"
	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/export"
)

// open opens text as the first format that takes it.
func open(t testing.TB, text string) (export.Reader, error) {
	t.Helper()
	for _, f := range Formats() {
		if f.Sniff([]byte(text[:min(len(text), 4<<10)])) {
			return f.Open(t.Context(), "x.json", strings.NewReader(text), int64(len(text)), export.Limits{})
		}
	}
	return nil, errors.New("no format takes it")
}

// Frames of files of GuideLLM and of a serving benchmark.
const (
	guideFrame   = `{"metadata":{"version":2,"guidellm_version":"0.8.1"},"benchmarks":[{"config":{"strategy":%s},"requests":{"successful":[%s],"errored":[],"incomplete":[],"total":null}}]}`
	servingFrame = `{"date":"d","backend":"openai%s","model_id":"m","tokenizer_id":"m","num_prompts":1,%s"duration":1.0,"completed":1,"total_input_tokens":4,` +
		`"input_lens":[4],"output_lens":[%s],"ttfts":[%s],"itls":[%s],"generated_texts":["a"],"errors":["%s"]%s}`
)

// samples are small files of each format, with the oddities that they have.
var samples = []struct {
	name  string
	text  string
	level string // mode and value of the experiments
	want  []string
	warn  string // part of a warning
}{
	{
		"aiperf with gaps",
		`{"metadata":{"session_num":3,"request_start_ns":1000000000,"request_end_ns":9,"benchmark_phase":"profiling"},"metrics":{` +
			`"time_to_first_token":{"value":50.780159999999995,"unit":"ms"},"inter_chunk_latency":{"value":[0.000001,2],"unit":"ms"},"output_sequence_length":{"value":3,"unit":"tokens"},"usage_prompt_tokens":{"value":7.0,"unit":"tokens"}},"error":null}`,
		" ",
		[]string{"3@1000000000 ok 50780160 50780161 52780161 in=7 out=3"},
		"",
	},
	{
		"aiperf not streamed, warm-up, cancelled, HTTP error",
		`{"metadata":{"session_num":0,"request_start_ns":10,"benchmark_phase":"warmup"},"metrics":{"request_latency":{"value":1.5,"unit":"sec"}}}` + "\n" +
			`{"metadata":{"session_num":1,"request_start_ns":10,"was_cancelled":true},"metrics":{}}` + "\n\n" +
			`{"metadata":{"session_num":2,"request_start_ns":10},"metrics":{},"error":{"code":503,"type":"Service Unavailable","message":"busy"}}` + "\n",
		" ",
		[]string{"0@10 ok 1500000000", "1@10 cancelled", "2@10 http_error 503"},
		"",
	},
	{
		"aiperf in other units", `{"metadata":{"session_num":0,"request_start_ns":10},"metrics":{"time_to_first_token":{"value":2000,"unit":"us"},"inter_chunk_latency":{"value":[1000000,3000000],"unit":"ns"},"request_latency":{"value":0.006,"unit":"sec"},` +
			`"inter_token_latency":{"value":2,"unit":"ms"},"output_token_throughput_per_user":{"value":500,"unit":"tokens/sec/user"},"output_sequence_length":{"value":3,"unit":"tokens"}}}`,
		" ",
		[]string{"0@10 ok 2000000 3000000 6000000 out=3"},
		"",
	},
	{
		"aiperf: a figure that does not follow from its record", `{"metadata":{"session_num":0,"request_start_ns":10},"metrics":{"time_to_first_token":{"value":2,"unit":"ms"},"inter_chunk_latency":{"value":[1,3],"unit":"ms"},"request_latency":{"value":7000,"unit":"us"}}}`,
		" ",
		[]string{"0@10 ok 2000000 3000000 6000000"},
		"x.json: record 0: the file says request_latency is 7000, its requests give 6000",
	},
	{
		"aiperf: a record without a start and one with a bad metric are left out",
		`{"metadata":{"session_num":0,"request_start_ns":0},"metrics":{}}` + "\n" + `{"metadata":{"session_num":1,"request_start_ns":5},"metrics":{"time_to_first_token":{"value":"x","unit":"ms"}}}` + "\n" +
			`{"metadata":{"session_num":2,"request_start_ns":5},"metrics":{"time_to_first_token":{"value":1,"unit":"parsecs"}}}` + "\n" + `{"metadata":{"session_num":3,"request_start_ns":5},"metrics":{}}`,
		" ",
		[]string{"3@5 ok"},
		`byte 0: record 0: request_start_ns is missing; requests like this are left out`,
	},
	{
		"aiperf raw: events of one read share it, [DONE] is the last",
		`{"metadata":{"session_num":0,"request_start_ns":100},"start_perf_ns":7,"status":200,"responses":[{"perf_ns":8,"packets":[{"name":"event","value":"x"},{"name":"data","value":"{}"}]},{"perf_ns":8,"packets":[{"name":"data","value":"[DONE]"}]}],"payload":{"model":"m","stream":true}}`,
		" ",
		[]string{"0@100 ok 1 1f"},
		"",
	},
	{
		"guidellm: first and last token", fmt.Sprintf(guideFrame, `{"type_":"poisson","rate":2.5}`, `{"output":"a b","info":{"timings":{"request_start":1795262415.3429804,"first_token_iteration":1795262415.3651302,"last_token_iteration":1795262415.7440882,"last_request_iteration":1795262415.7441974,"token_iterations":20,"request_end":1795262415.7448525}},"prompt_tokens":1,"output_tokens":20}`),
		"request_rate 2.5",
		[]string{`0@1795262415342980385 ok 22149801 401107788 401216984f in=1 out=20 events=20 "a b"`},
		"",
	},
	{
		"guidellm: one token, not streamed, before 0.3",
		fmt.Sprintf(guideFrame, `{"type_":"synchronous"}`, `{"info":{"timings":{"request_start":1.5,"first_token_iteration":2,"last_token_iteration":2,"token_iterations":1,"request_end":3}}},`+
			`{"info":{"timings":{"request_start":1.5,"request_end":3}}},{"start_time":1,"first_token_time":2,"last_token_time":3,"end_time":4,"prompt_tokens":5,"output_tokens":6}`),
		"concurrency 1",
		[]string{"0@1500000000 ok 500000000 1500000000f events=1", "1@1500000000 ok 1500000000 streamed=false", "2@1000000000 ok 1000000000 2000000000 3000000000f in=5 out=6"},
		"",
	},
	{
		"aiperf: a bad value in the first record", `{"metadata":{"session_num":0,"request_start_ns":"x"},"metrics":{},"error":null}` + "\n" + `{"metadata":{"session_num":1,"request_start_ns":5},"metrics":{"request_latency":{"value":2,"unit":"ms"}}}`,
		" ",
		[]string{"1@5 ok 2000000 streamed=false"},
		"x.json: byte 0: record 0: metadata.request_start_ns: expected a whole number from 0, found string; requests like this are left out",
	},
	{
		"guidellm: a distribution that does not follow", strings.Replace(fmt.Sprintf(guideFrame, `{}`, `{"info":{"timings":{"request_start":1,"request_end":3}}}`), `"requests"`, `"metrics":{"request_latency":{"successful":{"mean":9,"std_dev":0,"min":2,"max":2,"count":1,"percentiles":{}}}},"requests"`, 1),
		" ",
		[]string{"0@1000000000 ok 2000000000 streamed=false"},
		"benchmark 0: the file says request_latency mean is 9, its requests give 2",
	},
	{
		"inference-perf: chunks, an older one without, and a failure",
		`[{"start_time":4020.5,"end_time":4021,"request":"{\"model\":\"m\",\"messages\":[]}","response":"","info":{"input_tokens":3,"response_metrics":{"output_tokens":2,"server_usage":null,"response_chunks":["{}","{}"],"chunk_times":[4020.6,4020.75],"output_token_times":[]}},"error":null},` +
			`{"start_time":1,"end_time":2,"request":"","response":"x","info":{"input_tokens":3,"output_tokens":2,"output_token_times":[1.5,1.5,1.75]},"error":null},` +
			`{"start_time":1,"end_time":2.5,"request":"","response":"","info":null,"error":{"error_type":"TimeoutError","error_msg":"too slow"}}]`,
		" ",
		[]string{"0@4020500000000 ok 100000000 250000000 in=3 out=2", "1@1000000000 ok 500000000 500000000 750000000 in=3 out=2", "2@1000000000 timeout"},
		"",
	},
	{
		"vllm: a start and its queue, NaN and Infinity", fmt.Sprintf(servingFrame, "-chat", `"endpoint_type":"openai-chat","request_rate":Infinity,"max_concurrency":3,`, "3", "0.1", "[0.2,0.2]", "", `,"latencies":[0.5],"start_times":[12345.6],"queue_times":[0.5],"rtfx":NaN`),
		"concurrency 3",
		[]string{`0@12345600000000 ok 100000000 300000000 500000000 in=4 out=3 "a"`},
		"",
	},
	{
		"vllm: two chunks more than tokens are the role and the end", fmt.Sprintf(servingFrame, "-chat", `"request_rate":"inf",`, "2", "0.1", "[0.2,0.2,0.2]", "", `,"latencies":[0.7]`),
		"concurrency 1",
		[]string{`0@1000000000 ok 100000000s 300000000 500000000 700000000sf in=4 out=2 "a"`},
		"",
	},
	{
		"vllm-bench: the role chunk is known", fmt.Sprintf(servingFrame, "-chat", `"max_model_len":null,"request_rate":7.5,`, "9", "0.1", "[0.2,0.2]", "", `,"latencies":[0.5],"start_times":[0.0]`),
		"request_rate 7.5",
		[]string{`0@1000000000 ok 100000000s 300000000 500000000 in=4 out=9 "a"`},
		"",
	},
	{
		"trtllm: not streamed", fmt.Sprintf(servingFrame, "", `"user_throughput":6.0,`, "3", "-1", "[]", "", `,"e2els":[0.5],"request_rate":"inf","max_concurrency":1`),
		"concurrency 1",
		[]string{`0@1000000000 ok 500000000 in=4 out=3 streamed=false "a"`},
		"",
	},
	{
		"trtllm: the usage chunk came later", fmt.Sprintf(servingFrame, "-chat", `"user_throughput":2.0,`, "1", "0.1", "[0.1,0.1]", "", `,"e2els":[0.5],"request_rate":"inf","max_concurrency":1`),
		"concurrency 1",
		[]string{`0@1000000000 ok 100000000s 200000000 300000000sf 500000000f in=4 out=1 "a"`},
		"",
	},
	{
		"sglang: a failed request in its place", `{"backend":"sglang-oai","dataset_name":"random","request_rate":NaN,"max_concurrency":2,"server_info":{"a":[1]},"duration":1.0,"completed":1,"input_lens":[4,4],"output_lens":[3,0],"ttfts":[0.1,0.0],"itls":[[0.2,0.2],[]],"generated_texts":["a b c",""],"errors":["","Bad Request: {\"x\":1}"]}`,
		"concurrency 2",
		[]string{`0@1000000000 ok 100000000 300000000 500000000 in=4 out=3 "a b c"`, `1@1000000000 http_error 400 in=4 ""`},
		"",
	},
	{
		"results that were appended are levels", `{"backend":"a","dataset_name":"d","request_rate":1.5,"server_info":null,"duration":1,"completed":1,"ttfts":[0.5],"itls":[[]],"output_lens":[1],"errors":[""]}` + "\n" +
			`{"backend":"a","dataset_name":"d","request_rate":2.5,"server_info":null,"duration":1,"completed":7,"ttfts":[0.25],"itls":[[]],"output_lens":[1],"errors":[""]}`,
		"request_rate 1.5, request_rate 2.5",
		[]string{"0@1000000000 ok 500000000 out=1", "1@1000000000 ok 250000000 out=1"},
		"result 1: the file says completed is 7, its requests give 1",
	},
	{
		"aiperf: a first record that failed says nothing of streaming", `{"metadata":{"session_num":0,"request_start_ns":5},"metrics":{},"error":{"code":503,"type":"x","message":"busy"}}` + "\n" +
			`{"metadata":{"session_num":1,"request_start_ns":5},"metrics":{"request_latency":{"value":2,"unit":"ms"}}}` + "\n" +
			`{"metadata":{"session_num":2,"request_start_ns":5},"metrics":{"time_to_first_token":{"value":2,"unit":"ms"}}}`,
		" ",
		[]string{"0@5 http_error 503", "1@5 ok 2000000 streamed=false", "2@5 ok 2000000 streamed=true"},
		"",
	},
	{
		"aiperf: a request that was not streamed, unlike the first", `{"metadata":{"session_num":1,"request_start_ns":5},"metrics":{"time_to_first_token":{"value":2,"unit":"ms"}}}` + "\n" +
			`{"metadata":{"session_num":2,"request_start_ns":5},"metrics":{"request_latency":{"value":2,"unit":"ms"}}}`,
		" ",
		[]string{"1@5 ok 2000000", "2@5 ok 2000000 streamed=false"},
		"",
	},
	{
		"aiperf: gaps of more than 292 years", `{"metadata":{"session_num":0,"request_start_ns":5},"metrics":{"time_to_first_token":{"value":1,"unit":"ms"},"inter_chunk_latency":{"value":[9e12,9e12,9e12],"unit":"ms"}}}`,
		" ", nil,
		"record 0: inter_chunk_latency: the gaps of the request add up to more than 292 years; requests like this are left out",
	},
	{
		"vllm: gaps of more than 292 years", fmt.Sprintf(servingFrame, "", ``, "4", "0.1", "[9e9,9e9,9e9]", "", `,"latencies":[0.5]`),
		" ", nil,
		"request 0: itls: the gaps of the request add up to more than 292 years; requests like this are left out",
	},
	{
		"trtllm: not streamed, and no latencies", fmt.Sprintf(servingFrame, "", `"user_throughput":6.0,`, "3", "-1", "[]", "", ``),
		" ", nil,
		"request 0: ttfts: -1 says that the answer was not streamed, and no column says how long it took; requests like this are left out",
	},
	{"a gap that is none", fmt.Sprintf(servingFrame, "", ``, "3", "0.1", "[0.2,-0.2]", "", `,"latencies":[0.5]`), " ", nil, "request 0: itls: expected a time, found -0.2; requests like this are left out"},
	{"a text among the gaps", fmt.Sprintf(servingFrame, "", ``, "3", "0.1", `["x"]`, "", `,"latencies":[0.5]`), " ", nil, `itls: expected an array of numbers, found "\"x\""`},
	{
		"llm_perf: nothing came out", `{"8":{"concurrency":8,"client_requests":1,"throughput":2.0,"perf_results":[{"output_text":"","ttft":0.5,"e2e_latency":0.75,"input_tokens":9,"output_tokens":0}],"metrics":{"average_ttft":0.5}}}`,
		"concurrency 8",
		[]string{`0@1000000000 ok 500000000s 750000000f in=9 out=0 ""`},
		"",
	},
	{
		"vllm: NaN for the gaps of answers of one token", fmt.Sprintf(servingFrame, "", "", "1", "0.5", "[]", "", `,"mean_tpot_ms":NaN,"p99_tpot_ms":NaN,"mean_itl_ms":NaN,"std_itl_ms":0.0,"mean_ttft_ms":500.0`),
		" ",
		[]string{`0@1000000000 ok 500000000 in=4 out=1 "a"`},
		"",
	},
	{
		"vllm: NaN for gaps that were measured", fmt.Sprintf(servingFrame, "", "", "2", "0.5", "[0.25]", "", `,"mean_itl_ms":NaN`),
		" ",
		[]string{`0@1000000000 ok 500000000 750000000 in=4 out=2 "a"`},
		"the file says mean_itl_ms is no number, its requests give 250",
	},
	{
		"Ray LLMPerf: a status, a failure without one, no text",
		`[{"error_code":null,"error_msg":"","inter_token_latency_s":0.25,"ttft_s":0.5,"end_to_end_latency_s":1.25,"request_output_throughput_token_per_s":3.2,"number_total_tokens":9,"number_output_tokens":4,"number_input_tokens":5},` +
			`{"error_code":429,"error_msg":"busy","inter_token_latency_s":0,"ttft_s":0,"end_to_end_latency_s":0,"number_output_tokens":0,"number_input_tokens":5},` +
			`{"error_code":-1,"error_msg":"","ttft_s":0.5,"end_to_end_latency_s":0,"number_input_tokens":5},{"error_code":null,"error_msg":"","inter_token_latency_s":0,"ttft_s":0,"end_to_end_latency_s":0.5,"number_output_tokens":0,"number_input_tokens":5},` +
			`{"error_code":null,"error_msg":"","inter_token_latency_s":0.5,"ttft_s":0.5,"end_to_end_latency_s":0.75,"number_output_tokens":1,"number_input_tokens":5}]`,
		" ",
		[]string{
			"0@1000000000 ok 500000000 1250000000f in=5 out=4", "1@1000000000 http_error 429 in=5", "2@1000000000 failed in=5",
			"3@1000000000 ok 500000000s in=5 out=0", "4@1000000000 ok 500000000 750000000f in=5 out=1",
		},
		"",
	},
	{
		"genai-bench: milliseconds, an embedding, a failure",
		`{"aggregated_metrics":{"scenario":"D(8,6)","num_concurrency":2,"iteration_type":"num_concurrency","num_error_requests":1,"error_rate":0,"num_requests":3,"stats":{"e2e_latency":{"sum":600.0,"mean":300.0}}},"individual_request_metrics":[` +
			`{"ttft":100.5,"tpot":60.0,"e2e_latency":400.5,"num_input_tokens":3,"num_output_tokens":6,"num_reasoning_tokens":2,"error_code":null,"error_message":null},` +
			`{"ttft":199.5,"e2e_latency":199.5,"num_input_tokens":3,"num_output_tokens":0,"error_code":null},{"ttft":null,"error_code":503,"error_message":"down"}],"_time_unit":"ms"}`,
		"concurrency 2",
		[]string{"0@1000000000 ok 100500000 400500000f in=3 out=6 reasoning=2 streamed=true", "1@1000000000 ok 199500000 in=3 out=0 streamed=false", "2@1000000000 http_error 503"},
		"",
	},
	{
		"k6: as it judges, and by the status",
		`{"type":"Metric","data":{"name":"http_req_duration","type":"trend","contains":"time"},"metric":"http_req_duration"}` + "\n" +
			`{"metric":"http_req_duration","type":"Point","data":{"time":"1970-01-01T00:00:02.5Z","value":500.000001,"tags":{"status":"404","expected_response":"true","name":"a"}}}` + "\n" +
			`{"metric":"http_req_waiting","type":"Point","data":{"time":"1970-01-01T00:00:02.5Z","value":7,"tags":{"status":"404"}}}` + "\n" +
			`{"metric":"http_req_duration","type":"Point","data":{"time":"1970-01-01T01:00:03+01:00","value":1,"tags":{"status":"500","name":"b"}}}` + "\n" +
			`{"metric":"http_req_duration","type":"Point","data":{"time":"1970-01-01T00:00:03Z","value":0,"tags":{"status":"0","error":"dial: connection refused","error_code":"1212"}}}` + "\n" +
			`{"metric":"http_req_duration","type":"Point","data":{"time":"1970-01-01T00:00:03Z","value":1,"tags":{"name":"b"}}}` + "\n" +
			`{"metric":"http_req_duration","type":"Point","data":{"time":"soon","value":1}}` + "\n",
		" ",
		[]string{"0@1999999999 ok 500000001 streamed=false", "1@2999000000 http_error 500 streamed=false", "2@3000000000 failed streamed=false", "3@2999000000 ok 1000000 streamed=false"},
		"1 request without the tags status and expected_response",
	},
	{
		"llm_perf over HTTP", `{"1":{"concurrency":1,"client_requests":1,"perf_results":[{"output_text":"x","ttft":-1,"e2e_latency":0.75,"input_tokens":9,"output_tokens":1}],"metrics":{"average_ttft":-1.0}}}`,
		"concurrency 1",
		[]string{`0@1000000000 ok 750000000 in=9 out=1 streamed=false "x"`},
		"",
	},
}

func TestReader(t *testing.T) {
	for _, tt := range samples {
		t.Run(tt.name, func(t *testing.T) {
			r, err := open(t, tt.text)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			var got []string
			for r.Next() {
				got = append(got, runtest.Shown(r.Request()))
			}
			if r.Err() != nil {
				t.Fatal(r.Err())
			}
			if g, w := strings.Join(got, "\n"), strings.Join(tt.want, "\n"); g != w {
				t.Errorf("got\n%s\nwant\n%s", g, w)
			}
			var levels []string
			for _, e := range r.Run().Experiments {
				levels = append(levels, e.Mode+" "+e.Value)
			}
			if got := strings.Join(levels, ", "); got != tt.level {
				t.Errorf("levels %q, want %q", got, tt.level)
			}
			var warn []string
			for _, w := range r.Warnings() {
				warn = append(warn, w.String())
			}
			if tt.warn == "" && len(warn) > 0 || !strings.Contains(strings.Join(warn, "\n"), tt.warn) {
				t.Errorf("warnings %q, want %q", warn, tt.warn)
			}
		})
	}
}

// A file that cannot be imported is named with its release, and with what to do.
func TestRefused(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"aiperf summary", `{"schema_version":"1.4","aiperf_version":"0.13.0","request_throughput":{"unit":"requests/sec"}}`, `x.json: is profile_export_aiperf.json of AIPerf "0.13.0", which holds statistics and no requests; give profile_export.jsonl`},
		{"aiperf server metrics", `{"schema_version":"1.1","aiperf_version":"0.13.0","summary":{},"metrics_phase":"profiling","metrics":{}}`, `x.json: is server_metrics_export.json of AIPerf, which holds the metrics of the server and no requests; give profile_export.jsonl or profile_export_raw.jsonl from the same folder`},
		{"aiperf time slices", `{"timeslices":[{"start_ns":1,"end_ns":2,"request_latency":{}}]}`, `x.json: is profile_export_aiperf_timeslices.json of AIPerf, which holds statistics over slices of time and no requests; give profile_export.jsonl`},
		{"aiperf inputs", `{"data":[{"session_id":"a","payloads":[{"messages":[]}]}]}`, `x.json: is inputs.json of AIPerf, which holds what was sent and no requests; give profile_export.jsonl`},
		{"aiperf outputs", `{"schema_version":"1.0","data":[{"session_num":0,"conversation_id":"a","response_text":"x"}]}`, `x.json: is outputs.json of AIPerf, which holds texts without the times of their tokens and no requests; give profile_export.jsonl`},
		{"aiperf marker", `{"ready":true,"was_cancelled":false,"partial":false}`, `x.json: is a marker of AIPerf (.aiperf_results_ready.json), which holds whether a run is complete and no requests; give profile_export.jsonl`},
		{"aiperf marker of a run under way", `{"processing":true}`, `x.json: is a marker of AIPerf`},
		{"aiperf phases", `{"phases":[{"artifacts":{},"phase_index":0}],"schema_version":1}`, `x.json: is phase_manifest.json of AIPerf`},
		{"aiperf telemetry", `{"timestamp_ns":1,"telemetry_source_url":"u","gpu_index":0,"telemetry_data":{}}`, `x.json: is gpu_telemetry_export.jsonl of AIPerf`},
		{"aiperf scrapes", `{"endpoint_url":"u","timestamp_ns":1,"endpoint_latency_ns":2,"metrics":{}}`, `x.json: is server_metrics_export.jsonl of AIPerf`},
		{"aiperf round trips", `{"timestamp_ns":1,"target_url":"u","target_port":80,"rtt_ns":5}`, `x.json: is profile_export_network_latency.jsonl of AIPerf`},
		{"aiperf CSV", "Metric,avg,min,max,sum,p1,p5,p10,p25,p50,p75,p90,p95,p99,std\r\n", `x.json: is profile_export_aiperf.csv of AIPerf, which holds statistics and no requests`},
		{"GenAI-Perf inputs", `{"data":[{"payload":[{"messages":[]}]}]}`, `x.json: is an input file of perf_analyzer or GenAI-Perf (inputs.json), which holds what was to be sent and no requests; give profile_export.json`},
		{"inference-perf validation", `{"global":{"warnings":[],"errors":[]},"reports":{}}`, `x.json: is validation.json of inference-perf`},
		{"aiperf, and no metadata", `{"metadata":{"request_start_ns":1},"metrics":nul}`, `x.json: byte 48: expected null`},
		{"aiperf summary before its version was in front", `{"request_throughput":{"unit":"requests/sec","avg":0.2},"request_latency":{"unit":"ms","avg":3},"request_count": {
 "unit": "requests","avg":64}}`, `x.json: is profile_export_aiperf.json of AIPerf, which holds statistics and no requests; give profile_export.jsonl`},
		{"GenAI-Perf report with counts", `{"request_throughput":{"unit":"requests/sec","avg":8.6},"request_count":{"unit":"count","avg":8}}`, `x.json: is the report of GenAI-Perf`},
		{"GenAI-Perf report", `{"request_throughput":{"unit":"requests/sec","avg":8.6},"request_latency":{"unit":"ms","avg":389.5}}`, `x.json: is the report of GenAI-Perf, which holds statistics and no requests; give the profile_export.json`},
		{"GenAI-Perf report of an early release", `{"request_latency":{"unit":"ms","avg":389.5},"input_config":{}}`, `x.json: is the report of GenAI-Perf`},
		{"inference-perf summary", `{"load_summary":{"count":20}}`, `x.json: is a summary of inference-perf, which holds statistics and no requests; give per_request_lifecycle_metrics.json`},
		{"guidellm without benchmarks", `{"metadata":{"version":2,"guidellm_version":"0.8.1"},"benchmarks":[]}`, `x.json: is a file of GuideLLM 0.8.1 without benchmarks: nothing was measured`},
		{"vllm figures only", `{"date":"20260101-120000","endpoint_type":"openai","backend":"vllm","tokenizer_id":"t","num_prompts":2,"duration":1.0,"latencies":[1]}`, `x.json: is a result of vllm bench serve of 20260101-120000 that holds figures and no requests; run it with --save-detailed to keep them`},
		{"trtllm figures only", `{"backend":"openai","tokenizer_id":"t","num_prompts":2,"duration":1.0,"completed":1,"user_throughput":3}`, `x.json: is a result of TensorRT-LLM benchmark_serving of unknown date that holds figures and no requests; run it with --save-detailed`},
		{"sglang figures only", `{"backend":"sglang","dataset_name":"random","request_rate":Infinity,"server_info":null}`, `x.json: is a result of SGLang bench_serving of unknown date that holds figures and no requests; run it with --output-details`},
		{"vllm pooling", `{"date":"d","backend":"vllm-pooling","tokenizer_id":"t","num_prompts":2,"total_input_sequences":4,"latencies":[1]}`, `x.json: is a result of vllm bench serve for a model that gives no tokens (backend "vllm-pooling")`},
		{"summary of Ray LLMPerf", `{"version":"2023-08-31","name":"m","model":"m","mean_input_tokens":5,"stddev_input_tokens":0,"mean_output_tokens":5,"stddev_output_tokens":0,"num_concurrent_requests":1,"results_ttft_s_mean":1.0}`, `x.json: is the summary of Ray LLMPerf, which holds statistics and no requests; give the file …_individual_responses.json`},
		{"genai-bench settings", `{"cmd":"genai-bench","benchmark_version":"0.0.5","api_backend":"openai"}`, `x.json: is experiment_metadata.json of genai-bench, which holds settings and no requests; give a file with a concurrency in its name`},
		{"genai-bench in another unit", `{"aggregated_metrics":{"scenario":"E","num_concurrency":1},"individual_request_metrics":[{}],"_time_unit":"h"}`, `x.json: _time_unit: expected "s" or "ms", found "h"`},
		{"AISBench details", `{"data_abbr":"q","id":0,"success":true,"error_info":"","time_points":{"__db_ref__":1}}`, `x.json: is the details of AISBench, which holds texts without times (the times are in a database) and no requests; give the .csv or .json`},
		{"EvalScope rates", `{"n_samples":12,"wall_time_s":0.1832,"rows":[]}`, `x.json: is workload_throughput.json of EvalScope perf, which holds rates of parts of the run and no requests; give benchmark_summary.json from the same folder`},
		{"EvalScope timeline", `{"wall_start":4.5,"points":[{"t":0.1,"cum_completion":32}]}`, `x.json: is workload_timeline.json of EvalScope perf`},
		{"EvalScope settings", `{"model":"m","model_id":"m","attn_implementation":null,"api":"openai","parallel":2}`, `x.json: is benchmark_args.json of EvalScope perf`},
		{"Locust history", "Timestamp,User Count,Type,Name,Requests/s\n", `x.json: is …_stats_history.csv of Locust, which holds figures over time and no requests; give the file …_stats.csv`},
		{"no JSON at all", `{"backend":"a","dataset_name":"b","request_rate":1,}`, `x.json: byte 51: expected a member name, found '}'`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := open(t, tt.text)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %s", err, tt.want)
			}
		})
	}
}

// Columns of different lengths end the reading after the rows that are whole.
func TestColumnsEnd(t *testing.T) {
	r, err := open(t, `{"backend":"a","dataset_name":"d","request_rate":1.5,"server_info":null,"ttfts":[0.5,0.5],"itls":[[],[]],"output_lens":[1],"errors":["",""]}`)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for r.Next() {
		n++
	}
	var syntax *export.SyntaxError
	if want := `column "output_lens" ends after 1 requests, but "ttfts" goes on`; n != 1 || !errors.As(r.Err(), &syntax) || !strings.Contains(r.Err().Error(), want) {
		t.Errorf("%d requests, then %v, want 1 and %s", n, r.Err(), want)
	}
}

// A file that was cut anywhere gives the requests before the cut, if its layout
// allows that, and in any case says that it was cut: never anything else.
func TestCut(t *testing.T) {
	fsys := golden.FS(t, "peers")
	for _, name := range []string{"aiperf/ok/profile_export.jsonl", "guidellm/ok/benchmarks.json", "infperf/ok/reports/per_request_lifecycle_metrics.json", "vllm/ok/result.json", "sglang_rs/ok/result.jsonl"} {
		data, err := fs.ReadFile(fsys, name)
		if err != nil {
			t.Fatal(err)
		}
		_, whole, _ := readAll(t, name, data)
		var f export.Format
		for _, x := range Formats() {
			if f == nil && x.Sniff(data[:4<<10]) {
				f = x
			}
		}
		data = bytes.TrimRight(data, "\n")
		step := max(len(data)*testenv.Stride(3)/300, 1)
		for n := 1; n < len(data); n += step {
			r, err := f.Open(t.Context(), name, bytes.NewReader(data[:n]), int64(n), export.Limits{})
			requests := 0
			if err == nil {
				for r.Next() {
					if got, want := runtest.Shown(r.Request()), runtest.Shown(whole[requests]); got != want {
						t.Fatalf("%s cut at %d: request %d is %s, want %s", name, n, requests, got, want)
					}
					requests++
				}
				err = r.Err()
			}
			var cut *export.CutError
			atLine := requests > 0 && data[n] == '\n' // between two records
			if !errors.As(err, &cut) && (err != nil || !atLine) {
				t.Fatalf("%s cut at %d: %v after %d requests, want a *CutError", name, n, err, requests)
			}
		}
	}
}

// A cut file gives each request that all columns have, or that is whole.
func TestCutKeeps(t *testing.T) {
	fsys := golden.FS(t, "peers")
	for _, tt := range []struct {
		file, before string // it is cut before the nth of these …
		nth          int
		after        string // … that follow this
		want         int
		where        string
	}{
		{"guidellm/ok/benchmarks.json", `{"type_": "generative_request_stats"`, 6, "", 5, "benchmark 0, successful request 5"},
		{"guidellm/ok/benchmarks.json", `"errored": [`, 1, `"requests": {"successful"`, 8, "benchmark 0"},
		{"guidellm/ok/benchmarks.json", `"conclusions"`, 1, "", 8, "benchmark 0"},
		{"guidellm/cut/benchmarks.json", `{"type_": "generative_request_stats"`, 20, "", 19, "benchmark 0, errored request 1"}, // 18 and the first that failed
		{"guidellm/cut/benchmarks.json", `"incomplete": [`, 1, `"requests": {"successful"`, 20, "benchmark 0"},
		{"vllm/ok/result.json", `, `, 3, `"itls": `, 0, ""}, // no texts yet
		{"vllm/ok/result.json", `, "`, 3, `"generated_texts": `, 3, "request 2"},
		{"vllm/ok/result.json", `, `, 2, `"errors": `, 8, "what follows the requests of result 0"},
		{"vllm/ok/result.json", `"errors"`, 1, "", 8, "what follows the requests of result 0"},
		{"vllm/ok/result.json", `"p99_itl_ms"`, 1, "", 8, "what follows the requests of result 0"},
		{"vllm_rs/ok/result.json", `"`, 5, `"generated_texts":`, 0, ""},      // its latencies come later
		{"vllm_rs/ok/result.json", `,`, 5, `"start_times":`, 4, "request 4"}, // the fifth may have more digits
		{"vllm_rs/ok/result.json", `"steady_state"`, 1, "", 8, "what follows the requests of result 0"},
		{"sglang/ok/result.jsonl", `, "`, 6, `"generated_texts": `, 6, "request 5"},
		{"sglang/cut/result.jsonl", `"errors"`, 1, "", 18, "what follows the requests of result 0"}, // the two that failed are not known without their errors
	} {
		t.Run(tt.file+" "+tt.after+tt.before, func(t *testing.T) {
			data, err := fs.ReadFile(fsys, tt.file)
			if err != nil {
				t.Fatal(err)
			}
			at := bytes.Index(data, []byte(tt.after)) + len(tt.after)
			for n := 0; n < tt.nth; n++ {
				if n > 0 {
					at++
				}
				next := bytes.Index(data[at:], []byte(tt.before))
				if next < 0 {
					t.Fatalf("there is no %s", tt.before)
				}
				at += next
			}
			n := 0
			r, err := open(t, string(data[:at]))
			if err == nil {
				for r.Next() {
					n++
				}
				err = r.Err()
			}
			var cut *export.CutError
			if !errors.As(err, &cut) || cut.Offset != int64(at) || tt.where != "" && cut.Where != tt.where || n != tt.want {
				t.Errorf("%d requests, then %v; want %d, and cut at byte %d inside %q", n, err, tt.want, at, tt.where)
			}
		})
	}
}

// A value beyond the limit is an error, whatever the format.
func TestLimit(t *testing.T) {
	long := strings.Repeat("x", 5000)
	for _, text := range []string{
		`{"metadata":{"request_start_ns":5},"metrics":{},"x":"` + long + `"}`,
		`[{"start_time":1,"end_time":1,"request":"` + long + `"}]`,
		`{"backend":"a","dataset_name":"d","request_rate":1.5,"server_info":null,"ttfts":[1],"itls":[[]],"output_lens":[1],"generated_texts":["` + long + `"],"errors":[""]}`,
		`{"metadata":{"guidellm_version":"1","x":"` + long + `"},"benchmarks":[]}`,
		`{"1":{"concurrency":1,"client_requests":1,"perf_results":[{"output_text":"` + long + `"}]}}`,
	} {
		for _, f := range Formats() {
			if !f.Sniff([]byte(text[:min(len(text), 4<<10)])) {
				continue
			}
			r, err := f.Open(t.Context(), "x.json", strings.NewReader(text), int64(len(text)), export.Limits{MaxValueBytes: 1000})
			if err == nil {
				for r.Next() {
				}
				err = r.Err()
			}
			if err == nil || !strings.Contains(err.Error(), "is larger than 1000 bytes") {
				t.Errorf("%s: %v", f.Name(), err)
			}
		}
	}
}
