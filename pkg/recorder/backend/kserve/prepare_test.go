package kserve

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/workload"
	wire "github.com/pa-tools/pa/pkg/wire/kserve"
)

// checked returns a backend as it is after Check.
func checked(t testing.TB, m fakeModel, c Config) *Backend {
	t.Helper()
	c.Model, c.Protocol = m.name, GRPC
	b, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	b.model = modelInfo{Name: m.name, MaxBatch: int(m.maxBatch), Inputs: m.inputs, Outputs: m.outputs}
	return b
}

// sent is what a payload puts on the wire: name, shape and bytes of each input.
func sent(t testing.TB, p *payload) string {
	t.Helper()
	var r wire.Request
	if err := r.ParseProto(p.msg); err != nil {
		t.Fatal(err)
	}
	var s []string
	for _, in := range r.Inputs {
		if err := wire.CheckSize(in.Datatype, in.Shape, in.Data); err != nil {
			t.Errorf("%s: %v", in.Name, err)
		}
		s = append(s, fmt.Sprintf("%s%s=%s", in.Name, wire.ShapeString(in.Shape), wire.AppendJSON(nil, in.Datatype, in.Data)))
	}
	return strings.Join(s, " ")
}

func shown(f export.Fields) string {
	var s []string
	for _, x := range f {
		s = append(s, fmt.Sprintf("%s=%s", x.Name, x.Value.Data))
	}
	return strings.Join(s, " ")
}

func TestPrepare(t *testing.T) {
	shaped := func(e *workload.Entry, name string, shape ...int64) *workload.Entry {
		e.Shapes = map[string][]int64{name: shape}
		return e
	}
	for _, tt := range []struct {
		name        string
		m           fakeModel
		c           Config
		e           *workload.Entry
		sent, shown string
	}{
		{
			"in the order of the model", llm,
			Config{},
			entry("stream", "[true]", "text_input", `["hi"]`, "model", `"x"`),
			`text_input[1]=["hi"] stream[1]=[true]`, "text_input=hi stream=true",
		},
		{
			"optional left out", llm,
			Config{},
			entry("text_input", `"hi"`),
			`text_input[1]=["hi"]`, "text_input=hi",
		},
		{
			"batch dimension", adder,
			Config{},
			entry("A", "[1,2]"),
			"A[1,2]=[1,2]", "A=[1,2]",
		},
		{
			"batch: sent as often as asked, shown once", adder,
			Config{BatchSize: 3},
			entry("A", "[1,2]"),
			"A[3,2]=[1,2,1,2,1,2]", "A=[1,2]",
		},
		{
			"shape beside the data", open,
			Config{Shapes: map[string][]int64{"X": {9, 2}}},
			shaped(entry("X", `{"content":[1,2,3,4],"shape":[2,2]}`), "X", 8, 2),
			"X[2,2]=[1.0,2.0,3.0,4.0]", "X=[1.0,2.0,3.0,4.0]",
		},
		{
			"shape of the entry", open,
			Config{Shapes: map[string][]int64{"Y": {9, 2}}},
			shaped(entry("Y", `["a","b"]`), "Y", 2, 1),
			`Y[2,1]=["a","b"]`, "Y=a\x01\x00\x00\x00b",
		},
		{
			"shape of the configuration", open,
			Config{Shapes: map[string][]int64{"Y": {1, 2}}},
			entry("Y", `["a","b"]`),
			`Y[1,2]=["a","b"]`, "Y=a\x01\x00\x00\x00b",
		},
		{
			"shape of a model that leaves nothing open is not changed", adder,
			Config{Shapes: map[string][]int64{"A": {1}}},
			entry("A", "[1,2]"),
			"A[1,2]=[1,2]", "A=[1,2]",
		},
		{
			"one open dimension follows from the data", open,
			Config{},
			entry("X", "[1,2,3,4,5,6]"),
			"X[3,2]=[1.0,2.0,3.0,4.0,5.0,6.0]", "X=[1.0,2.0,3.0,4.0,5.0,6.0]",
		},
		{"no element at all", open, Config{}, entry("X", "[]"), "X[0,2]=[]", "X="},
		{"FP16 is not shown", open, Config{}, entry("Z", `{"b64":"ADwAQA=="}`), "Z[2]=[]", "Z=null"},
		{"no input", open, Config{}, entry(), "", ""},
		{
			"zeros", llm,
			Config{},
			&workload.Entry{Fill: workload.Fill{Kind: workload.FillZero}},
			`text_input[1]=[""] stream[1]=[false]`, "text_input= stream=false",
		},
		{
			"string data", llm,
			Config{},
			&workload.Entry{Fill: workload.Fill{Kind: workload.FillRandom, StringData: "fixed"}, Values: entry("stream", "true").Values},
			`text_input[1]=["fixed"] stream[1]=[true]`, "text_input=fixed stream=true",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := checked(t, tt.m, tt.c)
			p := prepare(t, b, tt.e)
			if got := sent(t, p.(*payload)); got != tt.sent {
				t.Errorf("sent\n%s, want\n%s", got, tt.sent)
			}
			if got := shown(p.Inputs()); got != tt.shown {
				t.Errorf("shown\n%q, want\n%q", got, tt.shown)
			}
		})
	}
}

func TestPrepareErrors(t *testing.T) {
	random := &workload.Entry{Step: 3, Fill: workload.Fill{Kind: workload.FillRandom}}
	for _, tt := range []struct {
		m    fakeModel
		e    *workload.Entry
		want string
	}{
		{llm, entry("PROMPT", `["x"]`), `model llm has no input "PROMPT"; it has text_input, stream`},
		{llm, entry("stream", "[true]"), `input "text_input": no data, and it is not optional`},
		{llm, entry("text_input", "[1]"), `input "text_input": element 0: expected a string for BYTES, found 1`},
		{llm, entry("text_input", `["a","b"]`), `input "text_input": shape [1]: expected 1 element, found 2`},
		{adder, entry("A", "[1,2,3]"), `input "A": INT32 of shape [2]: expected 8 bytes, found 12`},
		{adder, entry("A", `{"b64":"AAAAAA=="}`), `input "A": INT32 of shape [2]: expected 8 bytes, found 4`},
		{adder, entry("A", `{"content":[1,2],"shape":[1,2]}`), `input "A": shape [1,2] does not fit the model's [2]`},
		{open, entry("X", `{"content":[1,2,3],"shape":[1,3]}`), `input "X": shape [1,3] does not fit the model's [-1,2]`},
		{open, entry("X", "[1,2,3]"), `input "X": the model leaves shape [-1,2] open; give --shape X:DIMS, or "shape" beside the data`},
		{open, entry("Y", `["a"]`), `input "Y": the model leaves shape [-1,-1] open; give --shape Y:DIMS, or "shape" beside the data`},
		{open, random, `input "X": the model leaves shape [-1,2] open; give --shape X:DIMS, or "shape" beside the data`},
	} {
		b := checked(t, tt.m, Config{})
		_, err := b.Prepare(tt.e)
		if want := "input data, stream 0, step 3: " + tt.want; fmt.Sprint(err) != want {
			t.Errorf("\ngot  %v\nwant %s", err, want)
		}
	}
}

func TestPrepareBatch(t *testing.T) {
	b := checked(t, adder, Config{BatchSize: 2})
	p, err := b.PrepareBatch([]*workload.Entry{entry("A", "[1,2]"), entry("A", "[3,4]")})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := sent(t, p.(*payload)), "A[2,2]=[1,2,3,4]"; got != want {
		t.Errorf("sent %s, want %s", got, want)
	}
	if got, want := shown(p.Inputs()), "A=[1,2]"; got != want {
		t.Errorf("shown %s, want %s", got, want)
	}
	for _, tt := range []struct {
		es   []*workload.Entry
		want string
	}{
		{[]*workload.Entry{entry("A", "[1,2]")}, "expected 2 entries for a batch, found 1"},
		{[]*workload.Entry{entry("A", "[1,2]"), entry("A", "[1,2]", "B", "[1,2]")}, `input data, stream 0, step 3: input "B": given for some elements of the batch only`},
	} {
		if _, err := b.PrepareBatch(tt.es); fmt.Sprint(err) != tt.want {
			t.Errorf("got %v, want %s", err, tt.want)
		}
	}
}

var allTypes = []wire.Datatype{
	wire.BOOL, wire.UINT8, wire.UINT16, wire.UINT32, wire.UINT64, wire.INT8, wire.INT16, wire.INT32, wire.INT64,
	wire.FP16, wire.FP32, wire.FP64, wire.BF16, wire.BYTES,
}

// Generated data: whole elements, the same for the same seed, no NaN.
func TestFill(t *testing.T) {
	for _, dt := range allTypes {
		f := workload.Fill{Kind: workload.FillRandom, Seed: 7, StringLength: 5}
		a, err := fill(f, dt, []int64{2, 50})
		if err != nil {
			t.Fatal(err)
		}
		again, _ := fill(f, dt, []int64{2, 50})
		f.Seed = 8
		other, _ := fill(f, dt, []int64{2, 50})
		if string(a) != string(again) || string(a) == string(other) {
			t.Errorf("%s: not a function of the seed", dt)
		}
		if err := wire.CheckSize(dt, []int64{2, 50}, a); err != nil {
			t.Error(err)
		}
		v := string(wire.AppendJSON(nil, dt, a))
		if strings.ContainsAny(v, "NI") && dt != wire.BYTES {
			t.Errorf("%s: %s", dt, v)
		}
		f.Kind = workload.FillZero
		z, err := fill(f, dt, []int64{3})
		if err != nil || strings.Trim(string(z), "\x00") != "" {
			t.Errorf("%s: zeros %x, %v", dt, z, err)
		}
	}
	// Inputs start with the same bytes, as perf_analyzer's do.
	f := workload.Fill{Kind: workload.FillRandom}
	long, _ := fill(f, wire.INT32, []int64{100})
	short, _ := fill(f, wire.INT32, []int64{3})
	if !strings.HasPrefix(string(long), string(short)) {
		t.Errorf("%x is no head of %x", short, long)
	}
	// Half precision: all values in [0, 1).
	half, _ := fill(f, wire.FP16, []int64{1000})
	for i := 1; i < len(half); i += 2 {
		if half[i] >= 0x3c {
			t.Fatalf("FP16 %x%02x is not below 1", half[i], half[i-1])
		}
	}
}

func TestFillErrors(t *testing.T) {
	f := workload.Fill{Kind: workload.FillRandom}
	for _, tt := range []struct {
		dt    wire.Datatype
		shape []int64
		want  string
	}{
		{wire.INT32, []int64{1 << 40}, "shape [1099511627776] of INT32: more than 268435456 bytes to generate"},
		{wire.BYTES, []int64{1 << 40}, "1099511627776 strings of 128 bytes: more than 268435456 bytes to generate"},
		{"FP8", []int64{1}, `datatype "FP8" is not known; no data can be generated`},
	} {
		if _, err := fill(f, tt.dt, tt.shape); fmt.Sprint(err) != tt.want {
			t.Errorf("got %v, want %s", err, tt.want)
		}
	}
}

// Every type over every transport comes back as it went.
func TestAllTypes(t *testing.T) {
	data := map[wire.Datatype]string{
		wire.BOOL: "[true,false]", wire.UINT8: "[0,255]", wire.UINT16: "[0,65535]", wire.UINT32: "[0,4294967295]", wire.UINT64: "[0,18446744073709551615]",
		wire.INT8: "[-128,127]", wire.INT16: "[-32768,1]", wire.INT32: "[-2147483648,1]", wire.INT64: "[-9223372036854775808,1]",
		wire.FP32: "[1.5,-0.0]", wire.FP64: "[0.1,1e300]", wire.BYTES: `["ab","xyz"]`, wire.FP16: `{"b64":"ADwAQA=="}`, wire.BF16: `{"b64":"ADwAQA=="}`,
	}
	m := fakeModel{name: "types"}
	var kv []string
	want := ""
	for _, dt := range allTypes {
		m.inputs = append(m.inputs, tensorSpec{Name: "IN_" + string(dt), Datatype: dt, Shape: []int64{-1}})
		m.outputs = append(m.outputs, tensorSpec{Name: "OUT_" + string(dt), Datatype: dt, Shape: []int64{-1}})
		kv = append(kv, "IN_"+string(dt), data[dt])
		v := data[dt]
		switch dt {
		case wire.BYTES:
			v = "ab\x03\x00\x00\x00xyz"
		case wire.FP16, wire.BF16:
			v = "null"
		}
		want += " OUT_" + string(dt) + "=" + v
	}
	f := startFake(t, echo)
	f.models = append(f.models, m)
	for _, c := range []Config{{Protocol: GRPC, Streaming: true}, {Protocol: GRPC}, {}} {
		c.Model = "types"
		b := f.open(t, c)
		p := prepare(t, b, entry(kv...))
		x := exchange(t.Context(), t, b, openSlot(t, b, 0), p, 1)
		if len(x.Request.Responses) != 1 {
			t.Fatalf("%s: %s", c.Protocol, x.Request.Message)
		}
		if got := " " + shown(x.Request.Responses[0].Outputs); got != want {
			t.Errorf("%s:\ngot  %q\nwant %q", c.Protocol, got, want)
		}
		if got := " " + strings.ReplaceAll(shown(p.Inputs()), "IN_", "OUT_"); got != want {
			t.Errorf("inputs:\ngot  %q\nwant %q", got, want)
		}
	}
}
