package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/memrun"
	"github.com/pa-tools/pa/internal/test/schematest"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/export"
)

// JSON of sessions agrees with the schema, with and without known prompts, limited cache and sessions.
func TestSessionsJSON(t *testing.T) {
	request := func(id uint64, session, agent string) export.Request {
		q := memrun.OpenAI(memrun.Delta("a"), memrun.Delta(" b"), `data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":1}}}`+"\n\n", memrun.Done)
		q.ID, q.HasMeta, q.Status, q.StartNS = id, true, export.StatusOK, id*1000
		for i := range q.Responses {
			q.Responses[i].RecvNS = q.StartNS + uint64(i+1)*100
		}
		q.SessionID, q.Agent, q.Turn = session, agent, int(id)
		if agent != "" {
			q.Depth = 1
		}
		q.Inputs = export.Fields{{Name: "payload", Value: export.Value{Text: true, Data: []byte(`{"messages":[{"role":"user","content":"a b c"}],"max_tokens":2,"ignore_eos":true}`)}}}
		return q
	}
	bytesOf := func(dst []uint32, text []byte) ([]uint32, error) {
		for _, b := range text {
			dst = append(dst, uint32(b))
		}
		return dst, nil
	}
	schema, otel := schematest.Open(t, "report.schema.json"), schematest.Open(t, "report-otel.schema.json")
	for name, c := range map[string]struct {
		session string
		cfg     figure.SessionsConfig
		has     string
	}{
		"tokens":      {"s", figure.SessionsConfig{Encode: bytesOf, CacheBlock: 1, CacheTokens: 4, GPUs: 2}, `"possible_tokens_limited": 4`},
		"no tokens":   {"s", figure.SessionsConfig{}, `"why": "the tokens of the prompts are not known: --tokenizer"`},
		"no sessions": {"", figure.SessionsConfig{Encode: bytesOf}, `"why": "no request names a session (session_id)"`},
	} {
		agent := ""
		if c.session != "" {
			agent = "x"
		}
		r := memrun.New("openai", []export.Request{request(1, c.session, ""), request(2, c.session, agent)})
		rep, err := analyze.Run(t.Context(), r, analyze.Config{Sessions: &c.cfg, Counter: memrun.Words{}})
		if err != nil {
			t.Fatal(err)
		}
		in := Input{Name: "run.json", Report: rep}
		var b bytes.Buffer
		if err := JSON(in)(&b); err != nil {
			t.Fatal(err)
		}
		if err := schema.Check(t, b.Bytes()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !strings.Contains(b.String(), c.has) {
			t.Errorf("%s: no %s in\n%s", name, c.has, b.String())
		}
		b.Reset()
		if err := OTelJSON(in)(&b); err != nil {
			t.Fatal(err)
		}
		if err := otel.Check(t, b.Bytes()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
