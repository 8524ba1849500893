package sim

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/pkg/sim/plan"
)

// This file serves embeddings and rankings. The answer is due TTFT + prefill after the
// start, and its numbers are functions of the texts.

// embeddingSize is the length of every embedding.
const embeddingSize = 8

// A vectorRequest is the body of a request for embeddings or a ranking.
type vectorRequest struct {
	requestFields
	Model     string          `json:"model"`
	Input     json.RawMessage `json:"input"`     // of embeddings
	Query     json.RawMessage `json:"query"`     // a text, or {"text": …}
	Passages  []textOrObject  `json:"passages"`  // NIM's v1/ranking
	Documents []textOrObject  `json:"documents"` // v1/rerank, v2/rerank
	Texts     []textOrObject  `json:"texts"`     // TEI's rerank
}

// A textOrObject is "…" or {"text": "…"}.
type textOrObject string

// UnmarshalJSON implements json.Unmarshaler.
func (t *textOrObject) UnmarshalJSON(b []byte) error {
	var object struct {
		Text *string `json:"text"`
	}
	if json.Unmarshal(b, (*string)(t)) == nil {
		return nil
	}
	if json.Unmarshal(b, &object) != nil || object.Text == nil {
		return errors.New(`expected a text or {"text": …}`)
	}
	*t = textOrObject(*object.Text)
	return nil
}

// serveVectors answers a request for embeddings or a ranking.
func serveVectors(x *exchange) {
	s := x.s
	var q vectorRequest
	if !x.parse(&q) {
		return
	}
	_, ok := x.resolveModel(&q.Model, "vec")
	if !ok {
		return
	}
	texts, render, err := q.parse(s, strings.Trim(x.r.URL.Path, "/"))
	if err != nil {
		x.fail(http.StatusBadRequest, err.Error())
		return
	}
	count := 0
	for _, t := range texts {
		count += s.countTokens(t)
	}
	a, err := s.planRequest(x.index, &q.requestFields, []int{count}, []string{""}, 1)
	p, ok := x.planned(a, err, plan.NewTextless)
	if !ok {
		return
	}
	defer s.release()
	x.answerWhole(p, render(q.Model, p.InputTokens), p.FirstTokenAt())
}

// parse returns the texts of a request, and a function that renders the answer.
func (q *vectorRequest) parse(s *Server, path string) (texts []string, render func(model string, tokens int) []byte, err error) {
	if strings.HasSuffix(path, "embeddings") {
		_, texts, err = s.completionPrompts(q.Input)
		if err != nil {
			return nil, nil, fmt.Errorf("input: %w", err)
		}
		return texts, func(model string, tokens int) []byte { return embeddings(model, texts, tokens) }, nil
	}
	var query textOrObject
	if len(q.Query) == 0 || json.Unmarshal(q.Query, &query) != nil {
		return nil, nil, errors.New(`query: expected a text or {"text": …}`)
	}
	all, member := q.Documents, "documents"
	switch {
	case strings.HasSuffix(path, "ranking"):
		all, member = q.Passages, "passages"
	case len(q.Texts) > 0:
		all = q.Texts
	}
	if len(all) == 0 {
		return nil, nil, fmt.Errorf("%s: there are none", member)
	}
	texts = []string{string(query)}
	for _, t := range all {
		texts = append(texts, string(t))
	}
	bare := len(q.Texts) > 0 && member == "documents"
	return texts, func(model string, tokens int) []byte { return ranking(model, member, bare, texts[1:], tokens) }, nil
}

// scoreText returns a number from 0 to 1 that depends on the text and a position.
func scoreText(text string, place int) float64 {
	h := plan.Mix(uint64(place))
	for _, c := range []byte(text) {
		h = plan.Mix(h ^ uint64(c))
	}
	return math.Round(float64(h>>40)/float64(1<<24)*1e6) / 1e6
}

// embeddings returns the answer of v1/embeddings.
func embeddings(model string, texts []string, tokens int) []byte {
	b := appendString([]byte(`{"object":"list","model":`), model)
	b = append(b, `,"data":[`...)
	for i, text := range texts {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"index":`...)
		b = strconv.AppendInt(b, int64(i), 10)
		b = append(b, `,"object":"embedding","embedding":[`...)
		for k := range embeddingSize {
			if k > 0 {
				b = append(b, ',')
			}
			b = strconv.AppendFloat(b, scoreText(text, k), 'g', -1, 64)
		}
		b = append(b, "]}"...)
	}
	b = append(b, `],"usage":`...)
	return append(appendUsage(b, tokens, 0, -1), '}')
}

// ranking returns the answer of v1/ranking and rerank. bare selects TEI's format, a list.
func ranking(model, member string, bare bool, texts []string, tokens int) []byte {
	list, score := "results", "relevance_score"
	switch {
	case bare:
		score = "score"
	case member == "passages":
		list, score = "rankings", "logit"
	}
	var b []byte
	if !bare {
		b = appendString([]byte(`{"model":`), model)
		b = append(b, `,"`+list+`":`...)
	}
	b = append(b, '[')
	for i, text := range texts {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"index":`...)
		b = strconv.AppendInt(b, int64(i), 10)
		b = append(b, `,"`+score+`":`...)
		b = append(strconv.AppendFloat(b, scoreText(text, i), 'g', -1, 64), '}')
	}
	b = append(b, ']')
	if bare {
		return b
	}
	b = append(b, `,"usage":`...)
	return append(appendUsage(b, tokens, 0, -1), '}')
}
