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
			`{"name":"a\"b","data_type":"TYPE_FP32","format":"FORMAT_NONE","dims":[1],"is_shape_tensor":false,"allow_ragged_batch":false,"optional":false,"is_non_linear_format_io":false}`,
		},
		{
			"maps",
			&pb.ModelRepositoryParameter{ParameterChoice: &pb.ModelRepositoryParameter_BytesParam{BytesParam: []byte{0, 255}}},
			`{"bytes_param":"AP8="}`,
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
	m := &pb.ModelConfig{
		Name: "m", MaxBatchSize: 8,
		Input:         []*pb.ModelInput{{Name: "I", Dims: []int64{1 << 40}}},
		Parameters:    map[string]*pb.ModelParameter{"b": {StringValue: "2"}, "a": {StringValue: "1"}},
		InstanceGroup: []*pb.ModelInstanceGroup{{Count: 2, Kind: pb.ModelInstanceGroup_KIND_CPU}},
	}
	text := appendProto(nil, m.ProtoReflect())
	if !json.Valid(text) {
		t.Fatalf("not JSON: %s", text)
	}
	var back pb.ModelConfig
	if err := protojson.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if !proto.Equal(m, &back) {
		t.Errorf("read back differently: %s", cmp.Diff(m.String(), back.String()))
	}
}
