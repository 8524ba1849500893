package sim

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc/status"

	pb "github.com/pa-tools/pa/internal/kserve"
)

// sequenceRequest returns the request for a step of a sequence.
func sequenceRequest(id int64, start, end bool, value int32) *pb.ModelInferRequest {
	return &pb.ModelInferRequest{
		ModelName:  "sequence",
		Inputs:     []*pb.ModelInferRequest_InferInputTensor{{Name: "INPUT", Datatype: "INT32", Shape: []int64{1, 1}}},
		Parameters: map[string]*pb.InferParameter{"sequence_id": intParam(id), "sequence_start": boolParam(start), "sequence_end": boolParam(end)},

		RawInputContents: [][]byte{binary.LittleEndian.AppendUint32(nil, uint32(value))},
	}
}

// Each sequence keeps its own sum from its start to its end. A step out of order is refused
// and changes nothing. All three APIs behave the same.
func TestSequence(t *testing.T) {
	steps := []struct {
		id         int64
		start, end bool
		value      int32
		want       string
	}{
		{1, true, false, 5, "5"},
		{2, true, false, 100, "100"},
		{1, false, false, 7, "12"},
		{1, true, false, 1, "sequence 1 has begun and not ended"},
		{2, false, true, 1, "101"},
		{2, false, true, 1, "sequence 2 must set sequence_start"},
		{1, false, true, 1, "13"},
		{3, true, true, -4, "-4"},
		{3, true, false, 4, "4"},
		{3, false, true, 4, "8"},
		{0, true, true, 4, "must give its sequence_id"},
	}
	unary := func(s *Server) func(*pb.ModelInferRequest) string {
		c := dial(t, s)
		return func(q *pb.ModelInferRequest) string {
			r, err := c.ModelInfer(t.Context(), q)
			if err != nil {
				return status.Convert(err).Message()
			}
			return fmt.Sprint(int32(binary.LittleEndian.Uint32(r.GetRawOutputContents()[0])))
		}
	}
	stream := func(s *Server) func(*pb.ModelInferRequest) string {
		c := dial(t, s)
		return func(q *pb.ModelInferRequest) string {
			all, err := exchangeAll(t.Context(), t, c, q)
			switch {
			case err != nil || len(all) != 1:
				return fmt.Sprint(all, err)
			case all[0].GetErrorMessage() != "":
				return all[0].GetErrorMessage()
			}
			return fmt.Sprint(int32(binary.LittleEndian.Uint32(all[0].GetInferResponse().GetRawOutputContents()[0])))
		}
	}
	overHTTP := func(s *Server) func(*pb.ModelInferRequest) string {
		return func(q *pb.ModelInferRequest) string {
			p := q.GetParameters()
			body := fmt.Sprintf(`{"parameters":{"sequence_id":%d,"sequence_start":%v,"sequence_end":%v},"inputs":[{"name":"INPUT","datatype":"INT32","shape":[1,1],"data":[%d]}]}`,
				p["sequence_id"].GetInt64Param(), p["sequence_start"].GetBoolParam(), p["sequence_end"].GetBoolParam(), int32(binary.LittleEndian.Uint32(q.GetRawInputContents()[0])))
			_, answer, err := post(t, s.TritonHTTPURL()+"/v2/models/sequence/infer", body)
			if err != nil {
				t.Fatal(err)
			}
			_, data, ok := strings.Cut(string(answer), `"data":[`)
			if !ok {
				return string(answer)
			}
			return strings.TrimSuffix(data, "]}]}")
		}
	}
	for name, way := range map[string]func(*Server) func(*pb.ModelInferRequest) string{"unary": unary, "stream": stream, "HTTP": overHTTP} {
		s := start(t, fast())
		send := way(s)
		for i, step := range steps {
			got := send(sequenceRequest(step.id, step.start, step.end, step.value))
			if got != step.want && (len(step.want) < 5 || !strings.Contains(got, step.want)) {
				t.Errorf("%s: step %d: %s, want %s", name, i, got, step.want)
			}
		}
		for i, e := range s.Ledger() {
			if step := steps[i]; e.End == EndOK && (e.SequenceID != uint64(step.id) || e.SequenceStart != step.start || e.SequenceEnd != step.end) {
				t.Errorf("%s: ledger %d, %v, %v, want %+v", name, e.SequenceID, e.SequenceStart, e.SequenceEnd, step)
			}
		}
	}
}
