package dialect

import "strings"

// TransformersRelease returns the major release of the transformers library, 4 or 5,
// that the tool of a dialect counts tokens with. Release 5 reads some tokenizers by
// rules of its own (see package tokenizer). The library follows from what each tool
// requires:
//
//	genai-perf-*     any release; 5.0 appeared after the last GenAI-Perf: 4
//	llm_perf-*       any release, scripts of September 2024: 4
//	trtllm-*         TensorRT-LLM 1.0 to 1.2 require 4.53 to 4.57: 4
//	vllm             vllm 0.33.0 requires >=5.16.1,<5.21: 5
//	sglang           sglang 0.5.23 requires 5.19.0: 5
//	inference-perf   inference-perf 0.7.0 requires 5.13.0: 5
//	aiperf           aiperf 0.13.0 requires >=4.56; its recorded runs counted as 4 does: 4
//
// A name that is no dialect's has release 4, as strict reports have.
func TransformersRelease(dialect string) int {
	tool, _, _ := strings.Cut(dialect, "-")
	switch tool {
	case "vllm", "sglang", "inference":
		return 5
	}
	return 4
}
