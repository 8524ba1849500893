package infperf

import (
	"strings"

	"github.com/pa-tools/pa/internal/py"
	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// requestValues holds the values of a request that succeeded.
type requestValues struct {
	*answer
	streamed   bool
	prompt     float64   // tokens as the server counts, or else the client
	output     int64     // tokens as the client counts
	tokenTimes []float64 // of each token: the time of its chunk
	untimed    bool      // tokenTimes is not known
	cachedIn   float64   // tokens
}

// measure measures a request that succeeded.
func (w *writer) measure(q *export.Request) (*requestValues, error) {
	a := &w.one
	m := &requestValues{answer: a, tokenTimes: []float64{}}
	if q.Stated != nil && q.NoOutputs || q.Stated != nil && q.Stated.OutputTokens != nil {
		w.stated(m, q)
		return m, nil
	}
	tok := w.cfg.Tokenizer
	if tok == nil {
		return nil, dialect.ErrNoTokenizer
	}
	m.streamed = w.streamed()
	if m.streamed {
		m.output = int64(tok.Count(strings.Join(a.texts, "")))
		m.timeTokens(tok.Count)
	} else {
		m.output = int64(tok.Count(a.unstreamed()))
	}
	m.cachedIn = a.cached()
	prompt, ok := a.counted("prompt_tokens", "input_tokens")
	if !ok {
		prompt = w.promptTokens(q)
	}
	m.prompt = prompt
	return m, nil
}

// timeTokens gives each token the time of its chunk. count counts the tokens of a text.
func (m *requestValues) timeTokens(count func(text string) int) {
	for i, text := range m.texts {
		for range count(text) {
			m.tokenTimes = append(m.tokenTimes, m.times[i])
		}
	}
}

// streamed reports whether the answer is a stream.
func (w *writer) streamed() bool {
	if w.cfg.Streaming != nil {
		return *w.cfg.Streaming
	}
	return !strings.HasPrefix(strings.TrimSpace(string(w.one.raw[:min(len(w.one.raw), 64)])), "{")
}

// stated sets the values that the result file of another tool states.
func (w *writer) stated(m *requestValues, q *export.Request) {
	s, a := q.Stated, m.answer
	lacksTexts := q.NoOutputs
	if lacksTexts {
		for i := range q.Responses {
			if p := &q.Responses[i]; !p.Final || i == 0 || s.TokenEvents != nil && int64(i) < *s.TokenEvents {
				a.times = append(a.times, seconds(p.RecvNS))
			}
		}
	}
	m.streamed = len(a.times) > 0
	// The client's counts, or else the server's.
	if n := s.CountedOutput; n != nil {
		m.output = *n
	} else if n := s.OutputTokens; n != nil {
		m.output = *n
	}
	if s.InputTokens != nil {
		m.prompt = float64(*s.InputTokens)
	}
	ofClient := s.CountedOutput != nil && s.OutputTokens != nil && *s.CountedOutput == *s.OutputTokens
	if len(a.usage) == 0 && !ofClient && s.InputTokens != nil && s.OutputTokens != nil {
		a.usage = py.Object{
			{Name: "prompt_tokens", Value: *s.InputTokens},
			{Name: "completion_tokens", Value: *s.OutputTokens},
			{Name: "total_tokens", Value: stat.SaturatingAdd(*s.InputTokens, *s.OutputTokens)},
		}
	}
	switch tok := w.cfg.Tokenizer; {
	case m.output == int64(len(a.times)): // one token per chunk
		m.tokenTimes = append(m.tokenTimes, a.times...)
	case tok != nil && !lacksTexts:
		m.timeTokens(tok.Count)
	default:
		m.untimed = m.streamed
		if m.untimed {
			w.untimed++
		}
	}
}

// object returns the member response_metrics.
func (m *requestValues) object() py.Object {
	var usage any
	if len(m.usage) > 0 {
		usage = m.usage
	}
	o := py.Object{{Name: "output_tokens", Value: m.output}, {Name: "server_usage", Value: usage}}
	if !m.streamed {
		return o
	}
	return append(
		o,
		py.Member{Name: "response_chunks", Value: m.chunks},
		py.Member{Name: "chunk_times", Value: m.times},
		py.Member{Name: "output_token_times", Value: m.tokenTimes},
	)
}

// add adds a request to the sums.
func (s *sums) add(m *requestValues, start, end float64, body any) {
	latency := end - start
	s.latency = append(s.latency, latency)
	perToken := 0.0
	if m.output > 0 {
		perToken = latency / float64(m.output)
	}
	s.perToken = append(s.perToken, perToken)
	if t := m.tokenTimes; len(t) > 1 {
		s.ttft = append(s.ttft, t[0]-start)
		if m.output > 1 {
			s.tpot = append(s.tpot, (t[len(t)-1]-t[0])/float64(m.output-1))
		}
		for i := 1; i < len(t); i++ {
			s.gaps = append(s.gaps, t[i]-t[i-1])
		}
	}
	if text, ok := body.(string); ok {
		s.sizes = append(s.sizes, float64(len(text)))
	} else {
		s.lacksSizes = true
	}
	s.prompts = append(s.prompts, m.prompt)
	s.cached += m.cachedIn
	s.lengths = append(s.lengths, float64(m.output))
	if _, ok := m.counted("prompt_tokens", "input_tokens"); !ok {
		s.noPrompt++
	}
	output, ok := m.counted("completion_tokens", "output_tokens")
	if !ok {
		output = float64(m.output)
		s.noOutput++
	} else if expected, ok := m.counted("completion_tokens"); ok && len(m.chunks) > 0 && !m.untimed && float64(len(m.tokenTimes)) != expected {
		s.mismatched++
	}
	s.outputs = append(s.outputs, output)
}

// promptTokens counts the tokens of the prompt or of each message, with the special
// tokens around it. It is for answers without the server's count.
func (w *writer) promptTokens(q *export.Request) float64 {
	body := dialect.Payload(q)
	n, tok := 0, w.cfg.Tokenizer
	count := func(text string) {
		if text != "" {
			n += len(tok.AddSpecial(make([]uint32, tok.Count(text))))
		}
	}
	prompt, ok := body.Member("prompt")
	if special, there := body.Member("add_special_tokens"); there && !special.Truthy() {
		return float64(tok.Count(prompt.Text()))
	}
	if ok {
		count(prompt.Text())
	}
	messages, _ := body.Member("messages")
	messages.Elements(func(_ int, m py.Value) bool {
		content, _ := m.Member("content")
		count(content.Text())
		content.Elements(func(_ int, part py.Value) bool {
			text, _ := part.Member("text")
			count(text.Text())
			return true
		})
		return true
	})
	return float64(n)
}
