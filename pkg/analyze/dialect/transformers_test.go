package dialect_test

import (
	"testing"

	"github.com/pa-tools/pa/pkg/analyze/dialect"
)

func TestTransformersRelease(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int{
		"": 4, "strict": 4, "genai-perf-24.03": 4, "genai-perf-main": 4, "trtllm-1.0": 4, "trtllm-main": 4, "llm_perf-v1": 4,
		"perf_analyzer": 4, "aiperf": 4, "vllm": 5, "sglang": 5, "inference-perf": 5,
	} {
		if got := dialect.TransformersRelease(name); got != want {
			t.Errorf("TransformersRelease(%q) = %d, want %d", name, got, want)
		}
	}
}
