package dialect

import (
	"testing"

	"github.com/pa-tools/pa/pkg/export"
)

func TestHints(t *testing.T) {
	run := func(asked string) *export.Run {
		return &export.Run{Meta: &export.RunMeta{AnalysisHints: map[string]string{"dialect": asked, "goodput": "x"}}}
	}
	for _, tt := range []struct {
		asked, name  string
		found, named bool
	}{
		{"", "vllm", true, false},
		{"vllm", "vllm", true, true},
		{"trtllm-1.0", "trtllm-main", true, true},
		{"genai-perf-25.08", "vllm", false, false},
		{"trtllm-main", "vllm", false, false},
	} {
		hints, named := hints(run(tt.asked), tt.name)
		if (hints != nil) != tt.found || named != tt.named {
			t.Errorf("hints for %q, of dialect %s: %v, named %t", tt.asked, tt.name, hints, named)
		}
	}
	if hints, named := hints(&export.Run{}, "vllm"); hints != nil || named {
		t.Errorf("no metadata: %v, %t", hints, named)
	}
}
