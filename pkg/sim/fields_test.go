package sim

import (
	"encoding/json"
	"testing"

	"github.com/pa-tools/pa/pkg/sim/plan"
)

// checkPlan checks that a plan is within the bounds of every request, and that its stream
// can begin.
func checkPlan(t *testing.T, c *Config, p *plan.Plan) {
	t.Helper()
	if p.Choices > maxChoices || p.FaultAfter < 0 {
		t.Fatalf("%d choices, fault after %d", p.Choices, p.FaultAfter)
	}
	if n := p.OutputTokens(); n > 0 { // an answer with text: every choice has the same bounds
		least, most := max(1, min(p.MinTokens, p.Room)), min(c.ContextTokens, p.Room)
		if p.MaxTokens > 0 {
			most = min(most, p.MaxTokens)
		}
		if n < p.Choices*least || n > p.Choices*most {
			t.Fatalf("%d tokens of %+v", n, p.Request)
		}
	}
	for s := range p.Steps() {
		if s.At < 0 || s.Tokens < 1 || s.Choice != 0 {
			t.Fatalf("the first step is %+v", s)
		}
		break
	}
}

func FuzzOpenAIRequest(f *testing.F) {
	for _, body := range []string{
		`{"messages":[{"content":"a b"}],"max_tokens":3,"n":2}`, `{"prompt":["a","b"],"min_tokens":"5","max_tokens":9,"echo":true}`,
		`{"prompt":[[1,2],[3]],"ignore_eos":true,"seed":7,"sim_fault":"reset","sim_fault_after":0}`,
		`{"prompt":"x","ttft_ms":0.5,"itl_ms":"2","prefill_us":1,"vocabulary":"tricky","final":"attached","fail_after":-1}`,
		`{"prompt":null}`, `{"max_tokens":-1e400}`, `[]`, `{"messages":[{"content":[{"text":"a"}]}]}`,
	} {
		f.Add([]byte(body))
	}
	s := &Server{config: Config{}.withDefaults()}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, chat := range []bool{true, false} {
			var q openAIRequest
			if json.Unmarshal(body, &q) != nil {
				return
			}
			a, err := s.openAIPlanRequest(3, &q, chat)
			if err != nil {
				continue
			}
			checkPlan(t, &s.config, plan.New(1, a))
		}
	})
}

func FuzzGenerateRequest(f *testing.F) {
	for _, body := range []string{
		`{"text_input":"a b","stream":true,"sampling_parameters":"{\"max_tokens\":3}"}`, `{"text_input":["a"],"parameters":{"max_tokens":2,"echo":true}}`,
		`{"PROMPT":"x","STREAM":false}`, `{"text_input":"x","max_tokens":2,"stop_words":["a","b"],"temperature":0.5,"id":"7"}`,
		`{"INPUT0":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16],"INPUT1":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]}`,
		`{"INPUT0":{"shape":[2,16],"b64":""},"INPUT1":[]}`, `{"text_input":{"b64":"////fw=="}}`, `{}`, `[]`,
	} {
		f.Add([]byte(body))
	}
	s := &Server{config: Config{}.withDefaults()}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, m := range s.config.TritonModels {
			q, err := generateRequest(body, m.Interface.spec())
			if err != nil {
				continue
			}
			q.Model = m.Name
			j, terr := s.job(3, q)
			if terr != nil {
				if terr.message == "" || terr.httpStatus() < 400 {
					t.Fatalf("error %+v", terr)
				}
				continue
			}
			checkPlan(t, &s.config, j.plan)
			if m.Interface == AddSub && !json.Valid(j.flat(j.outputs)) {
				t.Fatalf("not JSON: %s", j.flat(j.outputs))
			}
		}
	})
}
