//go:build realservers

package realservers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestGuide is the "Benchmarking LLM" guide of 23.09 with perf_analyzer
// replaced by pa-record and nothing else changed, beside perf_analyzer itself.
func TestGuide(t *testing.T) {
	t.Parallel()
	const prompts = `{"data": [{"PROMPT": ["Hello, my name is"], "STREAM": [true]}]}`
	guide := []string{
		"-m", "vllm", "-i", "grpc", "--async", "--streaming",
		"--input-data=prompts.json",
		"--profile-export-file=profile_export.json",
		"--measurement-mode=count_windows",
		"--measurement-request-count=10",
		"--stability-percentage=999",
	}
	if _, ok := startTritonOnDefaultPorts(t, "models_2309"); !ok {
		s := startTriton(t, "models_2309")
		t.Logf("port 8000, 8001 or 8002 is taken: adding -u %s to the guide's command", s.GRPC)
		guide = append(guide, "-u", s.GRPC)
	}
	ours, f := mustRecord(t, prompts, guide...)
	theirs := perfAnalyzer(t, prompts, guide...)
	compareShapes(t, ours, theirs)
	compareText(t, f, readExport(t, theirs))

	if len(f.Experiments) != 1 || f.Experiments[0].Experiment.Mode != "concurrency" || f.Experiments[0].Experiment.Value != "1" {
		t.Errorf("experiments = %+v, want one of concurrency 1", f.Experiments)
	}
	for i, r := range f.requests(t, 10) {
		if got, want := len(r.ResponseTimestamps), 17; got != want { // 16 tokens and the empty final response
			t.Errorf("request %d: %d responses, want %d", i, got, want)
		}
	}
}

// TestTriton runs the tests that need the models of realservers/triton/models, all on one server.
// Cases that also run perf_analyzer are parallel, because perf_analyzer waits most of the time.
func TestTriton(t *testing.T) {
	t.Parallel()
	s := startTriton(t, "models")
	t.Run("streaming", func(t *testing.T) { testTritonStreaming(t, s) })
	t.Run("random inputs", func(t *testing.T) { testTritonRandom(t, s) })
	t.Run("types", func(t *testing.T) { testTritonTypes(t, s) })
	t.Run("console", func(t *testing.T) { testTritonConsole(t, s) })
	t.Run("failing request", func(t *testing.T) { testTritonRequestFails(t, s) })
	t.Run("refused", func(t *testing.T) { testTritonRefused(t, s) })
	t.Run("sequences", func(t *testing.T) { testTritonSequences(t, s) })
	t.Run("tensors", func(t *testing.T) { testTritonTensors(t, s) })
	t.Run("traces", func(t *testing.T) { testTritonTraces(t, s) })
	t.Run("several models", func(t *testing.T) { testTritonModels(t, s) })
	t.Run("generate", func(t *testing.T) { testTritonGenerate(t, s) })
}

const vllmPrompts = `{"data": [
 {"text_input": ["Hello, my name is"], "stream": [true], "sampling_parameters": ["{\"max_tokens\": 8}"]},
 {"text_input": ["A longer prompt, of more words than the others have"], "stream": [true], "sampling_parameters": ["{\"max_tokens\": 13, \"itl_ms\": 5, \"vocabulary\": \"tricky\"}"]},
 {"text_input": ["Hi"], "stream": [true], "sampling_parameters": ["{\"max_tokens\": 1}"]}
]}`

// testTritonStreaming has perf_analyzer and GenAI-Perf agree about runs of
// several prompts on the model with vLLM's interface.
func testTritonStreaming(t *testing.T, s *server) {
	for _, c := range []struct {
		name    string
		prompts string
		args    []string
	}{
		{
			name:    "one at a time",
			prompts: vllmPrompts,
			args:    []string{"--request-count", "9"},
		},
		{
			name:    "two levels",
			prompts: vllmPrompts,
			args:    []string{"-p", "2000", "-s", "999", "--concurrency-range", "2:4:2"},
		},
		{
			name:    "final flag on the last token",
			prompts: `{"data": [{"text_input": ["Hi"], "stream": [true], "sampling_parameters": ["{\"max_tokens\": 5, \"final\": \"attached\"}"]}]}`,
			args:    []string{"--request-count", "6"},
		},
		{
			name:    "not streamed by the model",
			prompts: `{"data": [{"text_input": ["Hi"], "stream": [false], "sampling_parameters": ["{\"max_tokens\": 5}"]}]}`,
			args:    []string{"--request-count", "6"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			args := append([]string{
				"-m", "vllm", "-i", "grpc", "--async", "--streaming", "-u", s.GRPC,
				"--input-data=prompts.json", "--profile-export-file=profile_export.json",
			}, c.args...)
			ours, f := mustRecord(t, c.prompts, args...)
			theirs := perfAnalyzer(t, c.prompts, args...)
			compareShapes(t, ours, theirs)
			compareText(t, f, readExport(t, theirs))
			checkGenAIPerf(t, ours, f, strings.Contains(c.prompts, `"stream": [true]`))
		})
	}
}

// testTritonRandom checks random inputs by the sums that the server computes
// of them: what the export shows must be what was sent.
func testTritonRandom(t *testing.T, s *server) {
	for _, c := range []struct {
		name string
		args []string
	}{
		{"http", []string{"-i", "http", "-u", s.HTTP}},
		{"http by default", []string{"-u", s.HTTP}},
		{"grpc", []string{"-i", "grpc", "-u", s.GRPC}},
		{"grpc async", []string{"-i", "grpc", "-u", s.GRPC, "--async"}},
		{"grpc batch", []string{"-i", "grpc", "-u", s.GRPC, "-b", "1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			args := append([]string{
				"-m", "add_sub", "--request-count", "20", "--concurrency-range", "2",
				"--profile-export-file", exportName,
			}, c.args...)
			ours, f := mustRecord(t, "", args...)
			theirs := perfAnalyzer(t, "", args...)
			compareShapes(t, ours, theirs)
			for i, r := range f.requests(t, 20) {
				in0, in1 := int32s(t, r.RequestInputs["INPUT0"]), int32s(t, r.RequestInputs["INPUT1"])
				sum, diff := make([]int32, len(in0)), make([]int32, len(in0))
				for k := range in0 {
					sum[k], diff[k] = in0[k]+in1[k], in0[k]-in1[k]
				}
				out := r.ResponseOutputs[0]
				if d := cmp.Diff([][]int32{sum, diff}, [][]int32{int32s(t, out["OUTPUT0"]), int32s(t, out["OUTPUT1"])}); d != "" {
					t.Fatalf("request %d: outputs are not sum and difference of the inputs (-want +got):\n%s", i, d)
				}
			}
		})
	}
}

func int32s(t *testing.T, raw json.RawMessage) []int32 {
	t.Helper()
	var v []int32
	if err := json.Unmarshal(raw, &v); err != nil || len(v) != 16 {
		t.Fatalf("tensor %s: %v, want 16 integers of 32 bits", raw, err)
	}
	return v
}

// testTritonTypes sends every data type and compares inputs and outputs with
// perf_analyzer's export: integers to the digit, decimals by value, since the
// Grisu2 of perf_analyzer's JSON writer does not always find the shortest text
// (it ends the largest FP32 in 887e38 for 886e38, which is the same float64).
func testTritonTypes(t *testing.T, s *server) {
	for _, c := range []struct {
		name    string
		model   string
		prompts string
	}{
		{
			name:  "scalars at the ends of their ranges",
			model: "types",
			prompts: `{"data": [{
				"IN_BOOL": {"content": [true], "shape": [1]},
				"IN_UINT8": {"content": [255], "shape": [1]},
				"IN_UINT16": {"content": [65535], "shape": [1]},
				"IN_UINT32": {"content": [4294967295], "shape": [1]},
				"IN_UINT64": {"content": [18446744073709551615], "shape": [1]},
				"IN_INT8": {"content": [-128], "shape": [1]},
				"IN_INT16": {"content": [-32768], "shape": [1]},
				"IN_INT32": {"content": [-2147483648], "shape": [1]},
				"IN_INT64": {"content": [-9223372036854775808], "shape": [1]},
				"IN_FP32": {"content": [0.1], "shape": [1]},
				"IN_FP64": {"content": [0.1], "shape": [1]},
				"IN_STRING": {"content": ["na\u00efve \"q\" \n\t/ \u0001"], "shape": [1]}
			}]}`,
		},
		{
			name:  "arrays",
			model: "types",
			prompts: `{"data": [{
				"IN_BOOL": {"content": [true, false, true], "shape": [3]},
				"IN_UINT8": {"content": [0, 1, 255], "shape": [3]},
				"IN_INT64": {"content": [-1, 0, 9007199254740993], "shape": [3]},
				"IN_FP32": {"content": [1.5, -0.25, 3.4028235e38], "shape": [3]},
				"IN_FP64": {"content": [1e300, -1e-300, 5.5], "shape": [3]}
			}]}`,
		},
		{
			name:    "some of the inputs",
			model:   "types",
			prompts: `{"data": [{"IN_INT32": {"content": [7, 8], "shape": [2]}}]}`,
		},
		{
			name:    "half precision, which perf_analyzer writes as null",
			model:   "fp16",
			prompts: `{"data": [{"IN_FP16": {"content": {"b64": "ADwAQA=="}, "shape": [2]}}]}`,
		},
	} {
		for _, protocol := range []struct{ name, url string }{{"grpc", s.GRPC}, {"http", s.HTTP}} {
			t.Run(c.name+" "+protocol.name, func(t *testing.T) {
				t.Parallel()
				args := []string{
					"-m", c.model, "-i", protocol.name, "-u", protocol.url, "--request-count", "3",
					"--input-data=prompts.json", "--profile-export-file=profile_export.json",
				}
				ours, f := mustRecord(t, c.prompts, args...)
				theirs := perfAnalyzer(t, c.prompts, args...)
				compareShapes(t, ours, theirs)
				want := readExport(t, theirs).requests(t, 3)[0]
				for i, got := range f.requests(t, 3) {
					if d := cmp.Diff(want.RequestInputs.values(t), got.RequestInputs.values(t)); d != "" {
						t.Errorf("request %d: request_inputs (-perf_analyzer +pa-record):\n%s", i, d)
					}
					if d := cmp.Diff(want.ResponseOutputs[0].values(t), got.ResponseOutputs[0].values(t)); d != "" {
						t.Errorf("request %d: response_outputs (-perf_analyzer +pa-record):\n%s", i, d)
					}
				}
			})
		}
	}
}

// values is f decoded; numbers are json.Number when whole, else float64.
func (f fieldsFile) values(t *testing.T) map[string]any {
	t.Helper()
	m := map[string]any{}
	for name, raw := range f {
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		var v any
		if err := d.Decode(&v); err != nil {
			t.Fatalf("%s: %s: %v", name, raw, err)
		}
		m[name] = decimals(v)
	}
	return m
}

// decimals turns the numbers in v that are not whole into float64.
func decimals(v any) any {
	switch v := v.(type) {
	case json.Number:
		if x, err := v.Float64(); err == nil && strings.ContainsAny(v.String(), ".eE") {
			return x
		}
	case []any:
		for i := range v {
			v[i] = decimals(v[i])
		}
	}
	return v
}

// strings is f with the JSON text of its values.
func (f fieldsFile) strings() map[string]string {
	m := map[string]string{}
	for name, raw := range f {
		m[name] = string(raw)
	}
	return m
}

// testTritonRequestFails has one prompt of three fail after three tokens:
// perf_analyzer gives up and writes nothing, pa-record keeps a row for it.
func testTritonRequestFails(t *testing.T, s *server) {
	const prompts = `{"data": [
	 {"text_input": ["a"], "stream": [true], "sampling_parameters": ["{\"max_tokens\": 5}"]},
	 {"text_input": ["b"], "stream": [true], "sampling_parameters": ["{\"max_tokens\": 5, \"fail_after\": 3}"]},
	 {"text_input": ["c"], "stream": [true], "sampling_parameters": ["{\"max_tokens\": 5}"]}
	]}`
	_, f := mustRecord(t, prompts, "-m", "vllm", "-i", "grpc", "--async", "--streaming", "-u", s.GRPC,
		"--request-count", "9", "--input-data=prompts.json", "--profile-export-file=profile_export.json")
	if got, want := len(f.requests(t, 1)), 6; got != want {
		t.Errorf("%d requests measured, want %d", got, want)
	}
	if got, want := len(f.excluded()), 3; got != want {
		t.Fatalf("%d requests excluded, want %d", got, want)
	}
	for _, r := range f.excluded() {
		if got := r.RequestInputs.text("text_input"); got != "b" {
			t.Errorf("excluded request has text_input %q, want b", got)
		}
		if r.PA == nil || r.PA.Status != "rpc_error" || r.PA.Message == "" {
			t.Errorf("excluded request's pa = %+v, want status rpc_error and the server's message", r.PA)
		}
		if got, want := len(r.ResponseTimestamps), 3; got < want {
			t.Errorf("excluded request has %d responses, want the %d tokens before the error", got, want)
		}
	}
}

// testTritonRefused checks the one line that says why nothing was measured.
func testTritonRefused(t *testing.T, s *server) {
	nobody := fmt.Sprintf("127.0.0.1:%d", freePorts(t, 1)[0])
	for _, c := range []struct {
		name string
		args []string
		want []string // in stderr
	}{
		{"unknown model, grpc", []string{"-m", "nosuch", "-i", "grpc", "-u", s.GRPC}, []string{"nosuch", s.GRPC}},
		{"unknown model, http", []string{"-m", "nosuch", "-i", "http", "-u", s.HTTP}, []string{"nosuch", s.HTTP}},
		{"nobody there, grpc", []string{"-m", "add_sub", "-i", "grpc", "-u", nobody}, []string{nobody}},
		{"nobody there, http", []string{"-m", "add_sub", "-i", "http", "-u", nobody}, []string{nobody}},
		{"the HTTP port, grpc", []string{"-m", "add_sub", "-i", "grpc", "-u", s.HTTP}, []string{s.HTTP}},
		{"the gRPC port, http", []string{"-m", "add_sub", "-i", "http", "-u", s.GRPC}, []string{s.GRPC}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, r := record(t, "", append(c.args, "--request-count", "5", "--profile-export-file", exportName)...)
			checkRefused(t, dir, r, c.want...)
		})
	}
}

// compareText fails the test unless both exports hold the same answers to the
// same inputs.
func compareText(t *testing.T, ours, theirs exportFile) {
	t.Helper()
	if d := cmp.Diff(answers(theirs), answers(ours)); d != "" {
		t.Errorf("answers by input (-perf_analyzer +pa-record):\n%s", d)
	}
}

// answers maps the inputs of each request to the different lists of outputs
// that it got.
func answers(f exportFile) map[string][]string {
	m := map[string][]string{}
	for _, e := range f.Experiments {
		for _, r := range e.Requests {
			var in, out []string
			for _, name := range slices.Sorted(maps.Keys(r.RequestInputs)) {
				in = append(in, name+"="+string(r.RequestInputs[name]))
			}
			for _, o := range r.ResponseOutputs {
				out = append(out, fmt.Sprint(o.strings()))
			}
			key, answer := strings.Join(in, " "), strings.Join(out, " ")
			if !slices.Contains(m[key], answer) {
				m[key] = append(m[key], answer)
			}
		}
	}
	return m
}
