package infperf

import (
	"bytes"
	"strings"

	"github.com/pa-tools/pa/internal/py"
	"github.com/pa-tools/pa/pkg/export"
)

// An answer holds the parts of an answer that inference-perf uses.
type answer struct {
	chunks []string  // the JSON of each event with text
	texts  []string  // the text of each chunk
	times  []float64 // when each chunk came, in seconds
	usage  py.Object // the members of all usage objects, each with its last value
	raw    []byte    // the whole body
}

// read reads the responses of a request.
func (a *answer) read(q *export.Request) {
	*a = answer{chunks: []string{}, texts: a.texts[:0], times: []float64{}, raw: a.raw[:0]}
	open := 0 // where in raw the incomplete event begins
	for i := range q.Responses {
		p := &q.Responses[i]
		v, ok := p.Outputs.Get("response")
		if !ok || !v.Text {
			continue
		}
		a.raw = append(a.raw, v.Bytes()...)
		for {
			end := bytes.Index(a.raw[open:], []byte("\n\n"))
			if end < 0 {
				break
			}
			if a.message(a.raw[open:open+end], p.RecvNS) {
				return
			}
			open += end + 2
		}
		// Some recorders omit the blank line.
		if rest := bytes.TrimSpace(a.raw[open:]); isWhole(rest) {
			if a.message(rest, p.RecvNS) {
				return
			}
			open = len(a.raw)
		}
	}
}

// isWhole reports whether the rest of a stream is an event that lacks only its blank line.
func isWhole(rest []byte) bool {
	data, ok := bytes.CutPrefix(rest, []byte("data:"))
	if !ok {
		return false
	}
	text := strings.TrimSpace(string(data))
	_, err := py.ParseJSON(text, py.JSON)
	return text == "[DONE]" || err == nil
}

// message reads the lines of an event; done is true for [DONE].
func (a *answer) message(text []byte, recvNS uint64) (done bool) {
	for line := range bytes.SplitSeq(text, []byte("\n")) {
		if !bytes.HasPrefix(line, []byte("data:")) {
			continue
		}
		data := strings.TrimSpace(string(bytes.TrimPrefix(line, []byte("data: "))))
		if data == "[DONE]" {
			return true
		}
		event, err := py.ParseJSON(data, py.JSON)
		if err != nil {
			continue
		}
		a.addUsage(event)
		if content := firstText(event); content != "" {
			a.chunks = append(a.chunks, data)
			a.texts = append(a.texts, content)
			a.times = append(a.times, seconds(recvNS))
		}
	}
	return false
}

// addUsage merges the usage of an event or a body.
func (a *answer) addUsage(event py.Value) {
	usage, _ := event.Member("usage")
	usage.Members(func(name string, v py.Value) bool {
		for i := range a.usage {
			if a.usage[i].Name == name {
				a.usage[i].Value = v.Any()
				return true
			}
		}
		a.usage = append(a.usage, py.Member{Name: name, Value: v.Any()})
		return true
	})
}

// firstText returns the text of the first choice of an event.
func firstText(event py.Value) string {
	choices, _ := event.Member("choices")
	choice, _ := choices.First()
	if v, ok := choice.Member("text"); ok {
		return v.Text()
	}
	for _, name := range [...]string{"delta", "message"} {
		if m, ok := choice.Member(name); ok {
			v, _ := m.Member("content")
			return v.Text()
		}
	}
	return ""
}

// unstreamed reads an answer that is one JSON document and returns its text.
func (a *answer) unstreamed() (text string) {
	body, err := py.ParseJSON(strings.TrimSpace(string(a.raw)), py.JSON)
	if err != nil {
		return ""
	}
	a.addUsage(body)
	return firstText(body)
}

// counted returns the first of the named counts that the usage has; ok is false if it has none.
func (a *answer) counted(names ...string) (n float64, ok bool) {
	for _, name := range names {
		for i := range a.usage {
			if a.usage[i].Name == name {
				if n, ok := toFloat(a.usage[i].Value); ok {
					return n, true
				}
			}
		}
	}
	return 0, false
}

// cached returns the cached tokens of the prompt that the usage states.
func (a *answer) cached() float64 {
	for i := range a.usage {
		details, ok := a.usage[i].Value.(py.Object)
		if a.usage[i].Name != "prompt_tokens_details" || !ok {
			continue
		}
		for k := range details {
			if n, ok := toFloat(details[k].Value); ok && details[k].Name == "cached_tokens" {
				return n
			}
		}
	}
	return 0
}
