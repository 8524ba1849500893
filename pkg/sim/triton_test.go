package sim

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pb "github.com/pa-tools/pa/internal/kserve"
	"github.com/pa-tools/pa/pkg/sim/plan"
	"github.com/pa-tools/pa/pkg/wire/kserve"
)

func dial(t *testing.T, s *Server) pb.GRPCInferenceServiceClient {
	t.Helper()
	conn, err := grpc.NewClient(s.TritonGRPCAddr(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	})
	return pb.NewGRPCInferenceServiceClient(conn)
}

// textRequest asks a language model for tokens.
func textRequest(id, prompt, sampling string, stream bool, params map[string]*pb.InferParameter) *pb.ModelInferRequest {
	flag := []byte{0}
	if stream {
		flag[0] = 1
	}
	return &pb.ModelInferRequest{
		ModelName: "vllm", Id: id, Parameters: params,
		Inputs: []*pb.ModelInferRequest_InferInputTensor{
			{Name: "text_input", Datatype: "BYTES", Shape: []int64{1}},
			{Name: "stream", Datatype: "BOOL", Shape: []int64{1}},
			{Name: "sampling_parameters", Datatype: "BYTES", Shape: []int64{1}},
		},
		RawInputContents: [][]byte{kserve.AppendBytes(nil, prompt), flag, kserve.AppendBytes(nil, sampling)},
	}
}

func boolParam(v bool) *pb.InferParameter {
	return &pb.InferParameter{ParameterChoice: &pb.InferParameter_BoolParam{BoolParam: v}}
}

func intParam(v int64) *pb.InferParameter {
	return &pb.InferParameter{ParameterChoice: &pb.InferParameter_Int64Param{Int64Param: v}}
}

// summarize returns a response in a line: id, number of words or error, final flag.
func summarize(m *pb.ModelStreamInferResponse) string {
	r := m.GetInferResponse()
	s := r.GetId()
	switch {
	case m.GetErrorMessage() != "":
		s += " error"
	case len(r.GetOutputs()) == 0:
		s += " empty"
	default:
		wantShape := []int64{1}
		if r.GetModelName() == "ensemble" {
			wantShape = []int64{1, 1}
		}
		text, rest, ok := kserve.NextBytes(r.GetRawOutputContents()[0])
		if !ok || len(rest) > 0 || r.GetOutputs()[0].GetDatatype() != "BYTES" || !slices.Equal(r.GetOutputs()[0].GetShape(), wantShape) {
			s += " bad tensor"
		}
		s += fmt.Sprintf(" %s %d", r.GetOutputs()[0].GetName(), countWords(string(text)))
		for i, o := range r.GetOutputs()[1:] {
			s += fmt.Sprintf(" %s %v %d", o.GetName(), o.GetShape(), r.GetRawOutputContents()[i+1][0])
		}
	}
	if r.GetParameters()[kserve.ParamFinal].GetBoolParam() {
		s += " final"
	}
	return s
}

// exchangeAll sends the requests on one stream, closes its sending side, and
// returns all responses.
func exchangeAll(ctx context.Context, t *testing.T, c pb.GRPCInferenceServiceClient, requests ...*pb.ModelInferRequest) ([]*pb.ModelStreamInferResponse, error) {
	t.Helper()
	stream, err := c.ModelStreamInfer(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range requests {
		if err := stream.Send(q); err != nil {
			t.Fatal(err)
		}
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	var all []*pb.ModelStreamInferResponse
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		all = append(all, m)
	}
}

func TestTritonStream(t *testing.T) {
	wantEmpty := map[string]*pb.InferParameter{kserve.ParamEmptyFinal: boolParam(true)}
	rows := []struct {
		name    string
		request *pb.ModelInferRequest
		want    []string
	}{
		{"empty final", textRequest("a", "x y", `{"max_tokens":2}`, true, wantEmpty), []string{"a text_output 1", "a text_output 1", "a empty final"}},
		{"empty final not asked for", textRequest("a", "x", `{"max_tokens":2}`, true, nil), []string{"a text_output 1", "a text_output 1"}},
		{"attached", textRequest("a", "x", `{"max_tokens":2,"final":"attached"}`, true, wantEmpty), []string{"a text_output 1", "a text_output 1 final"}},
		{"not a stream", textRequest("a", "x", `{"max_tokens":4}`, false, wantEmpty), []string{"a text_output 4 final"}},
		{"no sampling parameters", textRequest("a", "x", ``, false, nil), []string{"a text_output 8 final"}},
		{"parameters precede", textRequest("a", "x", `{"max_tokens":2}`, false, map[string]*pb.InferParameter{"max_tokens": intParam(3)}), []string{"a text_output 3 final"}},
		{"echo", textRequest("a", "x y", `{"max_tokens":2,"echo":true}`, true, nil), []string{"a text_output 3", "a text_output 1"}},
		{"fail_after", textRequest("a", "x y", `{"max_tokens":5,"fail_after":2}`, true, wantEmpty), []string{"a text_output 1", "a text_output 1", "a error final"}},
		{"fail_after as many as there are", textRequest("a", "x y", `{"max_tokens":2,"fail_after":2,"final":"attached"}`, true, nil), []string{"a text_output 1", "a error final"}},
		{"tensorrtllm", &pb.ModelInferRequest{
			ModelName: "ensemble", Id: "e",
			Inputs: []*pb.ModelInferRequest_InferInputTensor{
				{Name: "text_input", Datatype: "BYTES", Shape: []int64{1, 1}},
				{Name: "max_tokens", Datatype: "INT32", Shape: []int64{1, 1}},
				{Name: "stream", Datatype: "BOOL", Shape: []int64{1, 1}},
				{Name: "end_id", Datatype: "INT32", Shape: []int64{1, 1}},
			},
			RawInputContents: [][]byte{kserve.AppendBytes(nil, "x"), {2, 0, 0, 0}, {1}, {255, 255, 255, 255}},
		}, []string{"e text_output 1", "e text_output 1"}},
		{"counts", &pb.ModelInferRequest{
			ModelName: "vllm", Id: "c",
			Inputs: []*pb.ModelInferRequest_InferInputTensor{
				{Name: "text_input", Datatype: "BYTES", Shape: []int64{1}},
				{Name: "sampling_parameters", Datatype: "BYTES", Shape: []int64{1}},
				{Name: "return_num_input_tokens", Datatype: "BOOL", Shape: []int64{1}},
				{Name: "exclude_input_in_output", Datatype: "BOOL", Shape: []int64{1}},
			},
			RawInputContents: [][]byte{kserve.AppendBytes(nil, "x y z"), kserve.AppendBytes(nil, `{"max_tokens":3}`), {1}, {0}},
		}, []string{"c text_output 6 num_input_tokens [] 3 final"}},
		{"2309", &pb.ModelInferRequest{
			ModelName: "vllm_2309", ModelVersion: "1",
			Inputs: []*pb.ModelInferRequest_InferInputTensor{
				{Name: "STREAM", Datatype: "BOOL", Shape: []int64{1}, Contents: &pb.InferTensorContents{BoolContents: []bool{true}}},
				{Name: "PROMPT", Datatype: "BYTES", Shape: []int64{1}, Contents: &pb.InferTensorContents{BytesContents: [][]byte{[]byte("hello")}}},
				{Name: "SAMPLING_PARAMETERS", Datatype: "BYTES", Shape: []int64{1}, Contents: &pb.InferTensorContents{BytesContents: [][]byte{[]byte(`{"max_tokens":"2"}`)}}},
			},
		}, []string{" TEXT 1", " TEXT 1"}},
	}
	s := start(t, fast())
	client := dial(t, s)
	for _, row := range rows {
		all, err := exchangeAll(t.Context(), t, client, row.request)
		if err != nil {
			t.Errorf("%s: %v", row.name, err)
		}
		var got []string
		var sent [][]byte
		for _, m := range all {
			got = append(got, summarize(m))
			b, err := proto.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			sent = append(sent, b)
		}
		if d := cmp.Diff(row.want, got); d != "" {
			t.Errorf("%s: responses (-want +got):\n%s", row.name, d)
		}
		e := last(t, s)
		if e.Protocol != TritonGRPCStream || e.ID != row.request.GetId() || e.RequestBytes != proto.Size(row.request) || e.Model != row.request.GetModelName() {
			t.Errorf("%s: the entry is %+v", row.name, e)
		}
		var inLedger [][]byte
		for _, w := range e.Writes {
			inLedger = append(inLedger, w.Data)
			if w.Events != 1 || w.SentNS < w.DueNS {
				t.Errorf("%s: write %+v", row.name, w)
			}
		}
		if d := cmp.Diff(sent, inLedger); d != "" {
			t.Errorf("%s: messages (-received +ledger):\n%s", row.name, d)
		}
	}
}

// Requests on one stream run at the same time, and their responses interleave.
func TestTritonStreamIsShared(t *testing.T) {
	s := start(t, fast())
	// The first request is answered last.
	slow := textRequest("slow", "x", `{"max_tokens":1,"ttft_ms":300}`, true, nil)
	quick := textRequest("quick", "x", `{"max_tokens":3,"itl_ms":0,"ttft_ms":0}`, true, nil)
	all, err := exchangeAll(t.Context(), t, dial(t, s), slow, quick)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range all {
		got = append(got, m.GetInferResponse().GetId())
	}
	if want := []string{"quick", "quick", "quick", "slow"}; !slices.Equal(got, want) {
		t.Errorf("responses of %q, want %q", got, want)
	}
}

func addSubRequest(id string, batch int, x, y int32) *pb.ModelInferRequest {
	vector := func(v int32) (b []byte) {
		for i := range 16 * batch {
			b = binary.LittleEndian.AppendUint32(b, uint32(v+int32(i)))
		}
		return b
	}
	shape := []int64{int64(batch), 16}
	return &pb.ModelInferRequest{
		ModelName: "add_sub", Id: id,
		Inputs: []*pb.ModelInferRequest_InferInputTensor{
			{Name: "INPUT0", Datatype: "INT32", Shape: shape}, {Name: "INPUT1", Datatype: "INT32", Shape: shape},
		},
		RawInputContents: [][]byte{vector(x), vector(y)},
	}
}

func TestTritonInfer(t *testing.T) {
	s := start(t, fast())
	c := dial(t, s)
	typed := addSubRequest("t", 1, 0, 0)
	typed.RawInputContents = nil
	for _, in := range typed.Inputs {
		in.Contents = &pb.InferTensorContents{IntContents: make([]int32, 16)}
		in.Contents.IntContents[1] = 2147483647 // edge: the sum wraps
	}
	for _, q := range []*pb.ModelInferRequest{addSubRequest("a", 1, 5, 2), addSubRequest("b", 8, -7, 9), typed} {
		r, err := c.ModelInfer(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		e := last(t, s)
		b, err := proto.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if e.ID != q.GetId() || e.Protocol != TritonGRPCInfer || e.End != EndOK || !slices.Equal(e.Sent(), b) {
			t.Errorf("the entry is %+v, received %x", e, b)
		}
		raw := func(i int) []byte {
			if len(q.GetRawInputContents()) > 0 {
				return q.GetRawInputContents()[i]
			}
			return typedContents(q.GetInputs()[i].GetContents())
		}
		x, y := raw(0), raw(1)
		for i := 0; i < len(x); i += 4 {
			a, b := int32(binary.LittleEndian.Uint32(x[i:])), int32(binary.LittleEndian.Uint32(y[i:]))
			sum := int32(binary.LittleEndian.Uint32(r.GetRawOutputContents()[0][i:]))
			difference := int32(binary.LittleEndian.Uint32(r.GetRawOutputContents()[1][i:]))
			if sum != a+b || difference != a-b {
				t.Errorf("%s: element %d of %d and %d: %d, %d", q.GetId(), i/4, a, b, sum, difference)
			}
		}
		if got := r.GetOutputs()[1]; got.GetName() != "OUTPUT1" || !slices.Equal(got.GetShape(), q.GetInputs()[0].GetShape()) {
			t.Errorf("output 1 is %v", got)
		}
	}
}

func TestTritonErrors(t *testing.T) {
	change := func(f func(*pb.ModelInferRequest)) *pb.ModelInferRequest {
		q := addSubRequest("x", 1, 0, 0)
		f(q)
		return q
	}
	rows := []struct {
		name    string
		request *pb.ModelInferRequest
		code    codes.Code
		want    string
	}{
		{"unknown model", change(func(q *pb.ModelInferRequest) { q.ModelName = "no" }), codes.NotFound, "no model 'no'"},
		{"unknown version", change(func(q *pb.ModelInferRequest) { q.ModelVersion = "2" }), codes.NotFound, "no version 2"},
		{"missing input", change(func(q *pb.ModelInferRequest) { q.Inputs, q.RawInputContents = q.Inputs[:1], q.RawInputContents[:1] }), codes.InvalidArgument, "input 'INPUT1' is missing"},
		{"unknown input", change(func(q *pb.ModelInferRequest) { q.Inputs[1].Name = "X" }), codes.InvalidArgument, "no input 'X'"},
		{"input twice", change(func(q *pb.ModelInferRequest) { q.Inputs[1].Name = "INPUT0" }), codes.InvalidArgument, "twice"},
		{"data type", change(func(q *pb.ModelInferRequest) { q.Inputs[1].Datatype = "FP32" }), codes.InvalidArgument, "data type FP32, expected INT32"},
		{"no batch dimension", change(func(q *pb.ModelInferRequest) { q.Inputs[1].Shape = []int64{16} }), codes.InvalidArgument, "batch size 16"},
		{"scalar", change(func(q *pb.ModelInferRequest) { q.Inputs[1].Shape = nil }), codes.InvalidArgument, "shape [], expected [-1,16]"},
		{"batch too large", addSubRequest("x", 9, 0, 0), codes.InvalidArgument, "batch size 9"},
		{"batch of 0", change(func(q *pb.ModelInferRequest) { q.Inputs[0].Shape = []int64{0, 16} }), codes.InvalidArgument, "batch size 0"},
		{"batches differ", change(func(q *pb.ModelInferRequest) { q.Inputs[1].Shape = []int64{2, 16} }), codes.InvalidArgument, "batch size 2"},
		{"too little data", change(func(q *pb.ModelInferRequest) { q.RawInputContents[1] = q.RawInputContents[1][:8] }), codes.InvalidArgument, "input 'INPUT1'"},
		{"no data", change(func(q *pb.ModelInferRequest) { q.RawInputContents = nil }), codes.InvalidArgument, "input 'INPUT0'"},
		{"fewer contents than inputs", change(func(q *pb.ModelInferRequest) { q.RawInputContents = q.RawInputContents[:1] }), codes.InvalidArgument, "1 raw input contents for 2 inputs"},
		{"both contents", change(func(q *pb.ModelInferRequest) { q.Inputs[0].Contents = &pb.InferTensorContents{} }), codes.InvalidArgument, "beside raw"},
		{"unknown output", change(func(q *pb.ModelInferRequest) {
			q.Outputs = []*pb.ModelInferRequest_InferRequestedOutputTensor{{Name: "Y"}}
		}), codes.InvalidArgument, "no output 'Y'"},
		{"fails by itself", addSubRequest("x", 1, -1, 0), codes.Internal, "starts with -1"},
		{"parameter without value", change(func(q *pb.ModelInferRequest) { q.Parameters = map[string]*pb.InferParameter{"p": {}} }), codes.InvalidArgument, "parameter 'p'"},
		{"sampling parameters", textRequest("x", "x", "{", true, nil), codes.InvalidArgument, "sampling parameters"},
		{"max_tokens", textRequest("x", "x", `{"max_tokens":-1}`, true, nil), codes.InvalidArgument, "max_tokens is -1"},
		{"http_500", textRequest("x", "x", `{"sim_fault":"http_500"}`, true, nil), codes.Internal, "http_500"},
		{"http_429", textRequest("x", "x", `{"sim_fault":"http_429"}`, true, nil), codes.Unavailable, "http_429"},
	}
	s := start(t, fast())
	c := dial(t, s)
	grpcErrors := metadata.AppendToOutgoingContext(t.Context(), "triton_grpc_error", "true")
	for _, row := range rows {
		check := func(how string, err error) {
			if status.Code(err) != row.code || !strings.Contains(err.Error(), row.want) {
				t.Errorf("%s, %s: %v, want %v with %q", row.name, how, err, row.code, row.want)
			}
			if e := last(t, s); e.End != EndError || e.Code != int(row.code) || !strings.Contains(e.Message, row.want) {
				t.Errorf("%s, %s: the entry is %+v", row.name, how, e)
			}
		}
		if row.request.GetModelName() != "vllm" {
			_, err := c.ModelInfer(t.Context(), row.request)
			check("ModelInfer", err)
		}
		_, err := exchangeAll(grpcErrors, t, c, row.request)
		check("stream with status errors", err)
		all, err := exchangeAll(t.Context(), t, c, row.request)
		if err != nil || len(all) != 1 || !strings.Contains(all[0].GetErrorMessage(), row.want) || summarize(all[0]) != "x error final" {
			t.Errorf("%s, stream: %v, %v", row.name, all, err)
		}
	}
	if _, err := c.ModelInfer(t.Context(), textRequest("x", "x", "", false, nil)); status.Code(err) != codes.Unimplemented {
		t.Errorf("ModelInfer of a decoupled model: %v", err)
	}
}

func TestTritonFaults(t *testing.T) {
	rows := []struct {
		fault plan.Fault
		want  []string // responses of a request for 5 tokens, the fault after 2
		code  codes.Code
		end   End
	}{
		{plan.FaultNone, []string{"1", "1", "1", "1", "1", "final"}, codes.OK, EndOK},
		{plan.FaultReset, []string{"1", "1"}, codes.Unavailable, EndFault},
		{plan.FaultNoReply, nil, codes.Unavailable, EndFault},
		{plan.FaultTruncate, []string{"1", "1"}, codes.OK, EndFault},
		{plan.FaultNoDone, []string{"1", "1", "1", "1", "1"}, codes.OK, EndOK},
		{plan.FaultErrorEvent, []string{"1", "1", "error"}, codes.OK, EndError},
		{plan.FaultMerged, []string{"1", "1", "1", "1", "1", "final"}, codes.OK, EndOK},
		{plan.FaultOneshot, []string{"1", "1", "1", "1", "1", "final"}, codes.OK, EndOK},
		{plan.FaultSplit, []string{"1", "1", "1", "1", "1", "final"}, codes.OK, EndOK},
		{plan.FaultGarbage, []string{"1", "1"}, codes.Internal, EndOK},
	}
	for _, row := range rows {
		t.Run(row.fault.String(), func(t *testing.T) {
			t.Parallel()
			s := start(t, fast())
			q := textRequest("", "x", fmt.Sprintf(`{"max_tokens":5,"sim_fault":%q,"sim_fault_after":2}`, row.fault), true,
				map[string]*pb.InferParameter{kserve.ParamEmptyFinal: boolParam(true)})
			all, err := exchangeAll(t.Context(), t, dial(t, s), q)
			if status.Code(err) != row.code {
				t.Errorf("the stream ends with %v, want %v", err, row.code)
			}
			var got []string
			for _, m := range all {
				f := strings.Fields(summarize(m))
				got = append(got, f[1])
				if f[0] == "error" {
					got[len(got)-1] = "error"
				}
			}
			if d := cmp.Diff(row.want, got); d != "" && row.code != codes.Unavailable {
				t.Errorf("responses (-want +got):\n%s", d)
			}
			e := last(t, s)
			if e.End != row.end && (row.fault != plan.FaultGarbage || e.End != EndClientGone) {
				t.Errorf("the ledger says %q, want %q", e.End, row.end)
			}
			if row.code == codes.Unavailable && len(e.Writes) != len(row.want) {
				// The client may lose messages to the RST, but the ledger has them all.
				t.Errorf("the ledger has %d messages, want %d", len(e.Writes), len(row.want))
			}
		})
	}
}

// hang and stall keep a stream open until the client cancels.
func TestTritonHang(t *testing.T) {
	for fault, want := range map[plan.Fault]int{plan.FaultHang: 0, plan.FaultStall: 3} {
		s := start(t, fast())
		ctx, cancel := context.WithCancel(t.Context())
		stream, err := dial(t, s).ModelStreamInfer(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := stream.Send(textRequest("x", "x", fmt.Sprintf(`{"max_tokens":5,"sim_fault":%q}`, fault), true, nil)); err != nil {
			t.Fatal(err)
		}
		// An answer to the second request shows that the server has the first one.
		if err := stream.Send(textRequest("y", "x", `{"max_tokens":1,"ttft_ms":30,"final":"attached"}`, true, nil)); err != nil {
			t.Fatal(err)
		}
		for got := 0; got < want+1; got++ {
			if _, err := stream.Recv(); err != nil {
				t.Fatal(err)
			}
		}
		cancel()
		for _, e := range settled(t, s) {
			if e.ID == "x" && (e.End != EndClientGone || len(e.Writes) != want) {
				t.Errorf("%v: the ledger says %q after %d messages, want %q after %d", fault, e.End, len(e.Writes), EndClientGone, want)
			}
		}
	}
}

func TestTritonInfo(t *testing.T) {
	s := start(t, fast())
	c := dial(t, s)
	ctx := t.Context()
	if r, err := c.ServerLive(ctx, &pb.ServerLiveRequest{}); err != nil || !r.GetLive() {
		t.Errorf("live: %v, %v", r, err)
	}
	if r, err := c.ServerReady(ctx, &pb.ServerReadyRequest{}); err != nil || !r.GetReady() {
		t.Errorf("ready: %v, %v", r, err)
	}
	for name, want := range map[string]bool{"vllm": true, "no": false} {
		if r, err := c.ModelReady(ctx, &pb.ModelReadyRequest{Name: name}); err != nil || r.GetReady() != want {
			t.Errorf("ready %s: %v, %v", name, r, err)
		}
	}
	if r, err := c.ServerMetadata(ctx, &pb.ServerMetadataRequest{}); err != nil || !slices.Contains(r.GetExtensions(), "statistics") {
		t.Errorf("server metadata: %v, %v", r, err)
	}
	m, err := c.ModelMetadata(ctx, &pb.ModelMetadataRequest{Name: "add_sub"})
	if err != nil || len(m.GetInputs()) != 2 || m.GetInputs()[0].GetDatatype() != "INT32" || !slices.Equal(m.GetInputs()[0].GetShape(), []int64{-1, 16}) {
		t.Errorf("metadata: %v, %v", m, err)
	}
	g, err := c.ModelConfig(ctx, &pb.ModelConfigRequest{Name: "vllm"})
	if err != nil || !g.GetConfig().GetModelTransactionPolicy().GetDecoupled() || g.GetConfig().GetMaxBatchSize() != 0 ||
		!g.GetConfig().GetInput()[1].GetOptional() || g.GetConfig().GetInput()[0].GetDataType() != pb.DataType_TYPE_STRING {
		t.Errorf("config: %v, %v", g, err)
	}
	if _, err := c.ModelConfig(ctx, &pb.ModelConfigRequest{Name: "no"}); status.Code(err) != codes.NotFound {
		t.Errorf("config of no model: %v", err)
	}
	if r, err := c.RepositoryIndex(ctx, &pb.RepositoryIndexRequest{}); err != nil || len(r.GetModels()) != len(DefaultTritonModels()) {
		t.Errorf("index: %v, %v", r, err)
	}
	for i := range 3 {
		if _, err := c.ModelInfer(ctx, addSubRequest("", 1, int32(i), 0)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.ModelInfer(ctx, addSubRequest("", 1, -1, 0)); err == nil {
		t.Fatal("want an error")
	}
	settled(t, s)
	st, err := c.ModelStatistics(ctx, &pb.ModelStatisticsRequest{Name: "add_sub"})
	if err != nil {
		t.Fatal(err)
	}
	got := st.GetModelStats()[0]
	if got.GetInferenceCount() != 3 || got.GetInferenceStats().GetSuccess().GetCount() != 3 || got.GetInferenceStats().GetFail().GetCount() != 1 ||
		got.GetInferenceStats().GetComputeInfer().GetNs() == 0 || got.GetLastInference() == 0 {
		t.Errorf("statistics: %v", got)
	}
}

// The server refuses a message above its size limit.
func TestTritonRequestTooLarge(t *testing.T) {
	c := fast()
	c.MaxRequestBytes = 1000
	s := start(t, c)
	_, err := exchangeAll(t.Context(), t, dial(t, s), textRequest("x", strings.Repeat("x", 2000), "", true, nil))
	if status.Code(err) != codes.ResourceExhausted {
		t.Errorf("%v, want %v", err, codes.ResourceExhausted)
	}
}

func TestParseTritonModel(t *testing.T) {
	for in, want := range map[string]TritonModel{
		"vllm": {"vllm", VLLM}, "llama:vllm_2309": {"llama", VLLM2309}, "add_sub": {"add_sub", AddSub},
	} {
		got, err := ParseTritonModel(in)
		if err != nil || got != want {
			t.Errorf("ParseTritonModel(%q) = %v, %v, want %v", in, got, err, want)
		}
		if again, err := ParseTritonModel(got.String()); err != nil || again != got {
			t.Errorf("ParseTritonModel(%q) = %v, %v, want %v", got.String(), again, err, got)
		}
	}
	for _, in := range []string{"", "x", ":vllm", "x:y", "x:vllm:y"} {
		if got, err := ParseTritonModel(in); err == nil {
			t.Errorf("ParseTritonModel(%q) = %v, want an error", in, got)
		}
	}
}
