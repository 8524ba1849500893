package profilejson

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/internal/spool"
	"github.com/pa-tools/pa/internal/test/golden"
	"github.com/pa-tools/pa/internal/test/memrun"
	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/export"
)

// write writes one experiment of requests.
func write(t testing.TB, e *export.Experiment, run *export.Run, requests ...*export.Request) []byte {
	t.Helper()
	var out bytes.Buffer
	w := NewWriter(&out)
	w.TempDir = t.TempDir()
	err := w.BeginExperiment(e.Mode, e.Value)
	for _, r := range requests {
		err = errors.Join(err, w.WriteRequest(r))
	}
	if err := errors.Join(err, w.EndExperiment(e), w.Close(run)); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// The document that perf_analyzer's own unit test expects for these values,
// member by member.
func TestWriterLayout(t *testing.T) {
	got := write(t,
		&export.Experiment{Mode: "concurrency", Value: "15", WindowBoundaries: []uint64{1, 5, 6}},
		&export.Run{Version: new("1.2.3"), ServiceKind: new("triton"), Endpoint: new("")},
		&export.Request{
			StartNS: 1, SequenceID: 1,
			Inputs: export.Fields{
				{Name: "in_key1", Value: export.Text("abc123")},
				{Name: "in_key2", Value: export.JSON("456")},
				{Name: "in_key3", Value: export.JSON("true")},
				{Name: "in_key4", Value: export.Text(`{"abc":"def"}`)},
			},
			Responses: []export.Response{
				{RecvNS: 2, Outputs: export.Fields{{Name: "out_key1", Value: export.Text("abc123")}}},
				{RecvNS: 3, Outputs: export.Fields{{Name: "out_key1", Value: export.JSON("[ 1, -2 ]")}, {Name: "x", Value: export.Value{}}}},
			},
		})
	const want = `{"experiments":[{"experiment":{"mode":"concurrency","value":15},"requests":[{"timestamp":1,"sequence_id":1,` +
		`"request_inputs":{"in_key1":"abc123","in_key2":456,"in_key3":true,"in_key4":"{\"abc\":\"def\"}"},"response_timestamps":[2,3],` +
		`"response_outputs":[{"out_key1":"abc123"},{"out_key1":[1,-2],"x":null}]}],"window_boundaries":[1,5,6]}],` +
		`"version":"1.2.3","service_kind":"triton","endpoint":""}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// All that is absent stays absent.
func TestWriterMinimal(t *testing.T) {
	got := write(t, &export.Experiment{}, nil, &export.Request{StartNS: 1, NoOutputs: true})
	if want := `{"experiments":[{"requests":[{"timestamp":1,"response_timestamps":[]}]}]}`; string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
	var out bytes.Buffer
	if err := NewWriter(&out).Close(nil); err != nil || out.String() != `{"experiments":[]}` {
		t.Errorf("empty: %s, %v", out.String(), err)
	}
}

// Where each addition of pa-record goes.
func TestWriterMeta(t *testing.T) {
	got := write(t,
		&export.Experiment{Mode: "request_rate", Value: "2.5", WindowBoundaries: []uint64{}, Extra: export.Fields{{Name: "x", Value: export.JSON("1")}}, Meta: &export.ExperimentMeta{RequestCounts: export.RequestCounts{Measured: 1, Warmup: 1}}},
		&export.Run{Extra: export.Fields{{Name: "y", Value: export.Text("z")}}, Meta: &export.RunMeta{Schema: export.Schema, Tool: "pa-record <1>", Config: json.RawMessage(`{ "a": "<b>" }`)}},
		&export.Request{StartNS: 1, NoOutputs: true, Phase: export.PhaseWarmup, Status: export.StatusOK, HasMeta: true, ID: 1},
		&export.Request{
			StartNS: 2, NoOutputs: true, HasMeta: true, Status: export.StatusOK, Phase: export.PhaseMeasured,
			ID: 2, ScheduledNS: 3, IssuedNS: 4, SentNS: 5, FirstByteNS: 6, FailedNS: 12, StartSource: export.SourceKernel, DNS: 7, Connect: 8, TLS: 9, Reused: true,
			SessionID: "s", Turn: 10, Agent: "a", ParentAgent: "b", Depth: 2, Model: "n", Worker: 11, Conn: 12, Rank: 13, Code: 200, Message: "m", RequestID: "r", ServerID: "i", Resent: true, OutputsDropped: true, UnrecordedEvents: 14,
			Responses: []export.Response{
				{RecvNS: 1, Source: export.SourceUser},
				{RecvNS: 2, Source: export.SourceKernel, Read: 1},
				{RecvNS: 2, Source: export.SourceKernel, Read: 1, Final: true, Error: true},
			},
			Extra: export.Fields{{Name: "e", Value: export.JSON("[]")}},
		},
		&export.Request{StartNS: 3, NoOutputs: true, Status: export.StatusTimeout},
		&export.Request{
			StartNS: 4, NoOutputs: true, HasMeta: true, Status: export.StatusOK, Phase: export.PhaseMeasured,
			Responses: []export.Response{{Source: export.SourceKernel}, {Source: export.SourceKernel, Read: 1}},
		},
	)
	const want = `{"experiments":[{"experiment":{"mode":"request_rate","value":2.5},"requests":[` +
		`{"timestamp":2,"response_timestamps":[1,2,2],"e":[],"pa":{"id":2,"scheduled_ns":3,"issued_ns":4,"sent_ns":5,"first_byte_ns":6,"ended_ns":12,"start_source":"kernel",` +
		`"dns_ns":7,"connect_ns":8,"tls_ns":9,"reused":true,"resent":true,"session_id":"s","turn":10,"agent":"a","parent_agent":"b","depth":2,"model":"n","worker":11,"conn":12,"rank":13,"code":200,"message":"m","request_id":"r","server_id":"i","outputs_dropped":true,"unrecorded_events":14,` +
		`"reads":[0,1,1],"sources":["user","kernel","kernel"],"final":[2],"errors":[2]}},` +
		`{"timestamp":4,"response_timestamps":[0,0],"pa":{"sources":"kernel"}}],` +
		`"window_boundaries":[],"x":1,"pa":{"measured":1,"warmup":1,"excluded_requests":[` +
		`{"timestamp":1,"response_timestamps":[],"pa":{"id":1,"phase":"warmup","reason":"warmup"}},` +
		`{"timestamp":3,"response_timestamps":[],"pa":{"status":"timeout","reason":"failed"}}]}}],` +
		`"y":"z","pa":{"schema":"pa-export/1","tool":"pa-record <1>","config":{"a":"<b>"}}}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// The schema describes each member of a request's "pa".
func TestMetaMembersDescribed(t *testing.T) {
	data, err := os.ReadFile("../../../schemas/profile_export.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Defs map[string]struct {
			Properties map[string]any `json:"properties"`
		} `json:"$defs"`
	}
	if err := json.Unmarshal(data, &schema); err != nil {
		t.Fatal(err)
	}
	for _, m := range metaMembers {
		if schema.Defs["request_meta"].Properties[m.name] == nil {
			t.Errorf("request_meta has no %q", m.name)
		}
	}
}

func TestAppendText(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"", `""`},
		{"a\"b\\c/d", `"a\"b\\c/d"`},
		{"\b\f\n\r\t", `"\b\f\n\r\t"`},
		{"\x00\x01\x0b\x1b\x1f", `"\u0000\u0001\u000B\u001B\u001F"`},
		{"\x7f é\u2028<>&😀", "\"\x7f é\u2028<>&😀\""},
		{"\xff\xc3\xed\xa0\xbd", "\"\xff\xc3\xed\xa0\xbd\""},
	} {
		if got := appendText(nil, []byte(tt.in)); string(got) != tt.want {
			t.Errorf("appendText(%q) = %s, want %s", tt.in, got, tt.want)
		}
	}
}

func TestWriterErrors(t *testing.T) {
	bad := func(v export.Value) *export.Request {
		return &export.Request{Responses: []export.Response{{Outputs: export.Fields{{Name: "o", Value: v}}}}}
	}
	for _, tt := range []struct {
		name string
		do   func(w *Writer) error
		want string
	}{
		{"request first", func(w *Writer) error { return w.WriteRequest(&export.Request{}) }, "WriteRequest outside an experiment"},
		{"end first", func(w *Writer) error { return w.EndExperiment(&export.Experiment{}) }, "EndExperiment outside an experiment"},
		{"begin twice", func(w *Writer) error { return errors.Join(w.BeginExperiment("", ""), w.BeginExperiment("", "")) }, "BeginExperiment within an experiment"},
		{"close in between", func(w *Writer) error { return errors.Join(w.BeginExperiment("", ""), w.Close(nil)) }, "Close within an experiment"},
		{"begin after close", func(w *Writer) error { return errors.Join(w.Close(nil), w.BeginExperiment("", "")) }, "BeginExperiment after Close"},
		{"value", func(w *Writer) error { return w.BeginExperiment("m", "fast") }, `experiment 0: the value "fast" is not a JSON number`},
		{"not JSON", func(w *Writer) error {
			return errors.Join(w.BeginExperiment("", ""), w.WriteRequest(bad(export.JSON("{"))))
		}, `experiment 0, request 0: the value of "o" is not JSON: "{"`},
		{"two JSON values", func(w *Writer) error {
			return errors.Join(w.BeginExperiment("", ""), w.WriteRequest(bad(export.JSON("1 2"))))
		}, `the value of "o" is not JSON`},
		{"NaN", func(w *Writer) error {
			return errors.Join(w.BeginExperiment("", ""), w.WriteRequest(bad(export.JSON("NaN"))))
		}, `the value of "o" is not JSON: "NaN"`},
		{"config", func(w *Writer) error {
			return w.Close(&export.Run{Meta: &export.RunMeta{Config: json.RawMessage("{")}})
		}, "metadata of the run"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := NewWriter(io.Discard)
			err := tt.do(w)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("err = %v, want %q in it", err, tt.want)
			}
			if w.Flush() == nil {
				t.Error("the error does not stick")
			}
		})
	}
}

func TestWriterFullDisk(t *testing.T) {
	w := NewWriter(&testenv.FullDisk{Room: 10})
	err := errors.Join(w.BeginExperiment("m", "1"), w.WriteRequest(&export.Request{}), w.EndExperiment(&export.Experiment{}))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(nil); !errors.Is(err, testenv.ErrFull) {
		t.Errorf("Close = %v", err)
	}
	if err := w.Close(nil); !errors.Is(err, testenv.ErrFull) {
		t.Errorf("Close again = %v", err)
	}
}

// A Reader reads the requests that Flush wrote, although the file has no end yet.
func TestWriterFlush(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(&out)
	if err := w.BeginExperiment("concurrency", "2"); err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= 3; n++ {
		if err := errors.Join(w.WriteRequest(&export.Request{StartNS: uint64(n)}), w.Flush()); err != nil {
			t.Fatal(err)
		}
		res := mustRead(t, out.String())
		if len(res.requests) != n || res.run.Experiments[0].Value != "2" || !strings.Contains(res.err, "cut short") {
			t.Errorf("after %d requests: %d, err = %s", n, len(res.requests), res.err)
		}
	}
}

// Many excluded requests go through a file, in two experiments.
func TestWriterSpool(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(&out)
	w.TempDir = t.TempDir()
	text := strings.Repeat("x", 10000)
	for level := range 2 {
		if err := w.BeginExperiment("concurrency", fmt.Sprint(level+1)); err != nil {
			t.Fatal(err)
		}
		for i := range 300 {
			r := &export.Request{StartNS: uint64(i), HasMeta: true, ID: uint64(i), Status: export.StatusHTTPError, Phase: export.PhaseMeasured, Message: text}
			if err := w.WriteRequest(r); err != nil {
				t.Fatal(err)
			}
		}
		if w.excluded.Len() <= spool.MaxBufferMemory {
			t.Errorf("%d bytes wait: too few to leave the memory", w.excluded.Len())
		}
		if err := w.EndExperiment(&export.Experiment{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(nil); err != nil {
		t.Fatal(err)
	}
	if files, err := os.ReadDir(w.TempDir); err != nil || len(files) != 0 {
		t.Errorf("left behind: %v, %v", files, err)
	}
	res := mustRead(t, out.String())
	if len(res.requests) != 600 || res.err != "" || len(res.warnings) > 0 {
		t.Fatalf("%d requests, err = %s, warnings = %v", len(res.requests), res.err, res.warnings)
	}
	for i, r := range res.requests {
		if r.ID != uint64(i%300) || r.Message != text || r.Excluded() != "failed" || res.level[i] != i/300 {
			t.Fatalf("request %d: %+v", i, r)
		}
	}
}

func TestExcludedByReason(t *testing.T) {
	for reason, want := range map[string]export.Exclusion{"warmup": "warmup", "late": "late", "cancelled": "cancelled", "failed": "failed", "other": "failed"} {
		res := mustRead(t, `{"experiments":[{"pa":{"excluded_requests":[{"timestamp":1,"pa":{"reason":"`+reason+`"}}]}}]}`)
		if got := res.requests[0].Excluded(); got != want {
			t.Errorf("reason %q: %q, want %q", reason, got, want)
		}
		if odd := want == "failed"; odd != (len(res.warnings) == 1) {
			t.Errorf("reason %q: warnings %v", reason, res.warnings)
		}
	}
}

// randomRequest returns a request that has only the fields that the format holds.
func randomRequest(s memrun.Random) *export.Request {
	r := s.Request()
	r.FailedNS = 0
	if !r.HasMeta {
		r.Status, r.Phase = export.StatusOK, export.PhaseMeasured
	}
	return r
}

// Reading what was written gives what was given: the requests that count
// first, then the excluded ones.
func TestRoundTrip(t *testing.T) {
	for seed := range 300 / uint64(testenv.Stride(5)) {
		s := memrun.NewRandom(seed, 1)
		run := &export.Run{Experiments: make([]export.Experiment, s.IntN(4))}
		if s.IntN(2) == 0 {
			run.Version, run.ServiceKind, run.Endpoint = new(s.Text()), new(s.Text()), new(s.Text())
			run.Meta = &export.RunMeta{Schema: export.Schema, Tool: "t", StartNS: s.Uint(), Pauses: []export.Pause{{StartNS: s.Uint(), EndNS: s.Uint(), DurationNS: 7, Cause: export.PauseStopped}}, Warnings: []string{"<é>"}, Stamps: &export.StampCount{Kernel: 1}, Repeat: &export.RepeatMeta{Label: "a-b_c.d", Index: 2, Of: 5, Group: "é"}, Calibration: &export.Calibration{
				Schema: export.CalibrationSchema, Services: []export.CalibratedService{{
					Service: "openai", TokensPerSecond: 0.1, Recordings: []export.CalibratedRecording{{Stamps: "user", Receive: &export.ClockError{MedianNS: -1, MaxNS: 1 << 62}}},
				}}, Limits: []string{"<é>"},
			}}
		}
		if s.IntN(4) == 0 {
			run.Extra = export.Fields{{Name: "x" + s.Text(), Value: s.Value()}}
		}
		var out bytes.Buffer
		w := NewWriter(&out)
		var want []*export.Request
		var level []int
		for i := range run.Experiments {
			e := &run.Experiments[i]
			e.Mode, e.Value = s.Text(), "7.50"
			if s.IntN(2) == 0 {
				e.WindowBoundaries = []uint64{s.Uint(), s.Uint()}
			}
			if s.IntN(2) == 0 {
				e.Meta = &export.ExperimentMeta{RequestCounts: export.RequestCounts{Measured: 3}, Stable: new(true), StartNS: s.Uint()}
			}
			if s.IntN(4) == 0 {
				e.Extra = export.Fields{{Name: "x" + s.Text(), Value: s.Value()}}
			}
			if err := w.BeginExperiment(e.Mode, e.Value); err != nil {
				t.Fatal(err)
			}
			var excluded []*export.Request
			for range s.IntN(6) {
				r := randomRequest(s)
				if r.Excluded() == export.NotExcluded {
					want = append(want, r)
				} else {
					excluded = append(excluded, r)
				}
				level = append(level, i)
				if err := w.WriteRequest(r); err != nil {
					t.Fatal(err)
				}
			}
			want = append(want, excluded...)
			if err := w.EndExperiment(e); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(run); err != nil {
			t.Fatal(err)
		}
		if len(run.Experiments) == 0 {
			run.Experiments = nil
		}
		res, err := readAll(out.Bytes(), 1+s.IntN(3000), export.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(&result{run: run, requests: want, level: level}, res, cmp.AllowUnexported(result{})); d != "" {
			t.Fatalf("seed %d: (-want +got):\n%s\n%s", seed, d, out.Bytes())
		}
		r, err := NewReader(context.Background(), "x.json", bytes.NewReader(out.Bytes()), int64(out.Len()), export.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if again := rewrite(t, r); !bytes.Equal(again, out.Bytes()) {
			t.Fatalf("seed %d: written again: %s", seed, golden.FirstDifference(again, out.Bytes()))
		}
	}
}

// Bytes that are not UTF-8 make a file of pa-record no worse JSON, and come back;
// in what is not pa-record's they stay as perf_analyzer writes them.
func TestWriterInvalidUTF8(t *testing.T) {
	all := make([]byte, 0, 300)
	for c := range 256 {
		all = append(all, byte(c))
	}
	all = append(all, "\xed\xa0\x80 \xed\xb2\x80 日本 \\udc80 \xff"...)
	request := func(meta bool) *export.Request {
		return &export.Request{
			StartNS: 1, HasMeta: meta, Status: export.StatusOK, Phase: export.PhaseMeasured, Message: string(all),
			Inputs:    export.Fields{{Name: string(all), Value: export.Value{Text: true, Data: all}}},
			Responses: []export.Response{{RecvNS: 2, Outputs: export.Fields{{Name: "response", Value: export.Value{Text: true, Data: all}}, {Name: "array", Value: export.JSON("[\"\xff\"]")}}}},
		}
	}
	text := write(t, &export.Experiment{Mode: "concurrency", Value: "1"}, &export.Run{}, request(true))
	if !utf8.Valid(text) || !json.Valid(text) {
		t.Errorf("not JSON in UTF-8: %s", text)
	}
	r, err := NewReader(t.Context(), "e.json", bytes.NewReader(text), int64(len(text)), export.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if !r.Next() {
		t.Fatal(r.Err())
	}
	got := r.Request()
	if v, _ := got.Inputs.Get(string(all)); !bytes.Equal(v.Data, all) || got.Message != string(all) {
		t.Errorf("input %q, message %q, want %q", v.Data, got.Message, all)
	}
	if v, _ := got.Responses[0].Outputs.Get("response"); !bytes.Equal(v.Data, all) {
		t.Errorf("output %q, want %q", v.Data, all)
	}
	if text := write(t, &export.Experiment{Mode: "concurrency", Value: "1"}, nil, request(false)); !bytes.Contains(text, []byte("\x80\x81\x82")) {
		t.Errorf("a request of perf_analyzer has other bytes: %q", text)
	}
}

// An escape is found at each place of a text, and beside another one.
func TestAppendTextPlaces(t *testing.T) {
	t.Parallel()
	for n := range 20 {
		for at := range n {
			for _, c := range []byte{'"', '\\', 0, '\n', 0x1f, ' ', '!', '#', '[', ']', 0x7f, 0x80, 0xa2, 0xff} {
				text := bytes.Repeat([]byte{0x80}, n)
				text[at], text[n-1] = c, '"'
				want := []byte{'"'}
				for _, x := range text {
					want = append(want, appendText(nil, []byte{x})[1:]...)
					want = want[:len(want)-1]
				}
				if got := appendText(nil, text); string(got) != string(want)+`"` {
					t.Fatalf("%q: %s, want %s", text, got, want)
				}
			}
		}
	}
}
