package explain

import "testing"

func TestFamily(t *testing.T) {
	for _, c := range []struct {
		names []string
		want  string
	}{
		{[]string{"strict"}, "strict"},
		{[]string{"genai-perf-24.03", "genai-perf-24.04", "genai-perf-main"}, "genai-perf-24.03 to main"},
		{[]string{"trtllm-1.0", "trtllm-main"}, "trtllm-1.0 to main"},
		{[]string{"vllm", "sglang"}, "vllm, sglang"},
		{[]string{"genai-perf-main", "vllm"}, "genai-perf-main, vllm"},
		{[]string{"genai-perf-25.08", "genai-perf-main", "trtllm-1.0"}, "genai-perf-25.08 to main, trtllm-1.0"},
	} {
		if got := Family(c.names); got != c.want {
			t.Errorf("Family(%v) = %q, want %q", c.names, got, c.want)
		}
	}
}
