//go:build realservers

package realservers

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// testTritonSequences sends the streams of a file as sequences to the model that adds
// each of them up: the sums show that none lost, swapped or mixed a request.
func testTritonSequences(t *testing.T, s *server) {
	const steps = `{"data": [[{"INPUT": [1]}, {"INPUT": [10]}, {"INPUT": [100]}], [{"INPUT": [5]}, {"INPUT": [6]}]]}`
	for _, c := range []struct {
		name string
		args []string
	}{
		{"http", []string{"-i", "http", "-u", s.HTTP, "--concurrency-range", "3"}},
		{"grpc", []string{"-i", "grpc", "-u", s.GRPC, "--concurrency-range", "3"}},
		{"stream", []string{"-i", "grpc", "-u", s.GRPC, "--async", "--streaming", "--concurrency-range", "3"}},
		{"stream, rate", []string{"-i", "grpc", "-u", s.GRPC, "--async", "--streaming", "--request-rate-range", "50", "--num-of-sequences", "2"}},
		{"compressed", []string{"-i", "grpc", "-u", s.GRPC, "--concurrency-range", "3", "--grpc-compression-algorithm", "gzip"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := append([]string{
				"-m", "sequence", "--request-count", "24", "--input-data=prompts.json", "--profile-export-file", exportName,
			}, c.args...)
			_, f := mustRecord(t, steps, args...)
			sums := map[string]bool{}
			for i, r := range f.requests(t, 24) {
				var sum int
				if err := json.Unmarshal(r.ResponseOutputs[0]["OUTPUT"], &sum); err != nil {
					t.Fatalf("request %d: %v", i, err)
				}
				switch sum {
				case 1, 11, 111, 5:
				default:
					t.Errorf("request %d: the sequence's sum is %d", i, sum)
				}
				sums[fmt.Sprint(sum)] = true
			}
			if !sums["111"] || !sums["5"] {
				t.Errorf("sums %v, want the sums of both streams", sums)
			}
		})
	}
}

// testTritonGenerate puts prompts to the generate endpoints.
func testTritonGenerate(t *testing.T, s *server) {
	for _, c := range []struct {
		endpoint  string
		args      []string
		responses int
	}{
		{"v2/models/vllm/generate", nil, 1},
		{"v2/models/vllm/generate_stream", []string{"--streaming"}, 4},
	} {
		args := append([]string{
			"-m", "vllm", "--service-kind", "openai", "--endpoint", c.endpoint, "-u", s.HTTP, "--request-count", "5",
			"--input-data=prompts.json", "--profile-export-file", exportName,
		}, c.args...)
		_, f := mustRecord(t, `{"data": [{"payload": [{"text_input": "Hello", "max_tokens": 4, "sampling_parameters": "{\"max_tokens\": 4}"}]}]}`, args...)
		for i, r := range f.requests(t, 5) {
			if len(r.ResponseTimestamps) != c.responses {
				t.Errorf("%s: request %d has %d responses, want %d", c.endpoint, i, len(r.ResponseTimestamps), c.responses)
			}
		}
	}
}

// testTritonTensors sends tensors every way that there is; the sums and differences
// that come back show that each arrived whole.
func testTritonTensors(t *testing.T, s *server) {
	const one = `{"data": [{"INPUT0": [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,-16], "INPUT1": [1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]}]}`
	for _, c := range []struct {
		name string
		args []string
	}{
		{"JSON both ways", []string{"-u", s.HTTP, "--input-tensor-format", "json", "--output-tensor-format", "json"}},
		{"JSON sent", []string{"-u", s.HTTP, "--input-tensor-format", "json"}},
		{"JSON asked for", []string{"-u", s.HTTP, "--output-tensor-format", "json"}},
		{"shared memory, http", []string{"-u", s.HTTP, "--shared-memory", "system", "--output-shared-memory-size", "64"}},
		{"shared memory, grpc", []string{"-i", "grpc", "-u", s.GRPC, "--shared-memory", "system"}},
		{"compressed", []string{"-i", "grpc", "-u", s.GRPC, "--grpc-compression-algorithm", "deflate"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := append([]string{
				"-m", "add_sub", "--request-count", "6", "--concurrency-range", "2", "--input-data=prompts.json", "--profile-export-file", exportName,
			}, c.args...)
			_, f := mustRecord(t, one, args...)
			for i, r := range f.requests(t, 6) {
				var sums []int
				if err := json.Unmarshal(r.ResponseOutputs[0]["OUTPUT0"], &sums); err != nil {
					t.Fatalf("request %d: %v", i, err)
				}
				if got, want := fmt.Sprint(sums), "[2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 -15]"; got != want {
					t.Errorf("request %d: sums %s, want %s", i, got, want)
				}
			}
		})
	}
}

// testTritonTraces has every request traced while the run lasts: the server writes
// them down, two to a file, and has its own settings back at the end.
func testTritonTraces(t *testing.T, s *server) {
	settings := func() string {
		t.Helper()
		r, err := http.Get("http://" + s.HTTP + "/v2/models/add_sub/trace/setting")
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		text, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	before := settings()
	for _, c := range []struct{ name, flags, event string }{
		{"http", "-u " + s.HTTP, "HTTP_RECV_START"},
		{"grpc", "-i grpc -u " + s.GRPC, "GRPC_WAITREAD_START"},
	} {
		t.Run(c.name, func(t *testing.T) {
			old, err := filepath.Glob(s.Traces + ".*")
			if err != nil {
				t.Fatal(err)
			}
			args := append(strings.Fields(c.flags), "-m", "add_sub", "--request-count", "5", "--profile-export-file", exportName,
				"--trace-level", "TIMESTAMPS", "--trace-rate", "1", "--trace-count", "5", "--log-frequency", "2")
			mustRecord(t, "", args...)
			if after := settings(); after != before {
				t.Errorf("settings after the run %s, before it %s", after, before)
			}
			all, err := filepath.Glob(s.Traces + ".*")
			if err != nil {
				t.Fatal(err)
			}
			if len(all)-len(old) != 3 {
				t.Errorf("%d files of traces, want three: of 2, 2 and 1 requests", len(all)-len(old))
			}
			starts, events := 0, 0
			for _, path := range all {
				if slices.Contains(old, path) {
					continue
				}
				text, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				starts += strings.Count(string(text), `"REQUEST_START"`)
				events += strings.Count(string(text), `"`+c.event+`"`)
			}
			if starts != 5 || events != 5 {
				t.Errorf("%d requests began in the traces, %d with a %s; want 5", starts, events, c.event)
			}
		})
	}
}

// testTritonModels asks two models in turn, each with its own inputs; the server has
// counted the requests of each.
func testTritonModels(t *testing.T, s *server) {
	dir, ours := record(t, "", "-m", "add_sub", "-m", "fp16", "--shape", "IN_FP16:4", "-u", s.HTTP, "--request-count", "8", "--profile-export-file", exportName)
	if ours.Code != 0 {
		t.Fatal(ours)
	}
	for _, model := range []string{"add_sub", "fp16"} {
		if want := "  Server, model " + model + ": \n    Inference count: "; !strings.Contains(ours.Stdout, want) {
			t.Errorf("no %q in\n%s", want, ours.Stdout)
		}
	}
	list := runProgram(t, dir, program(t, "pa-analyze"), "requests", "--format", "jsonl", exportName)
	for _, model := range []string{"add_sub", "fp16"} {
		if n := strings.Count(list.Stdout, `"model":"`+model+`"`); n != 4 {
			t.Errorf("%d requests to %s, want 4", n, model)
		}
	}
}
