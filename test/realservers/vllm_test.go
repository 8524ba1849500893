//go:build realservers

package realservers

import (
	"os"
	"testing"
)

// oneSlot lets llama.cpp answer one request after another, without a cache of prompts, so that equal requests get equal answers.
var oneSlot = []string{"--slots", "1", "--cache-ram", "0"}

// TestVLLM records the endpoints of one vLLM, which takes half a minute to start.
func TestVLLM(t *testing.T) {
	if os.Getenv("REALSERVERS") != "all" {
		t.Skip("vLLM runs with REALSERVERS=all")
	}
	t.Setenv("VLLM_ENABLE_RESPONSES_API_STORE", "1")
	s := startOpenAI(t, "vllm", "--enable-prompt-tokens-details", "--enable-per-request-metrics", "--enable-scale-out")
	t.Run("completions", func(t *testing.T) { compareCompletions(t, s) })
	t.Run("messages", func(t *testing.T) { compareMessages(t, "vllm", s) })
	t.Run("responses", func(t *testing.T) { compareResponses(t, "vllm", s) })
	t.Run("ids", func(t *testing.T) { checkPromptIDs(t, "vllm", s) })
	t.Run("server details", func(t *testing.T) { compareServerDetails(t, "vllm", s) })
	t.Run("waterfall", func(t *testing.T) { checkWaterfall(t, "vllm", s) })
}
