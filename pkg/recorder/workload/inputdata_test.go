package workload

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/internal/golden"
	"github.com/pa-tools/pa/pkg/export"
)

func TestRead(t *testing.T) {
	val := func(name, js string) export.Field { return export.Field{Name: name, Value: export.JSON(js)} }
	for _, tt := range []struct {
		name, in string
		want     [][]export.Fields
	}{
		{"steps", `{"data":[{"B":[1],"A":["x"]},{"A":["y"]}]}`, [][]export.Fields{{{val("B", "[1]"), val("A", `["x"]`)}, {val("A", `["y"]`)}}}},
		{"streams", `{"data":[[{"I":[1]},{"I":[2]}],[{"I":[3]}]]}`, [][]export.Fields{{{val("I", "[1]")}, {val("I", "[2]")}}, {{val("I", "[3]")}}}},
		{"white space goes, number text and escapes stay", "{\"data\": [ {\"X\": { \"content\" : [ 1.50, 1e9 ], \"shape\":[2] }, \"S\":[\"\\u00e9\"]} ]}", [][]export.Fields{{{val("X", `{"content":[1.50,1e9],"shape":[2]}`), val("S", `["\u00e9"]`)}}}},
		{"bytes that are not UTF-8", "{\"data\":[{\"S\":[\"\xff\"]}]}", [][]export.Fields{{{val("S", "[\"\xff\"]")}}}},
		{"an empty step", `{"data":[{}]}`, [][]export.Fields{{{}}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var d InputData
			if err := d.read("in.json", strings.NewReader(tt.in)); err != nil {
				t.Fatal(err)
			}
			var got [][]export.Fields
			for _, s := range d.Streams {
				var steps []export.Fields
				for _, e := range s {
					steps = append(steps, e.Values)
				}
				got = append(got, steps)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("read(%q) (-want +got):\n%s", tt.in, diff)
			}
		})
	}
}

// What GenAI-Perf writes for sessions and schedules.
func TestReadTiming(t *testing.T) {
	const in = `{"data":[
		{"payload":[{}],"session_id":["a"],"delay":[1500]},
		{"payload":[{}],"session_id":["b"]},
		{"payload":[{}],"session_id":"a","timestamp":[0.5]},
		{"payload":[{}],"timestamp":[0]},
		{"timestamp":[[1,2]],"delay":{"b64":""},"session_id":[7]}]}`
	var d InputData
	if err := d.read("in.json", strings.NewReader(in)); err != nil {
		t.Fatal(err)
	}
	want := []Entry{
		{Session: "a", Delay: 1500 * time.Millisecond},
		{Session: "b"},
		{Session: "a", Turn: 1, Timed: true, Offset: 500 * time.Microsecond},
		{Timed: true},
		{}, // tensors of those names
	}
	for i, e := range d.Streams[0] {
		e.Values, e.Step = nil, 0
		if diff := cmp.Diff(want[i], e); diff != "" {
			t.Errorf("step %d (-want +got):\n%s", i, diff)
		}
	}
}

func TestReadErrors(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"empty", ``, "ends inside a value"},
		{"not JSON", `{"data": [ {"text_input": ["x"} ]}`, "not valid JSON"},
		{"cut", `{"data":[{"A":[1]`, "not valid JSON"},
		{"two documents", `{"data":[{"A":[1]}]}{"data":[]}`, "more text after the end"},
		{"an array", `[1]`, `expected an object with "data"`},
		{"no data", `{"prompts":[]}`, `no member "data"`},
		{"data is an object", `{"data":{}}`, `"data" must be an array, found an object`},
		{"mixed", `{"data":[{"A":[1]},[{"A":[1]}]]}`, "mixes objects"},
		{"a number for a step", `{"data":[3]}`, "found a number"},
		{"a string in a stream", `{"data":[["x"]]}`, "stream 0: a step must be an object, found a string"},
		{"a session that is a number", `{"data":[{"payload":[{}],"session_id":[7]}]}`, `"session_id": expected an array with one string`},
		{"two delays", `{"data":[{"payload":[{}],"delay":[7,8]}]}`, `"delay": expected an array with one number`},
		{"a negative delay", `{"data":[{"payload":[{}],"delay":[-7]}]}`, `"delay": -7 milliseconds: must be from 0`},
		{"a time beyond all bounds", `{"data":[{"payload":[{}],"timestamp":[1e18]}]}`, `"timestamp": 1e+18 milliseconds: must be`},
		{"twice", `{"data":[{"A":[1],"A":[2]}]}`, `"A" is given twice`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var d InputData
			err := d.read("in.json", strings.NewReader(tt.in))
			var ie *InputError
			if !errors.As(err, &ie) || ie.Name != "in.json" || !strings.Contains(ie.Msg, tt.want) {
				t.Errorf("read(%q) = %v, want an InputError of in.json with %q", tt.in, err, tt.want)
			}
		})
	}
}

func TestReadInputData(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return p
	}
	a := write("a.json", `{"data":[{"A":[1]}],"validation_data":[{"OUT":[1]}]}`)
	b := write("b.json", `{"data":[{"A":[2]}]}`)
	d, err := ReadInputData([]string{a, b})
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Streams) != 1 || len(d.Streams[0]) != 2 || d.Streams[0][1].Step != 1 {
		t.Errorf("two files of steps gave %+v, want one stream of two steps", d.Streams)
	}
	if len(d.Warnings) != 1 || !strings.Contains(d.Warnings[0], `"validation_data"`) {
		t.Errorf("warnings = %q, want one about validation_data", d.Warnings)
	}
	for _, tt := range []struct{ path, want string }{
		{filepath.Join(dir, "missing.json"), "no such file"},
		{dir, "is a directory"},
		{write("none.json", `{"data":[]}`), "holds no request"},
	} {
		if _, err := ReadInputData([]string{tt.path}); err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), tt.path) {
			t.Errorf("ReadInputData(%s) = %v, want an error with %q", tt.path, err, tt.want)
		}
	}
}

// TestGoldenInputData reads every input file that the real perf_analyzer was
// given, against a plain encoding/json reading.
func TestGoldenInputData(t *testing.T) {
	g := golden.FS(t, "perf_analyzer")
	paths, err := fs.Glob(g, "*/*/prompts.json")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no golden input data: %v", err)
	}
	for _, p := range paths {
		text, err := fs.ReadFile(g, p)
		if err != nil {
			t.Fatal(err)
		}
		var want struct{ Data []json.RawMessage }
		wantErr := json.Unmarshal(text, &want)
		var d InputData
		gotErr := d.read(p, strings.NewReader(string(text)))
		if (gotErr == nil) != (wantErr == nil) {
			t.Errorf("%s: error %v, encoding/json says %v", p, gotErr, wantErr)
			continue
		}
		if wantErr != nil {
			continue
		}
		n := 0
		for _, s := range d.Streams {
			n += len(s)
		}
		wantN := 0
		for _, raw := range want.Data {
			var steps []json.RawMessage
			if json.Unmarshal(raw, &steps) == nil {
				wantN += len(steps)
			} else {
				wantN++
			}
		}
		if n != wantN {
			t.Errorf("%s: %d steps, want %d", p, n, wantN)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(`{"data":[{"B":[1],"A":["x"]},{"A":["y"]}]}`)
	f.Add(`{"data":[[{"I":[1]}],[{"I":{"b64":"AA=="}}]]}`)
	f.Add(`{"data":[`)
	f.Fuzz(func(t *testing.T, in string) {
		var d InputData
		if d.read("in", strings.NewReader(in)) != nil {
			return
		}
		// What was read is valid JSON, value by value.
		for _, s := range d.Streams {
			for _, e := range s {
				for _, v := range e.Values {
					if !json.Valid(v.Value.Data) {
						t.Fatalf("%q: value %q of %q is not JSON", in, v.Value.Data, v.Name)
					}
				}
			}
		}
	})
}

func TestBuiltin(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		for name, entries := range map[string]List{"chat": BuiltinChat(streaming), "completions": BuiltinCompletions(streaming)} {
			for _, e := range entries {
				v, ok := e.Values.Get("payload")
				var body []struct {
					Messages  []struct{ Content string }
					Prompt    string
					Stream    bool
					MaxTokens int `json:"max_tokens"`
				}
				if !ok || json.Unmarshal(v.Data, &body) != nil || len(body) != 1 || body[0].Stream != streaming || body[0].MaxTokens != BuiltinMaxTokens ||
					(name == "chat") != (len(body[0].Messages) == 1) || (name == "chat") == (body[0].Prompt != "") {
					t.Errorf("%s, streaming %v: payload %s is not one such request", name, streaming, v.Data)
				}
			}
		}
	}
}
