package sim

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/pa-tools/pa/pkg/sim/plan"
)

// What the server states follows from the ledger: the wait until StartedNS, and the due times of the tokens.
func TestServerDetailsFollowLedger(t *testing.T) {
	for _, server := range []string{ServerDetailsVLLM, ServerDetailsSGLang, ServerDetailsLlamaCPP} {
		for _, stream := range []string{"true", "false"} {
			cfg := fast()
			cfg.ServerDetails, cfg.PrefixCache = server, &PrefixCache{BlockTokens: 1}
			cfg.TTFT, cfg.ITL = plan.ConstantDelay(3*time.Millisecond), plan.ConstantDelay(time.Millisecond)
			s := start(t, cfg)
			_, body, err := post(t, s.OpenAIURL()+"/v1/chat/completions", `{"messages":[{"role":"user","content":"a b"}],"max_tokens":3,"stream":`+stream+`,"stream_options":{"include_usage":true}}`)
			if err != nil {
				t.Fatal(err)
			}
			text := string(body)
			if stream == "true" {
				before, _, _ := strings.Cut(text, "\n\ndata: [DONE]")
				text = before[strings.LastIndex(before, "data: ")+len("data: "):]
			}
			var got struct {
				Metrics struct {
					First  float64 `json:"time_to_first_token_ms"`
					Decode float64 `json:"generation_time_ms"`
					Queue  float64 `json:"queue_time_ms"`
				} `json:"metrics"`
				Info struct {
					Queue float64 `json:"queue_time"`
					E2E   float64 `json:"e2e_latency"`
					Sent  float64 `json:"response_sent_to_client_ts"`
				} `json:"meta_info"`
				Timings struct {
					Prompt    float64 `json:"prompt_ms"`
					Predicted float64 `json:"predicted_ms"`
					N         int     `json:"predicted_n"`
				} `json:"timings"`
			}
			if err := json.Unmarshal([]byte(text), &got); err != nil {
				t.Fatalf("%s: %v\n%s", server, err, text)
			}
			e := last(t, s)
			queue := float64(e.StartedNS-e.ReceivedNS) / 1e6
			near := func(what string, got, want float64) {
				if math.Abs(got-want) > 1e-3 {
					t.Errorf("%s, stream %s: %s %v ms, want %v", server, stream, what, got, want)
				}
			}
			switch server {
			case ServerDetailsVLLM:
				near("queue", got.Metrics.Queue, queue)
				near("first token", got.Metrics.First, 3)
				near("decode", got.Metrics.Decode, 2)
			case ServerDetailsSGLang:
				near("queue", got.Info.Queue*1e3, queue)
				near("whole", got.Info.E2E*1e3, queue+5)
				near("sent", got.Info.Sent*1e3-float64(e.StartedNS)/1e6, 5)
			default:
				near("prompt", got.Timings.Prompt, 3)
				near("tokens", got.Timings.Predicted, 2)
				near("number", float64(got.Timings.N), 3)
			}
		}
	}
}

func TestServerDetailsOfSeveralChoices(t *testing.T) {
	cfg, err := ParseAddress("sim://?server_details=vllm&ttft=1ms", nil)
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, cfg)
	_, body, err := post(t, s.OpenAIURL()+"/v1/completions", `{"prompt":"a","n":2,"max_tokens":1}`)
	if err != nil || !strings.HasSuffix(string(body), `,"metrics":null}`) {
		t.Errorf("%v: %s", err, body)
	}
	if _, err := ParseAddress("sim://?server_details=x", nil); err == nil || !strings.Contains(err.Error(), `"x" is none of vllm, sglang, llamacpp`) {
		t.Error(err)
	}
}
