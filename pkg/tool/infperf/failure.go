package infperf

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pa-tools/pa/internal/py"
	"github.com/pa-tools/pa/pkg/export"
)

// kindOf returns the kind of a request's failure: the HTTP status, or the name of an
// exception. A recording has no exceptions; its status is the name.
func kindOf(q *export.Request) string {
	switch {
	case q.Stated != nil && q.Stated.ErrorType != "":
		return q.Stated.ErrorType
	case q.Refused() && q.Code != 0:
		return fmt.Sprintf("HTTP Error %d", q.Code)
	}
	return q.Status.String()
}

// label returns the name under which a failure is counted.
func (r *release) label(kind, message string) string {
	code, http := strings.CutPrefix(kind, "HTTP Error ")
	if !http {
		return find(r.otherLabels, message, strings.TrimSpace(strings.ToLower(kind)))
	}
	if text, ok := r.statusLabels[code]; ok {
		return code + " - " + text
	}
	return code + " - " + find(r.httpLabels, message, "other")
}

// find returns the label of the first rule that the message matches.
func find(rules []labelRule, message, otherwise string) string {
	for _, l := range rules {
		if l.pattern.MatchString(message) {
			return l.label
		}
	}
	return otherwise
}

// readable returns the message inside of a JSON error object; any other message as it is.
func readable(message string) string {
	body, err := py.ParseJSON(message, py.JSON)
	if err != nil {
		return message
	}
	inner, ok := body.Member("error")
	if !ok || !inner.Truthy() {
		inner = body
	}
	if m, ok := inner.Member("message"); ok && m.Kind() == py.String {
		return m.Text()
	}
	return message
}

// failures counts failures by label.
type failures struct {
	labels []*labelCount
}

type labelCount struct {
	label    string
	n        int
	messages []string
	sessions map[string][]string // of each message
}

// add counts a failed request under the label of its message.
func (f *failures) add(r *release, kind, message, session string) {
	message = readable(message)
	name := r.label(kind, message)
	i := slices.IndexFunc(f.labels, func(l *labelCount) bool { return l.label == name })
	if i < 0 {
		i = len(f.labels)
		f.labels = append(f.labels, &labelCount{label: name, sessions: map[string][]string{}})
	}
	l := f.labels[i]
	l.n++
	if !slices.Contains(l.messages, message) {
		if len(l.messages) == r.maxMessages {
			return
		}
		l.messages = append(l.messages, message)
	}
	if session != "" {
		l.sessions[message] = append(l.sessions[message], session)
	}
}

// object returns the counts, the most frequent first.
func (f *failures) object() py.Object {
	all := slices.Clone(f.labels)
	slices.SortStableFunc(all, func(a, b *labelCount) int { return b.n - a.n })
	o := py.Object{}
	for _, l := range all {
		messages := py.Array{}
		for _, text := range l.messages {
			m := py.Object{{Name: "message", Value: text}}
			if s := l.sessions[text]; s != nil {
				m = append(m, py.Member{Name: "session_ids", Value: s})
			}
			messages = append(messages, m)
		}
		o = append(o, py.Member{Name: l.label, Value: py.Object{{Name: "count", Value: l.n}, {Name: "messages", Value: messages}}})
	}
	return o
}
