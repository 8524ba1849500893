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

// This file serves embeddings, rankings, and vLLM's pooling, classify and score. The answer is due TTFT + prefill after the
// start, and its numbers are functions of the texts.

// embeddingSize is the length of every embedding.
const embeddingSize = 8

// A vectorRequest is the body of a request for an answer of numbers.
type vectorRequest struct {
	requestFields
	Model     string          `json:"model"`
	Input     json.RawMessage `json:"input"`     // of embeddings, pooling and classify
	Messages  []openAIMessage `json:"messages"`  // of pooling and classify, instead of Input
	Query     json.RawMessage `json:"query"`     // a text, or {"text": …}
	Passages  []textOrObject  `json:"passages"`  // NIM's v1/ranking
	Documents []textOrObject  `json:"documents"` // v1/rerank, v2/rerank
	Texts     []textOrObject  `json:"texts"`     // TEI's rerank
	Text1     oneOrMany       `json:"text_1"`    // score: text_1 and text_2, or queries and documents
	Text2     oneOrMany       `json:"text_2"`
	Queries   oneOrMany       `json:"queries"`
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

// oneOrMany is a text, or a list of texts.
type oneOrMany []string

// UnmarshalJSON implements json.Unmarshaler.
func (t *oneOrMany) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		*t = oneOrMany{one}
		return nil
	}
	return json.Unmarshal(b, (*[]string)(t))
}

// serveVectors answers a request for an answer of numbers.
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
	form, listed := vectorForms[path[strings.LastIndexByte(path, '/')+1:]]
	switch {
	case form.pairs:
		texts, err = q.pairs()
	case form.chat && len(q.Messages) > 0:
		texts, err = q.conversation()
	case listed:
		if _, texts, err = s.completionPrompts(q.Input); err != nil {
			err = fmt.Errorf("input: %w", err)
		}
	}
	if listed {
		return texts, func(model string, tokens int) []byte { return form.render(model, texts, tokens) }, err
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
		return nil, nil, fmt.Errorf("%s: expected at least one text", member)
	}
	texts = []string{string(query)}
	for _, t := range all {
		texts = append(texts, string(t))
	}
	bare := len(q.Texts) > 0 && member == "documents"
	return texts, func(model string, tokens int) []byte { return ranking(model, member, bare, texts[1:], tokens) }, nil
}

// pairs returns the pairs of texts that a request wants scores of, each as one text. One text on the left goes with
// each on the right; otherwise both sides have as many.
func (q *vectorRequest) pairs() (texts []string, err error) {
	left, right, names := q.Text1, q.Text2, [2]string{"text_1", "text_2"}
	if left == nil && q.Queries != nil {
		left, names = q.Queries, [2]string{"queries", "documents"}
		for _, d := range q.Documents {
			right = append(right, string(d))
		}
	}
	switch {
	case len(left) == 0:
		return nil, fmt.Errorf("%s: expected at least one text", names[0])
	case len(right) == 0:
		return nil, fmt.Errorf("%s: expected at least one text", names[1])
	case len(left) > 1 && len(left) != len(right):
		return nil, fmt.Errorf("%s: expected one, or as many as %s", names[0], names[1])
	}
	for i, text := range right {
		texts = append(texts, left[i%len(left)]+" "+text)
	}
	return texts, nil
}

// conversation returns the texts of the messages as one text.
func (q *vectorRequest) conversation() (texts []string, err error) {
	for i, m := range q.Messages {
		all, err := contentTexts(m.Content)
		if err != nil {
			return nil, fmt.Errorf("messages[%d].content: %w", i, err)
		}
		texts = append(texts, all...)
	}
	return []string{strings.Join(texts, " ")}, nil
}

// scoreText returns a number from 0 to 1 that depends on the text and a position.
func scoreText(text string, place int) float64 {
	h := plan.Mix(uint64(place))
	for _, c := range []byte(text) {
		h = plan.Mix(h ^ uint64(c))
	}
	return math.Round(float64(h>>40)/float64(1<<24)*1e6) / 1e6
}

// A vectorForm is the form of an answer that has an element for each text.
type vectorForm struct {
	head  string // the members of an element up to the numbers
	size  int    // count of the numbers in a list; 0 for one number
	tail  string // the members after the numbers
	chat  bool   // a request can hold messages
	pairs bool   // a text is a pair
}

// vectorForms are the forms of answers by the last part of the path.
var vectorForms = map[string]vectorForm{
	"embeddings": {head: `"object":"embedding","embedding":`, size: embeddingSize},
	"pooling":    {head: `"object":"pooling","data":`, size: embeddingSize, chat: true},
	"classify":   {head: `"label":"LABEL_0","probs":`, size: 2, tail: `,"num_classes":2`, chat: true},
	"score":      {head: `"object":"score","score":`, pairs: true},
}

// render returns the answer for texts.
func (f vectorForm) render(model string, texts []string, tokens int) []byte {
	b := appendString([]byte(`{"object":"list","model":`), model)
	b = append(b, `,"data":[`...)
	for i, text := range texts {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"index":`...)
		b = append(strconv.AppendInt(b, int64(i), 10), ',')
		b = append(b, f.head...)
		if f.size == 0 {
			b = strconv.AppendFloat(b, scoreText(text, 0), 'g', -1, 64)
		} else {
			b = append(b, '[')
			for k := range f.size {
				if k > 0 {
					b = append(b, ',')
				}
				b = strconv.AppendFloat(b, scoreText(text, k), 'g', -1, 64)
			}
			b = append(b, ']')
		}
		b = append(append(b, f.tail...), '}')
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
