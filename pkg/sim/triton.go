package sim

import (
	"fmt"
	"strings"
)

// An Interface is a model's kind and the names of its tensors.
type Interface int

// The interfaces. All models have version 1.
const (
	// VLLM is that of Triton's vLLM backend, decoupled: text_input BYTES[1],
	// stream BOOL[1] (optional, default false), sampling_parameters BYTES[1]
	// (optional, JSON) → text_output BYTES[1], one response per event.
	VLLM Interface = iota + 1
	// VLLM2309 is the same with the names of 23.09, which the "Benchmarking
	// LLM" guide uses: PROMPT, STREAM, SAMPLING_PARAMETERS → TEXT.
	VLLM2309
	// AddSub answers once, in batches of up to 8: INPUT0, INPUT1 INT32[16] →
	// OUTPUT0, the sum, and OUTPUT1, the difference. A request whose INPUT0
	// starts with −1 fails.
	AddSub
)

var interfaceNames = map[Interface]string{VLLM: "vllm", VLLM2309: "vllm_2309", AddSub: "add_sub"}

// String returns the interface's name: vllm, vllm_2309 or add_sub.
func (i Interface) String() string {
	if s, ok := interfaceNames[i]; ok {
		return s
	}
	return fmt.Sprintf("Interface(%d)", int(i))
}

// A TritonModel is a model of the Triton APIs.
type TritonModel struct {
	Name      string
	Interface Interface
}

// DefaultTritonModels returns a model of each interface, named like it.
func DefaultTritonModels() []TritonModel {
	return []TritonModel{{"vllm", VLLM}, {"vllm_2309", VLLM2309}, {"add_sub", AddSub}}
}

// ParseTritonModel reads "NAME:INTERFACE", or an interface's name alone.
func ParseTritonModel(s string) (TritonModel, error) {
	name, of, ok := strings.Cut(s, ":")
	if !ok {
		of = name
	}
	for i, n := range interfaceNames {
		if n == of && name != "" {
			return TritonModel{name, i}, nil
		}
	}
	return TritonModel{}, fmt.Errorf("triton model %q: expected NAME:INTERFACE with vllm, vllm_2309 or add_sub", clip(s))
}

// String returns m in the form that ParseTritonModel reads.
func (m TritonModel) String() string { return m.Name + ":" + m.Interface.String() }

// A Final says how a Triton stream ends.
type Final int

// The ends of a stream.
const (
	// FinalEmpty ends a stream with an empty response that is flagged final. As
	// in Triton it is sent only to requests with the parameter
	// triton_enable_empty_final_response, and never over HTTP.
	FinalEmpty Final = iota + 1
	// FinalAttached flags the last token's response as final.
	FinalAttached
)

// String returns "empty" or "attached".
func (f Final) String() string {
	switch f {
	case FinalEmpty:
		return "empty"
	case FinalAttached:
		return "attached"
	}
	return fmt.Sprintf("Final(%d)", int(f))
}

// ParseFinal is the inverse of String.
func ParseFinal(s string) (Final, error) {
	for f := FinalEmpty; f <= FinalAttached; f++ {
		if s == f.String() {
			return f, nil
		}
	}
	return 0, fmt.Errorf("unknown final %q; expected empty or attached", clip(s))
}
