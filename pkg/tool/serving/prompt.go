package serving

import (
	"strings"

	"github.com/pa-tools/pa/internal/py"
	"github.com/pa-tools/pa/pkg/export"
)

// payload reads the body of a request: model, prompt, streaming, and output length.
func (l *level) payload(q *export.Request) {
	l.body, l.requested = l.parts.JSONPayload(q), -1
	for _, name := range [...]string{"max_completion_tokens", "max_tokens"} {
		if n := count(l.body, name); n >= 0 {
			l.requested = n
			break
		}
	}
	if l.model == "" {
		m, _ := l.body.Member("model")
		l.model = m.Text()
	}
	if l.client == nil {
		_, l.isChat = l.body.Member("messages")
		l.isChat = l.isChat || l.chatEndpoint
		l.client = l.tool.rules.completions
		if l.isChat {
			l.client = l.tool.rules.chat
		}
	}
}

// streamed reports whether the request asked for a streamed answer; if that is unknown,
// whether the answer was streamed.
func (l *level) streamed(q *export.Request) bool {
	if l.args.streaming != nil {
		return *l.args.streaming
	}
	if v, ok := l.body.Member("stream"); ok {
		return v.Truthy()
	}
	if len(q.Responses) != 1 {
		return true
	}
	text := strip(answer(q))
	return text == "" || text[0] != '{'
}

// promptTokens returns the length of a prompt as the tools' data sets count it: with the
// special tokens, without a chat template. A prompt of token ids has its number of ids.
func (l *level) promptTokens(q *export.Request) (int64, error) {
	if q.Stated != nil && q.Stated.InputTokens != nil {
		return *q.Stated.InputTokens, nil
	}
	for _, name := range [...]string{"prompt_token_ids", "prompt"} {
		v, ok := l.body.Member(name)
		if first, _ := v.First(); ok && first.Kind() == py.Number {
			return int64(v.Len()), nil
		}
	}
	v, ok := l.body.Member("messages")
	if !ok {
		v, _ = l.body.Member("prompt")
	}
	return l.tokens(strings.Join(v.Texts("content", "text"), ""), true)
}
