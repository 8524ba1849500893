package aiperf

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/internal/py"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// promptOf returns the texts of the prompt, joined by blanks; ok is false if there are none.
func promptOf(q *export.Request) (text string, ok bool) {
	if v, ok := q.Inputs.Get("text_input"); ok && v.Text {
		return string(v.Data), true
	}
	v, ok := q.Inputs.Get("payload")
	if !ok {
		return "", false
	}
	var body struct {
		Messages []struct{ Content any }
		Prompt   any
		Input    any
	}
	if json.Unmarshal(v.Data, &body) != nil {
		return "", false
	}
	var all []string
	for _, m := range body.Messages {
		collectTexts(m.Content, &all)
	}
	collectTexts(body.Prompt, &all)
	collectTexts(body.Input, &all)
	return strings.Join(all, " "), len(all) > 0
}

// collectTexts collects the texts of a content, a prompt, or lists of them.
func collectTexts(v any, all *[]string) {
	switch v := v.(type) {
	case string:
		*all = append(*all, v)
	case []any:
		for _, e := range v {
			collectTexts(e, all)
		}
	case map[string]any:
		collectTexts(v["text"], all)
	}
}

// requestedTokens returns the requested number of output tokens; ok is false if the request
// sets none. Requests name it by their API; the newest name comes first.
func requestedTokens(q *export.Request) (n int64, ok bool) {
	body := dialect.Payload(q)
	for _, name := range [...]string{"max_completion_tokens", "max_tokens", "max_output_tokens"} {
		if v, there := body.Member(name); there && v.Kind() == py.Number {
			f, err := strconv.ParseFloat(v.Raw(), 64) // JSON may write 1000 as 1e3 or 1000.0
			return int64(f), err == nil && f >= 1 && f < 1<<53
		}
	}
	return 0, false
}
