package tool

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pa-tools/pa/internal/jsonscan"
	"github.com/pa-tools/pa/internal/test/memrun"
	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/explain"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// wordTokens counts the words of a text as tokens.
type wordTokens struct{}

func (wordTokens) Count(text string) int                { return len(strings.Fields(text)) }
func (wordTokens) AddSpecial(ids []uint32) []uint32     { return append(ids, 1) }
func (wordTokens) CountTokens(text []byte) (int, error) { return len(bytes.Fields(text)), nil }

// Definitions of a run are the same whether its reader joins the parts of texts or not.
func TestDefineOfEnvelopes(t *testing.T) {
	const event = `data: {"object":"%s","choices":[{"index":0,"text":"%s","delta":{"content":"%s"},"finish_reason":%s}]}` + "\n\n"
	rng := rand.New(rand.NewPCG(7, 7))
	texts := []string{" a", "b c", "é", "\xff", "東 京", `\n`, `\"x\"`, "", "data: ", "[DONE]", "error"}
	object := "chat.completion.chunk"
	draw := func() string {
		text := texts[rng.IntN(len(texts))]
		one := fmt.Sprintf(event, object, text, text, "null")
		if rng.IntN(2) == 0 {
			own := fmt.Sprintf(`{"id":"%d","object":"%s","created":%d,`, rng.IntN(3), object, 1+rng.IntN(3))
			one = strings.Replace(one, `{"object":"`+object+`",`, own, 1)
		}
		switch rng.IntN(24) {
		case 0:
			return one + fmt.Sprintf(event, object, "d", "d", "null")
		case 1:
			return one[:len(one)/2]
		case 2:
			return one[len(one)/2:]
		case 3:
			return "event: message\n" + one
		case 4:
			return strings.Replace(one, "data: ", "data:", 1)
		case 5:
			return " " + one
		case 6:
			return `event: error` + "\n" + `data: {"error":"` + text + `"}` + "\n\n"
		case 7:
			return fmt.Sprintf(event, text, text, text, "null")
		case 8:
			return ": " + text
		case 9:
			return ""
		}
		return one
	}
	rounds := 24 / testenv.Stride(2)
	for round := range rounds {
		object = []string{"chat.completion.chunk", "text_completion"}[round%2]
		kind, endpoint := "openai", []string{"v1/chat/completions", "v1/completions"}[round%2]
		whole := &memrun.Reader{Header: export.Run{ServiceKind: &kind, Endpoint: &endpoint, Experiments: []export.Experiment{{Mode: "concurrency", Value: "2"}}}}
		var requests []export.Request
		for i := range 30 {
			ns := uint64(1e15 + 1e8*i)
			q := export.Request{StartNS: ns, Inputs: export.Fields{{Name: "payload", Value: export.Text(`{"messages":[{"role":"user","content":"a b"}],"prompt":"a b","stream":true}`)}}}
			for range 2 + rng.IntN(8) {
				ns += 1e6 + uint64(rng.IntN(1e6))
				text := draw()
				if round < rounds/3 { // all of one form
					text = fmt.Sprintf(event, object, "t", "t", "null")
				}
				q.Responses = append(q.Responses, export.Response{RecvNS: ns, Outputs: export.Fields{{Name: "response", Value: export.Text(text)}}})
			}
			q.Responses = append(q.Responses, export.Response{RecvNS: ns + 1e5, Outputs: export.Fields{{Name: "response", Value: export.Text("data: [DONE]\n\n")}}})
			requests = append(requests, q)
		}
		whole.Requests = [][]export.Request{requests}
		parts := &memrun.Reader{Header: whole.Header, Requests: [][]export.Request{envelop(rng, requests)}}
		var tokenizer dialect.Tokenizer
		strict := analyze.Config{}
		if round%3 == 0 {
			tokenizer, strict.Counter = wordTokens{}, wordTokens{}
		}
		define := func(r export.Reader) []explain.Side {
			sides, err := dialect.Define(t.Context(), r, 0, Dialects().Compared(), func(*dialect.Tool) dialect.Config { return dialect.Config{Tokenizer: tokenizer} }, strict)
			if err != nil {
				t.Fatal(err)
			}
			return sides
		}
		if diff := cmp.Diff(define(whole), define(parts), cmpopts.EquateNaNs()); diff != "" {
			t.Fatalf("round %d (-joined +parts):\n%s", round, diff)
		}
	}
}

// envelop returns the requests with the texts of most outputs in an envelope, which is cut at a
// quote or anywhere.
func envelop(rng *rand.Rand, requests []export.Request) []export.Request {
	known := map[string]*export.Envelope{}
	var all []export.Request
	for _, q := range requests {
		responses := make([]export.Response, len(q.Responses))
		for i, p := range q.Responses {
			v := p.Outputs[0].Value
			text := v.Data
			from, to := 0, 0
			if at := bytes.LastIndex(text, []byte(`"content":"`)); at >= 0 && rng.IntN(4) > 0 {
				from = at + len(`"content":"`)
				to = from + max(0, bytes.IndexByte(text[from:], '"'))
			} else if len(text) > 2 {
				from = rng.IntN(len(text))
				to = from + rng.IntN(len(text)-from)
			}
			boundary := func(i int) bool { return i == len(text) || text[i] < 0x80 && (i == 0 || text[i-1] < 0x80) }
			if to > from && jsonscan.IsPlain(text[from:to]) && boundary(from) && boundary(to) {
				key := fmt.Sprint(from, string(text[:from]), string(text[to:]))
				if known[key] == nil {
					known[key] = &export.Envelope{Front: text[:from:from], Back: text[to:]}
				}
				v.Data, v.Envelope = text[from:to:to], known[key]
			}
			p.Outputs = export.Fields{{Name: "response", Value: v}}
			responses[i] = p
		}
		q.Responses = responses
		all = append(all, q)
	}
	return all
}
