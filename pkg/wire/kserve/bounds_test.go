package kserve

import (
	"fmt"
	"strings"
	"testing"
)

// Messages whose parts would take far more memory than their bytes are errors;
// the same with as many parts as allowed are not.
func TestBounds(t *testing.T) {
	tensors := func(n int) Response {
		r := Response{}
		for i := range n {
			r.Outputs = append(r.Outputs, Tensor{Name: fmt.Sprint("T", i), Datatype: BOOL, Shape: []int64{1}, Data: []byte{1}})
		}
		return r
	}
	params := func(n int) Response {
		r := Response{}
		for i := range n {
			r.Params = append(r.Params, Param{fmt.Sprint("P", i), true})
		}
		return r
	}
	rank := func(n int) Response {
		r := tensors(1)
		r.Outputs[0].Shape = make([]int64, n)
		return r
	}
	for _, tt := range []struct {
		name  string
		build func(n int) Response
		most  int
	}{
		{"tensors", tensors, maxTensors},
		{"parameters", params, maxParams},
		{"dimensions", rank, maxRank},
	} {
		want := fmt.Sprintf("more than %d %s", tt.most, tt.name)
		for n, tooMany := range map[int]bool{tt.most: false, tt.most + 1: true} {
			in := tt.build(n)
			var got Response
			body, jsonBytes := in.AppendHTTP(nil)
			for transport, err := range map[string]error{
				"HTTP": got.ParseHTTP(body, jsonBytes),
				"gRPC": got.ParseProto(in.AppendProto(nil)),
			} {
				if (err != nil) != tooMany || tooMany && !strings.HasSuffix(err.Error(), want) {
					t.Errorf("%d %s over %s: %v; want an error: %v", n, tt.name, transport, err, tooMany)
				}
			}
		}
	}
}
