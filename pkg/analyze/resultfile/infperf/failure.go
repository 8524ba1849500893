package infperf

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/pa-tools/pa/internal/pyjson"
	"github.com/pa-tools/pa/pkg/export"
)

// maxMessages is how many different messages are kept of a kind of failure
// (report.request_lifecycle.max_error_messages).
const maxMessages = 100

// kindOf is what inference-perf calls the failure of a request: the HTTP status,
// or the name of an exception, of which a recording has the kind.
func kindOf(q *export.Request) string {
	switch {
	case q.Stated != nil && q.Stated.ErrorType != "":
		return q.Stated.ErrorType
	case q.Status == export.StatusHTTPError && q.Code != 0:
		return fmt.Sprintf("HTTP Error %d", q.Code)
	}
	return q.Status.String()
}

var statusLabels = map[string]string{
	"429": "Rate Limit", "500": "Internal Server Error", "502": "Bad Gateway", "503": "Service Unavailable", "504": "Gateway Timeout",
}

type labelled struct {
	of    *regexp.Regexp
	label string
}

// What messages are known by: of HTTP errors, and of others.
var (
	httpLabels = []labelled{
		{regexp.MustCompile(`(?i)context.window|context length|maximum context|max.?tokens|token.?limit`), "Context Window"},
		{regexp.MustCompile(`(?i)invalid.?json|json.?parse|malformed.?json|unexpected.?token|expecting value|unterminated string|expecting ',' delimiter`), "Invalid JSON"},
		{regexp.MustCompile(`(?i)timeout|timed.?out`), "Timeout"},
		{regexp.MustCompile(`(?i)model.?not.?found|no such model`), "Model Not Found"},
	}
	otherLabels = []labelled{
		{regexp.MustCompile(`(?i)timeout|timed.?out`), "Timeout"},
		{regexp.MustCompile(`(?i)connection.?refused|connect`), "Connection Error"},
	}
)

// label is the name under which failures are counted.
func label(kind, message string) string {
	code, http := strings.CutPrefix(kind, "HTTP Error ")
	if !http {
		return find(otherLabels, message, strings.TrimSpace(strings.ToLower(kind)))
	}
	if text, ok := statusLabels[code]; ok {
		return code + " - " + text
	}
	return code + " - " + find(httpLabels, message, "other")
}

func find(all []labelled, message, otherwise string) string {
	for _, l := range all {
		if l.of.MatchString(message) {
			return l.label
		}
	}
	return otherwise
}

// readable takes the message out of the JSON that it may be wrapped in.
func readable(message string) string {
	body, err := pyjson.Parse(message, pyjson.JSON)
	if err != nil {
		return message
	}
	inner, ok := body.Member("error")
	if !ok || !inner.Truthy() {
		inner = body
	}
	if m, ok := inner.Member("message"); ok && m.Kind() == pyjson.String {
		return m.Text()
	}
	return message
}

// failures counts them by label.
type failures struct {
	labels []*labelCount
}

type labelCount struct {
	label    string
	n        int
	messages []string
	sessions map[string][]string // of each message
}

func (f *failures) add(kind, message, session string) {
	message = readable(message)
	name := label(kind, message)
	i := slices.IndexFunc(f.labels, func(l *labelCount) bool { return l.label == name })
	if i < 0 {
		i = len(f.labels)
		f.labels = append(f.labels, &labelCount{label: name, sessions: map[string][]string{}})
	}
	l := f.labels[i]
	l.n++
	if !slices.Contains(l.messages, message) {
		if len(l.messages) == maxMessages {
			return
		}
		l.messages = append(l.messages, message)
	}
	if session != "" {
		l.sessions[message] = append(l.sessions[message], session)
	}
}

// object returns the counts, the most frequent first.
func (f *failures) object() pyjson.Object {
	all := slices.Clone(f.labels)
	slices.SortStableFunc(all, func(a, b *labelCount) int { return b.n - a.n })
	o := pyjson.Object{}
	for _, l := range all {
		messages := pyjson.Array{}
		for _, text := range l.messages {
			m := pyjson.Object{{Name: "message", Value: text}}
			if s := l.sessions[text]; s != nil {
				m = append(m, pyjson.Member{Name: "session_ids", Value: s})
			}
			messages = append(messages, m)
		}
		o = append(o, pyjson.Member{Name: l.label, Value: pyjson.Object{{Name: "count", Value: l.n}, {Name: "messages", Value: messages}}})
	}
	return o
}
