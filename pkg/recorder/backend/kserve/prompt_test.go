package kserve

import (
	"context"
	"strings"
	"testing"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/workload"
	"github.com/pa-tools/pa/pkg/recorder/workload/render"
	wire "github.com/pa-tools/pa/pkg/wire/kserve"
)

// vllm and trtllm are models that take prompts, with the inputs of the backends'
// documentation.
var (
	vllm = fakeModel{name: "vllm", inputs: []tensorSpec{
		{Name: "text_input", Datatype: wire.BYTES, Shape: []int64{1}},
		{Name: "stream", Datatype: wire.BOOL, Shape: []int64{1}, Optional: true},
		{Name: "sampling_parameters", Datatype: wire.BYTES, Shape: []int64{1}, Optional: true},
		{Name: "exclude_input_in_output", Datatype: wire.BOOL, Shape: []int64{1}, Optional: true},
	}}
	trtllm = fakeModel{name: "ensemble", maxBatch: 4, inputs: []tensorSpec{
		{Name: "text_input", Datatype: wire.BYTES, Shape: []int64{-1}},
		{Name: "max_tokens", Datatype: wire.INT32, Shape: []int64{-1}},
		{Name: "min_tokens", Datatype: wire.INT32, Shape: []int64{1}, Optional: true},
		{Name: "stream", Datatype: wire.BOOL, Shape: []int64{1}, Optional: true},
	}}
)

// A prompt becomes the inputs of the model. The model's inputs show its kind.
func TestPreparePrompt(t *testing.T) {
	pattern, err := render.ParseTemplate([]byte(`{"text_input":["{{prompt}}"],"max_tokens":["{{max_tokens}}"]}`))
	if err != nil {
		t.Fatal(err)
	}
	prompt := &workload.Entry{Prompt: &workload.Prompt{Text: "hi", MaxTokens: 7, Exact: true}}
	for _, tt := range []struct {
		m    fakeModel
		c    Config
		want string
	}{
		{vllm, Config{Streaming: true}, `text_input[1]=["hi"] stream[1]=[true] sampling_parameters[1]=["{\"max_tokens\":7,\"min_tokens\":7,\"ignore_eos\":true}"] exclude_input_in_output[1]=[true]`},
		{trtllm, Config{Streaming: true}, `text_input[1,1]=["hi"] max_tokens[1,1]=[7] min_tokens[1,1]=[7] stream[1,1]=[true]`},
		{trtllm, Config{BatchSize: 2}, `text_input[2,1]=["hi","hi"] max_tokens[2,1]=[7,7] min_tokens[2,1]=[7,7]`},
		{trtllm, Config{Streaming: true, Render: render.Options{Template: pattern}}, `text_input[1,1]=["hi"] max_tokens[1,1]=[7]`},
	} {
		b := checked(t, tt.m, tt.c)
		if got := sent(t, prepare(t, b, prompt).(*payload)); got != tt.want {
			t.Errorf("%s: sent %s\nwant %s", tt.m.name, got, tt.want)
		}
	}
	for _, tt := range []struct {
		m    fakeModel
		c    Config
		want string
	}{
		{adder, Config{}, "row 1: the model takes no prompts: it has the inputs A, B, none of them text_input or input_ids; give tensors"},
		{trtllm, Config{Style: render.VLLM}, `row 1: model ensemble has no input "sampling_parameters"`},
	} {
		_, err := checked(t, tt.m, tt.c).Prepare(prompt)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", tt.m.name, err, tt.want)
		}
	}
}

// Inputs as files of bytes: little endian, strings by line.
func TestPrepareRaw(t *testing.T) {
	raw := func(kv ...string) *workload.Entry {
		e := &workload.Entry{Raw: map[string][]byte{}}
		for i := 0; i < len(kv); i += 2 {
			e.Raw[kv[i]] = []byte(kv[i+1])
		}
		return e
	}
	for _, tt := range []struct {
		name string
		m    fakeModel
		e    *workload.Entry
		want string // sent, or the error
	}{
		{"numbers", adder, raw("A", "\x01\x00\x00\x00\xff\xff\xff\xff"), "A[1,2]=[1,-1]"},
		{"strings", open, func() *workload.Entry {
			e := raw("Y", "a b\n\nc\r\n")
			e.Shapes = map[string][]int64{"Y": {3, 1}}
			return e
		}(), `Y[3,1]=["a b","","c"]`},
		{"an output is no input", llm, raw("text_input", "hi", "count", "\x01\x00\x00\x00"), `text_input[1]=["hi"]`},
		{"too short", adder, raw("A", "\x01\x00\x00\x00"), `input "A": INT32 of shape [2]: expected 8 bytes, found 4`},
		{"half a number", adder, raw("A", "\x01\x00\x00"), `input "A": 3 bytes are not a multiple of INT32's 4`},
		{"two strings for one", llm, raw("text_input", "a\nb\n"), `input "text_input": shape [1]: expected 1 element, found 2`},
		{"neither", adder, raw("A", "", "B.txt", ""), `the file "B.txt" is named like neither an input nor an output of model adder; inputs are A, B, outputs SUM`},
		{"missing", adder, raw("SUM", "\x01\x00\x00\x00\x01\x00\x00\x00"), `input "A": no data, and it is not optional`},
	} {
		p, err := checked(t, tt.m, Config{}).Prepare(tt.e)
		if err != nil {
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: error %q, want %q", tt.name, err, tt.want)
			}
			continue
		}
		if got := sent(t, p.(*payload)); got != tt.want {
			t.Errorf("%s: sent %s, want %s", tt.name, got, tt.want)
		}
	}
}

// An answer that differs from the validation data is a failure, over both protocols. Outputs
// without validation data may be anything.
func TestValidation(t *testing.T) {
	sum := func(data string) func(context.Context, *wire.Request, func(wire.Response)) error {
		return func(_ context.Context, req *wire.Request, send func(wire.Response)) error {
			send(wire.Response{ID: req.ID, Outputs: []wire.Tensor{{Name: "SUM", Datatype: wire.INT32, Shape: []int64{1, 2}, Data: []byte(data), Binary: true}}})
			return nil
		}
	}
	const three, four = "\x03\x00\x00\x00\x03\x00\x00\x00", "\x03\x00\x00\x00\x04\x00\x00\x00"
	expect := func(f export.Fields, raw map[string][]byte) *workload.Entry {
		e := entry("A", "[1,2]")
		e.Expected, e.Raw = f, raw
		return e
	}
	said := export.Fields{{Name: "SUM", Value: export.JSON("[3,3]")}}
	for _, tt := range []struct {
		name   string
		answer string
		e      *workload.Entry
		want   string
	}{
		{"right", three, expect(said, nil), "ok"},
		{"wrong", four, expect(said, nil), `protocol_error "output \"SUM\" is not what the validation data expects: 8 bytes that differ from 8 at byte 4"`},
		{"of a file", four, expect(nil, map[string][]byte{"SUM": []byte(three)}), "protocol_error"},
		{"too short", three[:4], expect(said, nil), "protocol_error"},
		{"nothing said", four, expect(nil, nil), "ok"},
	} {
		f := startFake(t, sum(tt.answer))
		for _, protocol := range []Protocol{GRPC, HTTP} {
			b := f.open(t, Config{Protocol: protocol, Model: "adder"})
			x := exchange(t.Context(), t, b, openSlot(t, b, 0), prepare(t, b, tt.e), 1)
			if got := show(x); !strings.HasPrefix(strings.Replace(got, " 200", "", 1), tt.want) {
				t.Errorf("%s over %v: %s, want %s", tt.name, protocol, got, tt.want)
			}
		}
	}
	b := checked(t, adder, Config{})
	for _, tt := range []struct{ name, value, want string }{
		{"SUM", `["a"]`, `validation data: output "SUM": element 0: expected an integer`},
		{"SUMS", `[1]`, `validation data: model adder has no output "SUMS"; it has SUM`},
	} {
		e := expect(export.Fields{{Name: tt.name, Value: export.JSON(tt.value)}}, nil)
		if _, err := b.Prepare(e); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("expecting %s=%s: error %v, want %q", tt.name, tt.value, err, tt.want)
		}
	}
}

// A batch expects what its entries do.
func TestValidationOfBatches(t *testing.T) {
	b := checked(t, adder, Config{BatchSize: 2})
	e := func(sum string) *workload.Entry {
		e := entry("A", "[1,2]")
		if sum != "" {
			e.Expected = export.Fields{{Name: "SUM", Value: export.JSON(sum)}}
		}
		return e
	}
	p, err := b.PrepareBatch([]*workload.Entry{e("[1,2]"), e("[3,4]")})
	if err != nil {
		t.Fatal(err)
	}
	if want := p.(*payload).expected; len(want) != 1 || string(want[0].data) != "\x01\x00\x00\x00\x02\x00\x00\x00\x03\x00\x00\x00\x04\x00\x00\x00" {
		t.Errorf("expected %q", want)
	}
	if _, err := b.PrepareBatch([]*workload.Entry{e("[1,2]"), e("")}); err == nil || !strings.Contains(err.Error(), "expected 1 output, as for the first element of the batch, found 0") {
		t.Errorf("one of two expects something: error %v", err)
	}
}
