package sim

import (
	"fmt"
	"strings"
)

// An Interface defines the behavior of a model and its tensors.
type Interface int

// The interfaces. All models have version 1. Language models are decoupled: with stream true
// they send one response per event. Inputs in brackets are optional. Shapes are [1] unless
// stated. Further optional inputs of the real backends are accepted and ignored.
const (
	// VLLM is the interface of Triton's vLLM backend: text_input BYTES, [stream BOOL],
	// [sampling_parameters BYTES, JSON] → text_output BYTES, the new text.
	// [exclude_input_in_output BOOL] false echoes the prompt.
	// [return_num_input_tokens BOOL], [return_num_output_tokens BOOL] and
	// [return_finish_reason BOOL] add num_input_tokens UINT32 (a scalar, shape
	// []), num_output_tokens UINT32 (of this response) and finish_reason BYTES
	// ("None" until the last).
	VLLM Interface = iota + 1
	// VLLM2309 is the interface of the vLLM backend of release 23.09, which the
	// "Benchmarking LLM" guide uses: PROMPT BYTES, [STREAM BOOL], [SAMPLING_PARAMETERS BYTES] → TEXT.
	VLLM2309
	// TensorRTLLM is the interface of TensorRT-LLM's text models, batched, so that all
	// shapes are [1,1]: text_input BYTES, max_tokens INT32, [stream BOOL],
	// [min_tokens INT32] or [min_length INT32], [return_num_input_tokens BOOL],
	// [return_num_output_tokens BOOL] → text_output BYTES, the new text,
	// num_input_tokens and num_output_tokens INT32.
	TensorRTLLM
	// AddSub answers once, in batches of up to 8: INPUT0, INPUT1 INT32[16] →
	// OUTPUT0, the sum, and OUTPUT1, the difference. A request whose INPUT0
	// starts with −1 fails.
	AddSub
	// Sequence keeps state: INPUT INT32[1] → OUTPUT INT32[1], the sum of the
	// sequence so far, one request at a time. Requests have Triton's parameters
	// sequence_id, sequence_start and sequence_end. The first request of a sequence
	// is refused without sequence_start, and every other one with it.
	Sequence
)

// interfaces holds the name of each interface and a summary of its tensors.
var interfaces = map[Interface]struct{ name, takes string }{
	VLLM:        {"vllm", "text_input → text_output, streamed, as vLLM's backend"},
	VLLM2309:    {"vllm_2309", "PROMPT → TEXT, streamed, as vLLM's backend of 23.09"},
	TensorRTLLM: {"tensorrtllm", "text_input, max_tokens → text_output, as TensorRT-LLM's"},
	AddSub:      {"add_sub", "INPUT0, INPUT1 → OUTPUT0, OUTPUT1, sum and difference"},
	Sequence:    {"sequence", "INPUT → OUTPUT, the sum of a sequence; keeps state"},
}

// String returns the interface's name: vllm, vllm_2309, tensorrtllm, add_sub or
// sequence.
func (i Interface) String() string {
	if known, ok := interfaces[i]; ok {
		return known.name
	}
	return fmt.Sprintf("Interface(%d)", int(i))
}

// Takes returns a summary of the inputs and outputs of the interface.
func (i Interface) Takes() string { return interfaces[i].takes }

// A TritonModel is a model of the Triton APIs.
type TritonModel struct {
	Name      string
	Interface Interface
}

// DefaultTritonModels returns a model of each interface: vllm, vllm_2309,
// ensemble (TensorRTLLM), add_sub and sequence.
func DefaultTritonModels() []TritonModel {
	return []TritonModel{{"vllm", VLLM}, {"vllm_2309", VLLM2309}, {"ensemble", TensorRTLLM}, {"add_sub", AddSub}, {"sequence", Sequence}}
}

// ParseTritonModel reads "NAME:INTERFACE", or an interface's name alone.
func ParseTritonModel(s string) (TritonModel, error) {
	name, iface, ok := strings.Cut(s, ":")
	if !ok {
		iface = name
	}
	for i, known := range interfaces {
		if known.name == iface && name != "" {
			return TritonModel{name, i}, nil
		}
	}
	return TritonModel{}, fmt.Errorf("triton model %q: expected NAME:INTERFACE with vllm, vllm_2309, tensorrtllm, add_sub or sequence", clip(s))
}

// String returns m in the form that ParseTritonModel reads.
func (m TritonModel) String() string { return m.Name + ":" + m.Interface.String() }
