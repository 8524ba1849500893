package kserve

import "github.com/pa-tools/pa/pkg/export"

// Names of parameters that Triton gives a meaning.
const (
	// ParamFinal, a bool of a response: no more responses to this request.
	ParamFinal = "triton_final_response"
	// ParamEmptyFinal, a bool of a request: send the final flag also without outputs.
	ParamEmptyFinal = "triton_enable_empty_final_response"
	// ParamBinaryOutput, a bool of an HTTP request: all outputs in binary.
	ParamBinaryOutput = "binary_data_output"
	// The place of a request in a sequence: its id, an int, and whether it is the
	// first and the last one, bools.
	ParamSequenceID    = "sequence_id"
	ParamSequenceStart = "sequence_start"
	ParamSequenceEnd   = "sequence_end"

	paramBinary     = "binary_data"      // bool of a requested output
	paramBinarySize = "binary_data_size" // int of a tensor in binary
)

// A Tensor is one input or output.
type Tensor struct {
	Name     string
	Datatype Datatype
	Shape    []int64
	Data     []byte // raw, see the package comment
	// Binary reports that over HTTP the data follows the JSON instead of being text
	// in it. The data of FP16, BF16 and unknown types always follows. gRPC ignores
	// Binary.
	Binary bool
	// Shared, if not nil, is the place of an input's data in shared memory; Data is
	// then empty.
	Shared *Shared
}

// A Param is a named parameter. Value is a bool, an int64, a uint64, a float64
// or a string.
type Param struct {
	Name  string
	Value any
}

// A RequestedOutput names an output that the client requests.
type RequestedOutput struct {
	Name   string
	Binary bool // HTTP: after the JSON
	Shared *Shared
}

// A Request asks for one inference. Over HTTP model and version are in the
// path, not in the message.
type Request struct {
	Model, Version, ID string
	Params             []Param
	Inputs             []Tensor
	Outputs            []RequestedOutput // empty asks for all
}

// A Response is one answer. Its parse methods overwrite all of it and reuse its slices. The
// tensors' Data aliases the parsed bytes if the transport carries raw data.
type Response struct {
	Model, Version, ID string
	Params             []Param
	Outputs            []Tensor
	// Error is the error_message of a stream's message, or the error member
	// of an HTTP body.
	Error string
}

// Final returns the final flag of the response; ok is false if it has none.
func (r *Response) Final() (final, ok bool) {
	for _, p := range r.Params {
		if p.Name == ParamFinal {
			final, ok = p.Value.(bool)
			return final, ok
		}
	}
	return false, false
}

// Fields returns the outputs as perf_analyzer exports them (see [Value]): first the
// outputs called names in that order, "" for one that the response lacks, then the
// others in the order of the response. The error is about the first output that cannot
// be read; its field is "".
func (r *Response) Fields(names []string) (export.Fields, error) {
	f := make(export.Fields, 0, max(len(names), len(r.Outputs)))
	var first error
	add := func(name string, t *Tensor) {
		v := export.Value{Text: true, Data: []byte{}}
		if t != nil {
			got, err := Value(t.Datatype, t.Data)
			if err == nil {
				v = got
			} else if first == nil {
				first = tensorError("output", name, err)
			}
		}
		f = append(f, export.Field{Name: name, Value: v})
	}
	for _, name := range names {
		add(name, r.output(name))
	}
	for i := range r.Outputs {
		if _, ok := f.Get(r.Outputs[i].Name); !ok {
			add(r.Outputs[i].Name, &r.Outputs[i])
		}
	}
	return f, first
}

func (r *Response) output(name string) *Tensor {
	for i := range r.Outputs {
		if r.Outputs[i].Name == name {
			return &r.Outputs[i]
		}
	}
	return nil
}

// reset empties r for a parse, keeping its slices.
func (r *Response) reset() {
	*r = Response{Params: r.Params[:0], Outputs: r.Outputs[:0]}
}

// grow appends an empty tensor to ts and reuses the Shape slice in its spare capacity.
func grow(ts []Tensor) []Tensor {
	if len(ts) == cap(ts) {
		return append(ts, Tensor{})
	}
	ts = ts[:len(ts)+1]
	t := &ts[len(ts)-1]
	*t = Tensor{Shape: t.Shape[:0]}
	return ts
}
