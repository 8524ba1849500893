package kserve

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	pb "github.com/pa-tools/pa/internal/kserve"
	"github.com/pa-tools/pa/internal/test/testenv"
)

var testParams = []Param{
	{"b", true}, {"f", 1.5}, {"i", int64(-3)}, {"s", "text"}, {"u", uint64(1 << 63)}, {"zero", false},
}

func pbParams() map[string]*pb.InferParameter {
	return map[string]*pb.InferParameter{
		"b":    {ParameterChoice: &pb.InferParameter_BoolParam{BoolParam: true}},
		"f":    {ParameterChoice: &pb.InferParameter_DoubleParam{DoubleParam: 1.5}},
		"i":    {ParameterChoice: &pb.InferParameter_Int64Param{Int64Param: -3}},
		"s":    {ParameterChoice: &pb.InferParameter_StringParam{StringParam: "text"}},
		"u":    {ParameterChoice: &pb.InferParameter_Uint64Param{Uint64Param: 1 << 63}},
		"zero": {ParameterChoice: &pb.InferParameter_BoolParam{BoolParam: false}},
	}
}

// The hand-written codec against the generated one, both ways.
func TestRequestProto(t *testing.T) {
	r := Request{
		Model: "m", Version: "2", ID: "7", Params: testParams,
		Inputs: []Tensor{
			{Name: "A", Datatype: INT32, Shape: []int64{1, 2}, Data: []byte("\x01\x00\x00\x00\x02\x00\x00\x00")},
			{Name: "B", Datatype: BYTES, Shape: []int64{0}, Data: []byte{}},
		},
		Outputs: []RequestedOutput{{Name: "O"}, {Name: "P"}},
	}
	want := &pb.ModelInferRequest{
		ModelName: "m", ModelVersion: "2", Id: "7", Parameters: pbParams(),
		Inputs: []*pb.ModelInferRequest_InferInputTensor{
			{Name: "A", Datatype: "INT32", Shape: []int64{1, 2}},
			{Name: "B", Datatype: "BYTES", Shape: []int64{0}},
		},
		Outputs:          []*pb.ModelInferRequest_InferRequestedOutputTensor{{Name: "O"}, {Name: "P"}},
		RawInputContents: [][]byte{[]byte("\x01\x00\x00\x00\x02\x00\x00\x00"), {}},
	}
	var got pb.ModelInferRequest
	if err := proto.Unmarshal(r.AppendProto(nil), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, &got, protocmp.Transform()); diff != "" {
		t.Errorf("AppendProto:\n%s", diff)
	}

	b, err := proto.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var back Request
	if err := back.ParseProto(b); err != nil {
		t.Fatal(err)
	}
	sortParams(back.Params)
	if diff := cmp.Diff(r, back); diff != "" {
		t.Errorf("ParseProto:\n%s", diff)
	}
}

// Fields appended to a finished message win over the fields in it.
func TestAppendToRequest(t *testing.T) {
	r := Request{ID: "old", Params: []Param{{"p", int64(1)}}}
	b := AppendID(r.AppendProto(nil), "new")
	b = AppendParam(b, Param{"p", int64(2)})
	var got pb.ModelInferRequest
	if err := proto.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if got.Id != "new" || got.Parameters["p"].GetInt64Param() != 2 {
		t.Errorf("id %q, p %d; want new, 2", got.Id, got.Parameters["p"].GetInt64Param())
	}
	var own Request
	if err := own.ParseProto(b); err != nil || own.ID != "new" || len(own.Params) != 1 || own.Params[0].Value != int64(2) {
		t.Errorf("ParseProto: %+v, %v", own, err)
	}
}

func TestResponseProto(t *testing.T) {
	r := Response{
		Model: "m", Version: "1", ID: "9", Params: testParams,
		Outputs: []Tensor{
			{Name: "text", Datatype: BYTES, Shape: []int64{1}, Data: []byte("\x02\x00\x00\x00hi")},
			{Name: "n", Datatype: UINT32, Data: []byte("\x05\x00\x00\x00")}, // scalar shape []
		},
		Error: "bad",
	}
	want := &pb.ModelStreamInferResponse{
		ErrorMessage: "bad",
		InferResponse: &pb.ModelInferResponse{
			ModelName: "m", ModelVersion: "1", Id: "9", Parameters: pbParams(),
			Outputs: []*pb.ModelInferResponse_InferOutputTensor{
				{Name: "text", Datatype: "BYTES", Shape: []int64{1}},
				{Name: "n", Datatype: "UINT32"},
			},
			RawOutputContents: [][]byte{[]byte("\x02\x00\x00\x00hi"), []byte("\x05\x00\x00\x00")},
		},
	}
	var got pb.ModelStreamInferResponse
	if err := proto.Unmarshal(r.AppendStream(nil), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, &got, protocmp.Transform()); diff != "" {
		t.Errorf("AppendStream:\n%s", diff)
	}

	b, err := proto.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	// A used Response: nothing of its past may show.
	back := Response{Error: "old", Outputs: []Tensor{{Name: "old", Shape: []int64{9, 9}, Data: []byte("old"), Binary: true}}}
	for range 2 {
		if err := back.ParseStream(b); err != nil {
			t.Fatal(err)
		}
		sortParams(back.Params)
		for i := range back.Outputs {
			if len(back.Outputs[i].Shape) == 0 {
				back.Outputs[i].Shape = nil
			}
		}
		if diff := cmp.Diff(r, back); diff != "" {
			t.Errorf("ParseStream:\n%s", diff)
		}
	}
}

func TestTypedContents(t *testing.T) {
	for _, tt := range []struct {
		dt   Datatype
		c    *pb.InferTensorContents
		want string
	}{
		{BOOL, &pb.InferTensorContents{BoolContents: []bool{true, false}}, "[true,false]"},
		{INT8, &pb.InferTensorContents{IntContents: []int32{-1, 2}}, "[-1,2]"},
		{INT16, &pb.InferTensorContents{IntContents: []int32{-300, 2}}, "[-300,2]"},
		{INT32, &pb.InferTensorContents{IntContents: []int32{-70000, 2}}, "[-70000,2]"},
		{INT64, &pb.InferTensorContents{Int64Contents: []int64{-1 << 40, 2}}, "[-1099511627776,2]"},
		{UINT8, &pb.InferTensorContents{UintContents: []uint32{255}}, "[255]"},
		{UINT16, &pb.InferTensorContents{UintContents: []uint32{65535}}, "[65535]"},
		{UINT32, &pb.InferTensorContents{UintContents: []uint32{1 << 31}}, "[2147483648]"},
		{UINT64, &pb.InferTensorContents{Uint64Contents: []uint64{1 << 63}}, "[9223372036854775808]"},
		{FP32, &pb.InferTensorContents{Fp32Contents: []float32{1.5, -2}}, "[1.5,-2.0]"},
		{FP64, &pb.InferTensorContents{Fp64Contents: []float64{0.1}}, "[0.1]"},
		{BYTES, &pb.InferTensorContents{BytesContents: [][]byte{[]byte("ab"), {}}}, `["ab",""]`},
	} {
		b, err := proto.Marshal(&pb.ModelInferResponse{Outputs: []*pb.ModelInferResponse_InferOutputTensor{
			{Name: "O", Datatype: string(tt.dt), Contents: tt.c},
		}})
		if err != nil {
			t.Fatal(err)
		}
		var r Response
		if err := r.ParseProto(b); err != nil {
			t.Errorf("%s: %v", tt.dt, err)
			continue
		}
		if got := string(AppendJSON(nil, tt.dt, r.Outputs[0].Data)); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.dt, got, tt.want)
		}
	}
}

func TestParseProtoErrors(t *testing.T) {
	marshal := func(m proto.Message) []byte {
		b, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	contents := func(dt string, c *pb.InferTensorContents) []byte {
		return marshal(&pb.ModelStreamInferResponse{InferResponse: &pb.ModelInferResponse{
			Outputs: []*pb.ModelInferResponse_InferOutputTensor{{Name: "O", Datatype: dt, Contents: c}},
		}})
	}
	for _, tt := range []struct {
		name, want string
		b          []byte
	}{
		{"torn", "byte 0 of 2: not a protobuf message: unexpected EOF", []byte{0x0a, 0x05}},
		{
			"more data than tensors", "infer_response: 1 raw contents but 0 tensors",
			marshal(&pb.ModelStreamInferResponse{InferResponse: &pb.ModelInferResponse{RawOutputContents: [][]byte{{1}}}}),
		},
		{
			"contents of another type", `infer_response: tensor "O": contents of field 6 in a tensor of type "FP64"`,
			contents("FP64", &pb.InferTensorContents{Fp32Contents: []float32{1}}),
		},
		{
			"bytes in a number", `infer_response: tensor "O": bytes_contents in a tensor of type "INT8"`,
			contents("INT8", &pb.InferTensorContents{BytesContents: [][]byte{{1}}}),
		},
	} {
		var r Response
		if err := r.ParseStream(tt.b); err == nil || err.Error() != tt.want {
			t.Errorf("%s:\ngot  %v\nwant %s", tt.name, err, tt.want)
		}
	}
}

// A message of a stream with raw contents that the generated code accepts reads the same here.
func FuzzParseStream(f *testing.F) {
	for _, r := range []Response{
		{},
		{Error: "bad"},
		{Model: "m", ID: "1", Params: testParams, Outputs: []Tensor{{Name: "O", Datatype: BYTES, Shape: []int64{1}, Data: []byte("\x01\x00\x00\x00x")}}},
	} {
		f.Add(r.AppendStream(nil))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		testenv.BoundMemory(t, len(b), 1<<20, 200, func() { _ = new(Response).ParseStream(b) })
		var r Response
		ownErr := r.ParseStream(b)
		var m pb.ModelStreamInferResponse
		if proto.Unmarshal(b, &m) != nil || ownErr != nil {
			return // both may refuse, for reasons of their own
		}
		again, err := proto.Marshal(&m)
		if err != nil {
			return
		}
		// Through the generated code and back: a canonical message.
		var own, canon Response
		if err := canon.ParseStream(again); err != nil {
			return
		}
		if err := own.ParseStream(canon.AppendStream(nil)); err != nil {
			t.Fatalf("own message is refused: %v", err)
		}
		if own.Error != canon.Error || own.ID != canon.ID || len(own.Outputs) != len(canon.Outputs) || len(own.Params) != len(canon.Params) {
			t.Fatalf("round trip: %+v became %+v", canon, own)
		}
		if m.ErrorMessage != canon.Error || m.InferResponse.GetId() != canon.ID || len(m.InferResponse.GetOutputs()) != len(canon.Outputs) {
			t.Fatalf("generated code reads %v, own %+v", &m, canon)
		}
		for i, o := range m.InferResponse.GetOutputs() {
			if o.Name != canon.Outputs[i].Name || Datatype(o.Datatype) != canon.Outputs[i].Datatype || !slices.Equal(o.Shape, canon.Outputs[i].Shape) {
				t.Fatalf("output %d: generated code reads %v, own %+v", i, o, canon.Outputs[i])
			}
		}
	})
}

func BenchmarkParseStream(b *testing.B) {
	r := Response{
		Model: "vllm", Version: "1", ID: "123456", Params: []Param{{ParamFinal, false}},
		Outputs: []Tensor{{Name: "text_output", Datatype: BYTES, Shape: []int64{1}, Data: []byte("\x06\x00\x00\x00 quick")}},
	}
	msg := r.AppendStream(nil)
	names := []string{"text_output"}
	b.SetBytes(int64(len(msg)))
	b.ReportAllocs()
	for b.Loop() {
		if err := r.ParseStream(msg); err != nil {
			b.Fatal(err)
		}
		if _, err := r.Fields(names); err != nil {
			b.Fatal(err)
		}
	}
}

func sortParams(ps []Param) {
	slices.SortFunc(ps, func(a, b Param) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
}
