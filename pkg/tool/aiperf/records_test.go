package aiperf

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/py"
	"github.com/pa-tools/pa/internal/test/golden"
	"github.com/pa-tools/pa/internal/test/runtest"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/profilejson"
	"github.com/pa-tools/pa/pkg/tool/dialect"
	"github.com/pa-tools/pa/pkg/tool/guidellm"
	"github.com/pa-tools/pa/pkg/tool/infperf"
	"github.com/pa-tools/pa/pkg/tool/internal/resultfile"
	"github.com/pa-tools/pa/pkg/tool/serving"
)

// notKept are the members of AIPerf's records that an import does not keep, and
// why. What begins so is meant, too.
var notKept = map[string]string{
	"metadata.x_request_id":             "nothing of ours says which id a request was sent with",
	"metadata.conversation_id":          "an import keeps the session (x_correlation_id), not the entry of the data set",
	"metadata.worker_id":                "names of processes are none of workers",
	"metadata.record_processor_id":      "the records were written by another program",
	"metrics.http_req_receiving":        "the file does not hold when the first and last byte of the body came",
	"metrics.http_req_blocked":          "waiting for a connection is not kept",
	"metrics.http_req_chunks_":          "reads of the network are not kept",
	"metrics.http_req_data_":            "sizes are not kept",
	"metrics.http_req_waiting":          "the file does not hold when the first byte of the body came",
	"metrics.http_req_sending":          "begins before the request does",
	"metrics.http_req_duration":         "is made of sending, waiting and receiving",
	"metrics.http_req_connection_overh": "is made of blocked",
	"metrics.http_req_total":            "is made of blocked",
	"metrics.osl_mismatch_diff_pct":     "the file does not hold how many tokens were asked for",
	"error.cause":                       "the error keeps its type and message",
}

func isNotKept(name string) bool {
	for prefix := range notKept {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// imported are the formats of the files from which records are written.
var imported = resultfile.Formats(ResultFile(), guidellm.ResultFile(), infperf.ResultFile(), serving.ResultFile())

// names returns the members of an object in order.
func names(t *testing.T, v py.Value) []string {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(v.Raw()))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		t.Fatalf("no object: %s", v.Raw())
	}
	var all []string
	for d.More() {
		name, err := d.Token()
		var value json.RawMessage
		if err := errors.Join(err, d.Decode(&value)); err != nil {
			t.Fatal(err)
		}
		all = append(all, name.(string))
	}
	return all
}

// AIPerf's own records, read and written again: the same members at every level
// and in the same order, with the same text, except for members that are not kept.
// The order of metrics is the order of one of the runs.
func TestRecordsGolden(t *testing.T) {
	fsys := golden.FS(t, "peers")
	for _, name := range []string{"ok", "cut", "int"} {
		data, err := fs.ReadFile(fsys, path.Join("aiperf", name, "profile_export.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if warnings, err := releases[0].writeRecords(t.Context(), runtest.Import(t, data, imported...), dialect.Config{}, &b); err != nil || len(warnings) > 0 {
			t.Fatal(err, warnings)
		}
		got, want := strings.Split(b.String(), "\n"), strings.Split(string(data), "\n")
		if len(got) != len(want) {
			t.Fatalf("%s: %d lines, want %d", name, len(got), len(want))
		}
		for i := range want {
			if want[i] != "" {
				sameRecord(t, fmt.Sprintf("%s:%d", name, i+1), parse(t, got[i]), parse(t, want[i]), name == "ok")
			}
		}
	}
}

func parse(t *testing.T, text string) py.Value {
	t.Helper()
	v, err := py.ParseJSON(text, py.ORJSON)
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}

func sameRecord(t *testing.T, where string, got, want py.Value, sameOrder bool) {
	t.Helper()
	parts := names(t, want)
	if g := names(t, got); !slices.Equal(g, parts) {
		t.Fatalf("%s: members %v, want %v", where, g, parts)
	}
	for _, part := range parts {
		g, _ := got.Member(part)
		w, _ := want.Member(part)
		gotNames := slices.DeleteFunc(names(t, g), func(n string) bool { return isNotKept(part + "." + n) })
		wantNames := slices.DeleteFunc(names(t, w), func(n string) bool { return isNotKept(part + "." + n) })
		if part == "metrics" && !sameOrder {
			slices.Sort(gotNames)
			slices.Sort(wantNames)
		}
		if !slices.Equal(gotNames, wantNames) {
			t.Errorf("%s: %s\n%v, want\n%v", where, part, gotNames, wantNames)
		}
		for _, n := range wantNames {
			x, _ := g.Member(n)
			y, _ := w.Member(n)
			if x.Raw() != y.Raw() {
				t.Errorf("%s: %s.%s is %s, want %s", where, part, n, x.Raw(), y.Raw())
			}
		}
	}
}

// What is written is read again as the same requests, and its figures follow
// from each other.
func TestRecordsRead(t *testing.T) {
	fsys := golden.FS(t, "peers")
	for _, name := range []string{"aiperf/ok/profile_export.jsonl", "aiperf/cut/profile_export.jsonl", "aiperf/cut/profile_export_raw.jsonl", "vllm/cut/result.json", "guidellm/cut/benchmarks.json", "infperf/cut/reports/per_request_lifecycle_metrics.json"} {
		data, err := fs.ReadFile(fsys, name)
		if err != nil {
			t.Fatal(err)
		}
		cfg := dialect.Config{}
		if strings.Contains(name, "raw") {
			cfg.Args = map[string]string{"use_server_token_count": "true"}
		}
		var b bytes.Buffer
		if _, err := releases[0].writeRecords(t.Context(), runtest.Import(t, data, imported...), cfg, &b); err != nil {
			t.Fatal(name, err)
		}
		in, out := runtest.Import(t, data, imported...), runtest.Import(t, b.Bytes(), resultfile.Formats(ResultFile())...)
		n := 0
		for in.Next() && out.Next() {
			n++
			x, y := in.Request(), out.Request()
			if x.ID != y.ID || x.StartNS != y.StartNS || x.IssuedNS != y.IssuedNS || x.SessionID != y.SessionID || x.Turn != y.Turn || x.FirstByteNS != y.FirstByteNS ||
				(x.Status == export.StatusOK) != (y.Status == export.StatusOK) || x.Message != y.Message || x.Code != y.Code || ended(x) != ended(y) {
				t.Errorf("%s: request %d is\n%+v, want\n%+v", name, n, y, x)
			}
			if x.Status != export.StatusOK {
				continue
			}
			if !strings.Contains(name, "raw") {
				xIn, xOut := or(x.Stated.CountedInput, x.Stated.InputTokens), or(x.Stated.CountedOutput, x.Stated.OutputTokens)
				if *or(y.Stated.CountedInput, y.Stated.InputTokens) != *xIn || *or(y.Stated.CountedOutput, y.Stated.OutputTokens) != *xOut {
					t.Errorf("%s: request %d: tokens %v, want %v", name, n, y.Stated, x.Stated)
				}
			}
			if strings.Contains(name, "guidellm") && y.Responses[1].RecvNS != x.Responses[1].RecvNS {
				t.Errorf("%s: request %d: last at %d, want %d", name, n, y.Responses[1].RecvNS, x.Responses[1].RecvNS)
			}
			if y.Responses[0].RecvNS != firstText(x) {
				t.Errorf("%s: request %d: first at %d, want %d", name, n, y.Responses[0].RecvNS, firstText(x))
			}
		}
		if in.Next() || out.Next() || in.Err() != nil || out.Err() != nil || n == 0 {
			t.Errorf("%s: after %d requests: %v, %v", name, n, in.Err(), out.Err())
		}
		if c, ok := export.Checked(out); !ok || c.Differing > 0 || c.Compared == 0 {
			t.Errorf("%s: self-check %+v: %v", name, c, out.Warnings())
		}
	}
}

// ended is when a request that failed was over.
func ended(q *export.Request) uint64 {
	if q.Status == export.StatusOK {
		return 0
	}
	end, _ := q.FinalResponseNS()
	return max(q.StartNS, end, q.FailedNS)
}

// firstText is when the first text of a request came: AIPerf's raw records have
// the role before it.
func firstText(q *export.Request) uint64 {
	for _, p := range q.Responses {
		v, ok := p.Outputs.Get("response")
		if !ok || bytes.Contains(v.Data, []byte(`"content":"`)) && !bytes.Contains(v.Data, []byte(`"content":""`)) || bytes.Contains(v.Data, []byte(`"text":"`)) {
			return p.RecvNS
		}
	}
	return 0
}

// A recording of ours: what AIPerf says of each request, computed by hand.
func TestRecordsOwn(t *testing.T) {
	const event = `"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"%s\"}}]}\n\n"`
	text := `{"experiments":[{"experiment":{"mode":"concurrency","value":2},"pa":{"measured":2,"warmup":1},"requests":[` +
		`{"timestamp":1000000000,"request_inputs":{"payload":"{\"stream\":true,\"max_tokens\":4,\"messages\":[{\"role\":\"user\",\"content\":\"a b\"}]}"},` +
		`"response_timestamps":[1002000000,1003000000,1007000000],"response_outputs":[{"response":` + fmt.Sprintf(event, "x") + `},{"response":` + fmt.Sprintf(event, " y") + `},{"response":"data: [DONE]\n\n"}],` +
		`"pa":{"id":1,"status":"ok","phase":"measured","issued_ns":999000000,"worker":3,"connect_ns":500000}}` +
		`],"window_boundaries":[0,2000000000]}],"version":"1","service_kind":"openai","endpoint":"v1/chat/completions","pa":{"schema":"pa-export/1","tool":"pa-record","streaming":true}}`
	r, err := profilejson.Format{}.Open(t.Context(), "x.json", strings.NewReader(text), int64(len(text)), export.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if _, err := releases[0].writeRecords(t.Context(), r, dialect.Config{Tokenizer: blanks{}}, &b); err != nil {
		t.Fatal(err)
	}
	line := parse(t, strings.TrimSpace(b.String()))
	meta, _ := line.Member("metadata")
	for name, want := range map[string]string{
		"session_num": "1", "credit_issued_ns": "999000000", "request_start_ns": "1000000000", "request_end_ns": "1007000000",
		"worker_id": `"worker_00000003"`, "phase_index": "1", "profiling_index": "0", "was_cancelled": "false",
	} {
		if v, _ := meta.Member(name); v.Raw() != want {
			t.Errorf("%s is %s, want %s", name, v.Raw(), want)
		}
	}
	metrics, _ := line.Member("metrics")
	for tag, want := range map[string]float64{
		"time_to_first_token": 2, "request_latency": 3, "decode_duration": 1, "inter_token_latency": 1, "time_to_second_token": 1,
		"input_sequence_length": 2, "output_sequence_length": 2, "osl_mismatch_diff_pct": -50, "prefill_throughput_per_user": 1000,
		"e2e_output_token_throughput": 2000. / 3, "output_token_throughput_per_user": 1000, "http_req_connecting": 0.5, "http_req_connection_reused": 0,
	} {
		m, _ := metrics.Member(tag)
		v, _ := m.Member("value")
		if got, err := strconv.ParseFloat(v.Raw(), 64); err != nil || math.Abs(got-want) > 1e-9*math.Abs(want) {
			t.Errorf("%s is %s, want %v", tag, v.Raw(), want)
		}
	}
	if _, there := metrics.Member("usage_prompt_tokens"); there {
		t.Error("there is a usage that the server did not send")
	}
}

// blanks counts the words of a text.
type blanks struct{}

func (blanks) Count(text string) int            { return len(strings.Fields(text)) }
func (blanks) AddSpecial(ids []uint32) []uint32 { return ids }

// A file without starts cannot be records.
func TestRecordsWithoutStarts(t *testing.T) {
	data, err := fs.ReadFile(golden.FS(t, "peers"), "sglang/ok/result.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := releases[0].writeRecords(t.Context(), runtest.Import(t, data, imported...), dialect.Config{}, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "does not say when requests were sent") {
		t.Errorf("error %v", err)
	}
}
