package dataset

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// Attributes of a span, as OpenTelemetry's conventions for generative AI name them.
const (
	otelInput        = "gen_ai.input.messages"
	otelOutput       = "gen_ai.output.messages"
	otelOutputText   = "gen_ai.output.text"
	otelInstructions = "gen_ai.system_instructions"
	otelTools        = "gen_ai.tool.definitions"
	otelModel        = "gen_ai.request.model"
	otelMaxTokens    = "gen_ai.request.max_tokens"
)

// otelLengths are the present and the former name of the length of an answer.
var otelLengths = []string{"gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"}

// otelParameters are the attributes that are members of the request, too.
var otelParameters = []struct{ attribute, member string }{
	{"gen_ai.request.temperature", "temperature"},
	{"gen_ai.request.top_p", "top_p"},
	{"gen_ai.request.top_k", "top_k"},
	{"gen_ai.request.frequency_penalty", "frequency_penalty"},
	{"gen_ai.request.presence_penalty", "presence_penalty"},
	{"gen_ai.request.stop_sequences", "stop"},
	{"gen_ai.request.seed", "seed"},
}

// otelMaxWait bounds the wait of a request for those before it.
const otelMaxWait = 15 * time.Second

// fitsSpans recognizes rows of spans.
func fitsSpans(r *row, _ *file) bool {
	js := r.get("spans")
	return js != nil && js[0] == '['
}

// spanSession returns the session of a row of OpenTelemetry's spans, as inference-perf and Exgentic have them:
//
//	{"trace_id": "t", "spans": [{"start_time": "…", "end_time": "…", "attributes": {"gen_ai.input.messages": "[…]", …}}, …]}
//	{"harness": "h", "session_id": "s", "models": […], "spans": […]}
//
// Each span with messages is a request that holds its history itself. It waits for the requests whose answers are among its
// messages, and for the one that had ended latest before it began; it then waits as long as it did in the recording.
func spanSession(f *file, _ *Options, rows []groupRow) ([]*workload.Session, error) {
	r := rows[0]
	var list []json.RawMessage
	if js := r.get("spans"); js == nil || json.Unmarshal(js, &list) != nil {
		return nil, errors.New(`"spans": expected an array of objects`)
	}
	s := &workload.Session{Recorded: true}
	var spans []*otelSpan
	traces := map[string]bool{}
	for k, js := range list {
		span, err := readSpan(f, js, k)
		if err != nil {
			return nil, fmt.Errorf("\"spans\": span %d: %w", k, err)
		}
		if span != nil {
			spans = append(spans, span)
			traces[span.trace] = true
		}
	}
	if len(spans) == 0 {
		f.leaveOut("a row without a request that succeeded")
		return nil, nil
	}
	if len(traces) > 1 {
		f.assume("the traces of a row are one session")
	}
	for _, name := range []string{"session_id", "trace_id"} {
		id, ok, err := r.string(name)
		if err != nil {
			return nil, err
		}
		if ok && s.ID == "" {
			s.ID = id
		}
	}
	s.ID = cmp.Or(s.ID, spans[0].trace, fmt.Sprint(r.i))
	slices.SortStableFunc(spans, func(a, b *otelSpan) int { return a.start.Compare(b.start) })
	s.Nodes = causes(f, spans)
	for _, span := range spans {
		span.forget()
	}
	s.Entry = func(i int) (workload.Entry, error) {
		e, err := spans[i].entry()
		e.Step = r.i
		if err != nil {
			err = fmt.Errorf("\"spans\": span %d: %w", spans[i].number, err)
		}
		return e, err
	}
	return []*workload.Session{s}, nil
}

// An otelSpan is a span that is a request.
type otelSpan struct {
	number     int // in its row
	trace      string
	model      string
	start, end time.Time
	attributes *row

	asked   []string // keys of the answers among its messages
	answers []string // keys of its answer
}

// forget drops what causes needs.
func (s *otelSpan) forget() { s.asked, s.answers = nil, nil }

// readSpan reads span k of a row; nil if it is no request, or one that failed.
func readSpan(f *file, js []byte, k int) (*otelSpan, error) {
	r, err := parseObject(js)
	if err != nil {
		return nil, err
	}
	s := &otelSpan{number: k, attributes: &row{}}
	if js := r.get("attributes"); js != nil {
		if s.attributes, err = parseObject(js); err != nil {
			return nil, fmt.Errorf("\"attributes\": %w", err)
		}
	}
	name, _, err := r.string("name")
	if err != nil {
		return nil, err
	}
	kind, _, err := r.string("type")
	if err != nil {
		return nil, err
	}
	messages := s.attributes.get(otelInput) != nil
	if !messages && kind != "llm_call" && !strings.HasPrefix(name, "chat ") {
		f.leaveOut("a span that is not a request to a model")
		return nil, nil
	}
	failed, err := spanFailed(r)
	switch {
	case err != nil:
		return nil, err
	case failed:
		f.leaveOut("a request that failed")
		return nil, nil
	case !messages:
		return nil, fmt.Errorf("no %q: it has %s; record the content of messages", otelInput, columnNames(s.attributes))
	}
	if n, ok, err := s.answerTokens(); err != nil {
		return nil, err
	} else if ok && n == 0 {
		f.leaveOut("a request without an answer")
		return nil, nil
	}
	if s.trace, _, err = r.string("trace_id"); err != nil {
		return nil, err
	}
	if s.start, err = spanTime(r, "start_time"); err != nil {
		return nil, err
	}
	if s.end, err = spanTime(r, "end_time"); err != nil {
		return nil, err
	}
	if s.end.Before(s.start) {
		return nil, fmt.Errorf("\"end_time\" is %v before \"start_time\"", s.start.Sub(s.end))
	}
	if s.model, _, err = s.attributes.string(otelModel); err != nil {
		return nil, err
	}
	return s, s.readKeys()
}

// spanTime returns a time of a span.
func spanTime(r *row, name string) (time.Time, error) {
	text, err := required(r.string(name))
	if err != nil {
		return time.Time{}, fmt.Errorf("%q: %w", name, err)
	}
	at, err := parseTime(text)
	if err != nil {
		return at, fmt.Errorf("%q: %w", name, err)
	}
	return at, nil
}

// spanFailed reports whether a span has the status of an error: {"code": 2}, or its name.
func spanFailed(r *row) (bool, error) {
	js := r.get("status")
	if js == nil {
		return false, nil
	}
	status, err := parseObject(js)
	if err != nil {
		return false, fmt.Errorf("\"status\": %w", err)
	}
	return slices.Contains([]string{"2", `"ERROR"`, `"STATUS_CODE_ERROR"`}, string(status.get("code"))), nil
}

// answerTokens returns the length of the recorded answer. ok is false if it is not known.
func (s *otelSpan) answerTokens() (n int, ok bool, err error) {
	for _, name := range otelLengths {
		if n, ok, err = s.attributes.count(name); ok || err != nil {
			break
		}
	}
	return n, ok, err
}

// readKeys reads the keys of the answers before and after the request.
func (s *otelSpan) readKeys() error {
	messages, err := s.messages(otelInput)
	if err != nil {
		return err
	}
	if len(messages) == 0 {
		return fmt.Errorf("%q holds no message", otelInput)
	}
	for _, m := range messages {
		if key := m.key(); key != "" {
			s.asked = append(s.asked, key)
		}
	}
	text, _, err := s.attributes.string(otelOutputText)
	if err != nil {
		return err
	}
	if text != "" {
		s.answers = append(s.answers, spanMessage{text: text, answer: true}.key())
	}
	if s.attributes.get(otelOutput) == nil {
		return nil
	}
	if messages, err = s.messages(otelOutput); err != nil {
		return err
	}
	for _, m := range messages {
		if key := m.key(); key != "" {
			s.answers = append(s.answers, key)
		}
	}
	return nil
}

// entry returns the request of a span.
func (s *otelSpan) entry() (workload.Entry, error) {
	p := &workload.Prompt{}
	e := workload.Entry{Prompt: p, Whole: true}
	messages, err := s.messages(otelInput)
	if err != nil {
		return e, err
	}
	p.Messages = []byte{'['}
	if p.Messages, err = s.appendInstructions(p.Messages); err != nil {
		return e, err
	}
	for _, m := range messages {
		p.Messages = appendElement(p.Messages, m.js)
	}
	p.Messages = append(p.Messages, ']')
	n, ok, err := s.answerTokens()
	if err == nil && !ok {
		n, _, err = s.attributes.count(otelMaxTokens)
	}
	if err != nil {
		return e, err
	}
	p.MaxTokens = n
	for _, m := range otelParameters {
		if js := s.attributes.get(m.attribute); js != nil {
			p.Extra = append(p.Extra, export.Field{Name: m.member, Value: export.Value{Data: js}})
		}
	}
	if js := s.attributes.get(otelTools); js != nil {
		tools, err := spanTools(js)
		if err != nil {
			return e, fmt.Errorf("%q: %w", otelTools, err)
		}
		p.Extra = append(p.Extra, export.Field{Name: "tools", Value: export.Value{Data: tools}})
	}
	return e, nil
}

// appendInstructions appends the instructions that a span has beside its messages to an unfinished array of messages.
func (s *otelSpan) appendInstructions(array []byte) ([]byte, error) {
	js := s.attributes.get(otelInstructions)
	if js == nil {
		return array, nil
	}
	parts, err := jsonList(js)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", otelInstructions, err)
	}
	messages, err := partMessages("system", parts)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", otelInstructions, err)
	}
	for _, m := range messages {
		array = appendElement(array, m.js)
	}
	return array, nil
}

// messages returns the messages of an attribute.
func (s *otelSpan) messages(attribute string) ([]spanMessage, error) {
	list, err := jsonList(s.attributes.get(attribute))
	if err != nil {
		return nil, fmt.Errorf("%q: %w", attribute, err)
	}
	var all []spanMessage
	for i, js := range list {
		read, err := readSpanMessage(js)
		if err != nil {
			return nil, fmt.Errorf("%q: message %d: %w", attribute, i, err)
		}
		all = append(all, read...)
	}
	return all, nil
}

// jsonList parses an array, or a string that holds one.
func jsonList(js []byte) (all []json.RawMessage, err error) {
	if js[0] == '"' {
		text, err := parseString(js)
		if err != nil {
			return nil, err
		}
		js = []byte(text)
	}
	if json.Unmarshal(js, &all) != nil {
		return nil, fmt.Errorf("expected an array, or a string that holds one, found %s", clip(js))
	}
	return all, nil
}

// A spanMessage is a message of a recorded request or of its answer.
type spanMessage struct {
	js     []byte // in the form of the chat API
	answer bool   // the assistant says it
	text   string
	calls  []string // ids of tool calls
}

// key returns what equal answers have in common; "" if m is no answer, or says nothing.
func (m spanMessage) key() string {
	switch {
	case !m.answer:
		return ""
	case len(m.calls) > 0:
		return "calls " + strings.Join(m.calls, " ")
	case m.text != "":
		return "text " + m.text
	}
	return ""
}

// readSpanMessage reads a message of the chat API, or one of OpenTelemetry with "parts", which may be several messages of the API.
func readSpanMessage(js []byte) ([]spanMessage, error) {
	r, err := parseObject(js)
	if err != nil {
		return nil, err
	}
	role, err := required(r.string("role"))
	if err != nil {
		return nil, fmt.Errorf("\"role\": %w", err)
	}
	if js := r.get("parts"); js != nil {
		var parts []json.RawMessage
		if json.Unmarshal(js, &parts) != nil {
			return nil, fmt.Errorf("\"parts\": expected an array, found %s", clip(js))
		}
		return partMessages(role, parts)
	}
	v := jsontext.Value(slices.Clone(js))
	if err := v.Compact(rowOptions...); err != nil {
		return nil, syntaxError(err)
	}
	m := spanMessage{js: v, answer: role == "assistant"}
	m.text = contentText(r.get("content"))
	var calls []struct{ ID string }
	if js := r.get("tool_calls"); js != nil && json.Unmarshal(js, &calls) == nil {
		for _, c := range calls {
			m.calls = append(m.calls, c.ID)
		}
	}
	return []spanMessage{m}, nil
}

// contentText returns the text of the content of a message: a string, or the texts of its parts.
func contentText(js []byte) string {
	if js == nil {
		return ""
	}
	if js[0] == '"' {
		text, _ := parseString(js) // no text is a text too, for the comparison of answers
		return text
	}
	var parts []struct{ Text string }
	if json.Unmarshal(js, &parts) != nil {
		return ""
	}
	var all []string
	for _, p := range parts {
		all = append(all, p.Text)
	}
	return strings.Join(all, "")
}

// A messageCall is a tool call in a message of the chat API.
type messageCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// partMessages returns the messages of the chat API for a message of OpenTelemetry: one for each result of a tool, and one for the
// rest between them.
func partMessages(role string, parts []json.RawMessage) ([]spanMessage, error) {
	var all []spanMessage
	m := partMessage{role: role}
	flush := func() error {
		if m.empty() {
			return nil
		}
		read, err := m.message()
		all, m = append(all, read), partMessage{role: role}
		return err
	}
	for i, js := range parts {
		r, err := parseObject(js)
		var kind string
		if err == nil {
			kind, _, err = r.string("type")
		}
		if err == nil && kind == "tool_call_response" {
			var result spanMessage
			if err = flush(); err == nil {
				result, err = toolResult(r)
			}
			all = append(all, result)
		} else if err == nil {
			err = m.add(kind, r)
		}
		if err != nil {
			return nil, fmt.Errorf("part %d: %w", i, err)
		}
	}
	if len(all) > 0 {
		return all, flush()
	}
	read, err := m.message()
	return []spanMessage{read}, err
}

// toolResult returns the message of the result of a tool.
func toolResult(r *row) (spanMessage, error) {
	id, _, err := r.string("id")
	if err != nil {
		return spanMessage{}, err
	}
	text, err := textOf(first(r, "result", "response"))
	if err != nil {
		return spanMessage{}, err
	}
	js, err := json.Marshal(struct {
		Role    string `json:"role"`
		ID      string `json:"tool_call_id,omitempty"`
		Content string `json:"content"`
	}{"tool", id, text})
	return spanMessage{js: js}, err
}

// textOf returns a string, or the JSON text of another value; "" for none.
func textOf(js []byte) (string, error) {
	if js == nil || js[0] != '"' {
		return string(js), nil
	}
	return parseString(js)
}

// first returns the first of the members that the row has; nil for none.
func first(r *row, names ...string) []byte {
	for _, name := range names {
		if js := r.get(name); js != nil {
			return js
		}
	}
	return nil
}

// A partMessage gathers the parts of a message of the chat API.
type partMessage struct {
	role      string
	texts     []string
	reasoning []string
	media     []json.RawMessage
	calls     []messageCall
}

func (m *partMessage) empty() bool {
	return len(m.texts)+len(m.reasoning)+len(m.media)+len(m.calls) == 0
}

// add adds a part of a kind.
func (m *partMessage) add(kind string, r *row) error {
	switch kind {
	case "text":
		text, err := textOf(first(r, "content", "text"))
		m.texts = append(m.texts, text)
		return err
	case "reasoning", "thinking":
		text, err := textOf(first(r, "content", "thinking"))
		m.reasoning = append(m.reasoning, text)
		return err
	case "tool_call":
		var c messageCall
		var err error
		c.Type = "function"
		if c.ID, _, err = r.string("id"); err != nil {
			return err
		}
		if c.Function.Name, err = required(r.string("name")); err != nil {
			return fmt.Errorf("\"name\": %w", err)
		}
		if c.Function.Arguments, err = textOf(r.get("arguments")); err != nil {
			return fmt.Errorf("\"arguments\": %w", err)
		}
		m.calls = append(m.calls, c)
		return nil
	case "uri", "blob":
		return m.addMedium(kind, r)
	}
	return fmt.Errorf("has the type %q; expected text, reasoning, tool_call, tool_call_response, uri or blob", clip([]byte(kind)))
}

// addMedium adds an image, by its address or with its content.
func (m *partMessage) addMedium(kind string, r *row) error {
	modality, _, err := r.string("modality")
	if err != nil {
		return err
	}
	if modality != "image" {
		return fmt.Errorf("is a %s of %q; expected an image", kind, clip([]byte(modality)))
	}
	url, err := required(r.string(map[string]string{"uri": "uri", "blob": "content"}[kind]))
	if err != nil {
		return err
	}
	if kind == "blob" {
		mime, _, err := r.string("mime_type")
		if err != nil {
			return err
		}
		url = "data:" + mime + ";base64," + url
	}
	js, err := json.Marshal(map[string]any{"type": "image_url", "image_url": map[string]string{"url": url}})
	m.media = append(m.media, js)
	return err
}

// message returns the message of the parts.
func (m *partMessage) message() (spanMessage, error) {
	out := spanMessage{answer: m.role == "assistant", text: strings.Join(m.texts, "")}
	role := m.role
	if role == "developer" {
		role = "system"
	}
	for _, c := range m.calls {
		out.calls = append(out.calls, c.ID)
	}
	var content any = out.text
	if len(m.media) > 0 {
		parts := m.media
		if out.text != "" {
			text, err := json.Marshal(map[string]string{"type": "text", "text": out.text})
			if err != nil {
				return out, err
			}
			parts = append([]json.RawMessage{text}, parts...)
		}
		content = parts
	} else if out.text == "" && len(m.calls) > 0 {
		content = nil
	}
	var err error
	out.js, err = json.Marshal(struct {
		Role      string        `json:"role"`
		Content   any           `json:"content"`
		Reasoning string        `json:"reasoning_content,omitempty"`
		Calls     []messageCall `json:"tool_calls,omitempty"`
	}{role, content, strings.Join(m.reasoning, ""), m.calls})
	return out, err
}

// spanTools returns definitions of tools in the form of the chat API.
func spanTools(js []byte) ([]byte, error) {
	list, err := jsonList(js)
	if err != nil {
		return nil, err
	}
	all := []byte{'['}
	for i, js := range list {
		r, err := parseObject(js)
		if err != nil {
			return nil, fmt.Errorf("element %d: %w", i, err)
		}
		if r.get("function") != nil {
			all = appendElement(all, js)
			continue
		}
		if _, err := required(r.string("name")); err != nil {
			return nil, fmt.Errorf("element %d: \"name\": %w", i, err)
		}
		tool := struct {
			Type     string                     `json:"type"`
			Function map[string]json.RawMessage `json:"function"`
		}{"function", map[string]json.RawMessage{}}
		for _, m := range r.fields {
			if m.Name != "type" && string(m.Value.Data) != "null" {
				tool.Function[m.Name] = m.Value.Data
			}
		}
		element, err := json.Marshal(tool)
		if err != nil {
			return nil, fmt.Errorf("element %d: %w", i, err)
		}
		all = appendElement(all, element)
	}
	return append(all, ']'), nil
}

// causes returns the nodes of spans, which are in the order of their starts.
func causes(f *file, spans []*otelSpan) []workload.Node {
	nodes := make([]workload.Node, len(spans))
	answered := map[string][]int{} // spans by their answers
	var ended []int                // spans, in the order of their ends
	for i, s := range spans {
		var before []int
		times := map[string]int{} // how often an answer was there
		for _, key := range s.asked {
			if j := causeOf(spans, answered[key], s, times[key]); j >= 0 && !slices.Contains(before, j) {
				before = append(before, j)
			}
			times[key]++
		}
		// The end of the latest one that had ended, or of a later one with the same end.
		n, _ := slices.BinarySearchFunc(ended, s.start, func(j int, at time.Time) int {
			if spans[j].end.After(at) {
				return 1
			}
			return -1
		})
		if n > 0 && !slices.Contains(before, ended[n-1]) {
			before = append(before, ended[n-1])
		}
		before = reduced(nodes, before)
		nodes[i] = workload.Node{After: waits(f, spans, before, s), Continues: -1, Model: s.model, Past: workload.Span{
			Known: true, Start: s.start.Sub(spans[0].start), Ended: true, End: s.end.Sub(spans[0].start),
		}}
		for _, key := range s.answers {
			answered[key] = append(answered[key], i)
		}
		at, _ := slices.BinarySearchFunc(ended, s.end, func(j int, at time.Time) int {
			if spans[j].end.After(at) {
				return 1
			}
			return -1
		})
		ended = slices.Insert(ended, at, i)
	}
	return nodes
}

// causeOf returns which of the spans gave an answer that s has for the n-th time, from 0: the latest but n of the spans that had ended
// before s, else the latest of all; −1 for none.
func causeOf(spans []*otelSpan, all []int, s *otelSpan, n int) int {
	for k := len(all) - 1; k >= 0; k-- {
		if !spans[all[k]].end.After(s.start) {
			if n == 0 {
				return all[k]
			}
			n--
		}
	}
	if len(all) == 0 || n > 0 {
		return -1
	}
	return all[len(all)-1]
}

// reduced returns the nodes of before, in order, without the nodes that others of them wait for.
func reduced(nodes []workload.Node, before []int) []int {
	slices.Sort(before)
	if len(before) < 2 {
		return before
	}
	least := before[0]
	waited := map[int]bool{}
	queue := slices.Clone(before)
	for len(queue) > 0 {
		i := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		for _, e := range nodes[i].After {
			if e.From >= least && !waited[e.From] {
				waited[e.From] = true
				queue = append(queue, e.From)
			}
		}
	}
	return slices.DeleteFunc(before, func(i int) bool { return waited[i] })
}

// waits returns the edges to a span from those before it.
func waits(f *file, spans []*otelSpan, before []int, s *otelSpan) []workload.Edge {
	if len(before) == 0 {
		return nil
	}
	last := spans[before[0]].end
	for _, j := range before {
		if spans[j].end.After(last) {
			last = spans[j].end
		}
	}
	wait := max(0, s.start.Sub(last))
	if wait > otelMaxWait {
		f.assume(fmt.Sprintf("a wait of more than %v between requests is %v", otelMaxWait, otelMaxWait))
		wait = otelMaxWait
	}
	var edges []workload.Edge
	for _, j := range before {
		edges = append(edges, workload.Edge{From: j, Delay: wait})
	}
	return edges
}
