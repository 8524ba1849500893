package tool

import (
	"slices"
	"testing"

	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// Names are unique and belong to their family; a tool prints a report or writes a result
// file; options are known flags.
func TestDialects(t *testing.T) {
	all := Dialects()
	seen := map[string]bool{}
	for _, tool := range slices.Concat(all.Reports(), all.Results(), all.Compared()) {
		if found := all.Find(tool.Name); found != tool {
			t.Errorf("%s: Find returns %v, another tool of that name", tool.Name, found)
		}
		if f := all.Family(tool.Name); f != tool.Family {
			t.Errorf("%s: family %q, want %q", tool.Name, tool.Family, f)
		}
		if tool.New == nil && tool.Result == nil {
			t.Errorf("%s has neither a report nor a result file", tool.Name)
		}
		seen[tool.Name] = true
	}
	if len(seen) < 27 {
		t.Errorf("%d listed dialects: %v", len(seen), seen)
	}
}

func TestFind(t *testing.T) {
	all := Dialects()
	for name, family := range map[string]string{
		"perf_analyzer": "perf_analyzer", "perf_analyzer-24.03": "perf_analyzer", "perf_analyzer-latest": "perf_analyzer",
		"genai-perf-25.09": "genai-perf", "genai-perf-latest": "genai-perf", "inference-perf": "inference-perf",
		"genai-perf-19.01": "", "perf_analyzer24.03": "", "": "", dialect.Strict: "",
	} {
		got := ""
		if tool := all.Find(name); tool != nil {
			got = tool.Family
		}
		if got != family {
			t.Errorf("Find(%q) is of family %q, want %q", name, got, family)
		}
	}
	for name, want := range map[string]string{"genai_perf": "genai-perf-latest", "trtllm": "trtllm-main", "vllm": "", "x": ""} {
		if got := all.Latest(name); got != want {
			t.Errorf("Latest(%q) = %q, want %q", name, got, want)
		}
	}
	for option, want := range map[string]string{"verbose": "perf_analyzer", "goodput": "", "x": ""} {
		if got := all.OptionOf(option); got != want {
			t.Errorf("OptionOf(%q) = %q, want %q", option, got, want)
		}
	}
}

// The major release of the transformers library follows from what each tool requires.
func TestTransformers(t *testing.T) {
	all := Dialects()
	for name, want := range map[string]int{
		"genai-perf-24.03": 4, "genai-perf-main": 4, "llm_perf-v1": 4, "trtllm-1.0": 4, "trtllm-main": 4,
		"vllm": 5, "sglang": 5, "inference-perf": 5, "aiperf": 4,
	} {
		if got := max(all.Find(name).Transformers, 4); got != want {
			t.Errorf("%s: release %d, want %d", name, got, want)
		}
	}
}
