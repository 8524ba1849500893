package sim

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	pb "github.com/pa-tools/pa/internal/kserve"
)

func TestAppendProto(t *testing.T) {
	for _, tt := range []struct {
		name string
		m    proto.Message
		want string
	}{
		{
			"64-bit integers are numbers, what is not set is there",
			&pb.ModelMetadataResponse{Name: "m", Inputs: []*pb.ModelMetadataResponse_TensorMetadata{{Name: "I", Datatype: "INT32", Shape: []int64{-1, 16}}}},
			`{"name":"m","versions":[],"platform":"","inputs":[{"name":"I","datatype":"INT32","shape":[-1,16]}],"outputs":[]}`,
		},
		{
			"members of a oneof and messages only when set, maps in order, enums by name",
			&pb.ModelInput{Name: "a\"b", DataType: pb.DataType_TYPE_FP32, Dims: []int64{1}},
			`{"name":"a\"b","data_type":"TYPE_FP32","dims":[1],"optional":false}`,
		},
		{
			"bytes",
			&pb.InferTensorContents{BytesContents: [][]byte{{0, 255}}},
			`{"bool_contents":[],"int_contents":[],"int64_contents":[],"uint_contents":[],"uint64_contents":[],"fp32_contents":[],"fp64_contents":[],"bytes_contents":["AP8="]}`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := string(appendProto(nil, tt.m.ProtoReflect()))
			if got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// protobuf's own reader parses the rendering back to the same message: it accepts numbers
// where it writes strings.
func TestAppendProtoReadsBack(t *testing.T) {
	m := &pb.ModelInferRequest{
		ModelName: "m",
		Parameters: map[string]*pb.InferParameter{
			"b": {ParameterChoice: &pb.InferParameter_Uint64Param{Uint64Param: 1 << 63}}, "a": {ParameterChoice: &pb.InferParameter_BoolParam{}},
		},
		Inputs:           []*pb.ModelInferRequest_InferInputTensor{{Name: "I", Shape: []int64{1 << 40}}},
		RawInputContents: [][]byte{{1, 2}},
	}
	text := appendProto(nil, m.ProtoReflect())
	if !json.Valid(text) {
		t.Fatalf("not JSON: %s", text)
	}
	var back pb.ModelInferRequest
	if err := protojson.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if !proto.Equal(m, &back) {
		t.Errorf("read back differently: %s", cmp.Diff(m.String(), back.String()))
	}
}
