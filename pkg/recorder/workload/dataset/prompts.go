package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/workload"
	"github.com/pa-tools/pa/pkg/wire/openai"
)

// promptColumns lists the members that can hold the prompt. A row has one of them, or only
// media, or a ranking.
var promptColumns = []string{"text_input", "input_text", "input", "prompt", "text", "texts", "query", "messages", "payload"}

// idColumns lists the members that can hold the prompt as token ids. Beside a prompt they are members of the request.
var idColumns = []string{"token_ids", "input_ids", "prompt_token_ids"}

// rankedColumns lists the members that can hold the texts to rank by a "query".
var rankedColumns = []string{"passages", "documents", "texts"}

// Names of members with the same meaning.
var (
	lengthColumns  = []string{"output_length", "output_tokens", "max_tokens", "max_completion_tokens", "max_output_tokens"}
	systemColumns  = []string{"system_prompt", "system"}
	sessionColumns = []string{"session_id", "conversation_id"}
	imageColumns   = []string{"image", "images"}
	audioColumns   = []string{"audio", "audios"}
	audioLengths   = []string{"audio_seconds", "duration"}
)

// requestMembers holds further members of requests to OpenAI-compatible servers, which are
// passed on unchanged.
var requestMembers = func() map[string]bool {
	members := map[string]bool{}
	for name := range strings.FieldsSeq(`
		best_of chat_template chat_template_kwargs chunking_strategy continue_final_message dimensions echo encoding_format
		frequency_penalty function_call functions guided_choice guided_grammar guided_json guided_regex ignore_eos
		instructions language length_penalty logit_bias logprobs metadata min_p min_tokens modalities model n
		parallel_tool_calls prediction presence_penalty priority prompt_cache_key reasoning reasoning_effort
		repetition_penalty response_format sampling_params seed service_tier skip_special_tokens speed stop stop_token_ids store stream
		stream_format stream_options structured_outputs suffix temperature text_format thinking timestamp_granularities tool_choice tools top_k
		top_logprobs top_p truncation user verbosity voice`) {
		members[name] = true
	}
	return members
}()

// unsentMembers holds members that describe a row and are no part of its request: "type" and "role"
// of AIPerf, and the members of traces, which matter only in rows without a text.
var unsentMembers = []string{"type", "role", "input_length", "hash_ids", "chat_id", "parent_chat_id", "turn"}

func fitsPrompts(r *row, _ *file) bool {
	return slices.ContainsFunc(slices.Concat(promptColumns, idColumns, imageColumns, audioColumns), func(name string) bool { return r.has(name) })
}

// hasPrompt reports whether a row holds a prompt, in one of promptColumns or idColumns.
func hasPrompt(r *row) bool {
	return slices.ContainsFunc(slices.Concat(promptColumns, idColumns), func(name string) bool { return r.get(name) != nil })
}

// promptOrRequest returns the entry of a row of the layout prompts of rows with one prompt each, as in JSON Lines of GenAI-Perf, AIPerf
// (single_turn), vLLM (custom), TensorRT-LLM (trtllm_custom) and llm_perf:
//
//	{"text_input": "…", "output_length": 64, "session_id": "a", "delay": 500}
//	{"messages": [{"role": "user", "content": "…"}], "temperature": 0.5}
//	{"input": {"messages": […], "max_tokens": 64}}
func promptOrRequest(f *file, o *Options, r *row, i int) ([]workload.Entry, error) {
	if o.Layout == "" && fitsRequests(r, f) {
		return wholeRequest(r) // as in a file that begins with it
	}
	e, err := readPrompt(r, f, o)
	if err != nil {
		return nil, err
	}
	e.Whole = e.Whole || f.repeatsHistory(&e, i)
	return []workload.Entry{e}, nil
}

// A lastMessages is what is kept of the messages of a turn: their length as JSON, and a hash of it up to the last bracket.
type lastMessages struct {
	length int
	sum    uint64
}

// repeatsHistory reports whether row i, a turn of a session, holds the messages of the turn before and more.
func (f *file) repeatsHistory(e *workload.Entry, i int) bool {
	js := e.Prompt.Messages
	if e.Session == "" || js == nil {
		return false
	}
	if f.opening {
		sum := func(js []byte) uint64 {
			h := fnv.New64a()
			h.Write(js)
			return h.Sum64()
		}
		if before := f.messages[e.Session]; before.length > 0 && before.length < len(js) && js[before.length-1] == ',' && sum(js[:before.length-1]) == before.sum {
			f.assume("turns whose \"messages\" begin with the messages of the turn before are taken for the whole history")
			f.setWhole(i)
		}
		if f.messages == nil {
			f.messages = map[string]lastMessages{}
		}
		f.messages[e.Session] = lastMessages{len(js), sum(js[:len(js)-1])}
	}
	return f.isWhole(i)
}

// readPrompt reads a row with a prompt and its other members. The caller reads the known members.
func readPrompt(r *row, f *file, o *Options, known ...string) (workload.Entry, error) {
	p := promptReader{row: r, file: f, used: map[string]bool{}, onlyKnown: o.OnlyKnown}
	for _, name := range known {
		p.used[name] = true
	}
	e := workload.Entry{Prompt: &p.prompt}
	if err := p.readPrompt(&e); err != nil {
		return e, err
	}
	return e, p.readRest(&e)
}

// readPromptMembers reads the members other than known. The caller makes the prompt from the
// known members.
func readPromptMembers(r *row, f *file, known ...string) (workload.Entry, error) {
	p := promptReader{row: r, file: f, used: map[string]bool{}}
	for _, name := range known {
		p.used[name] = true
	}
	p.onlyKnown = true // members of a trace describe a request of the past
	e := workload.Entry{Prompt: &p.prompt}
	return e, p.readRest(&e)
}

// readRest reads all members but the prompt.
func (p *promptReader) readRest(e *workload.Entry) error {
	for _, read := range []func(*workload.Entry) error{p.media, p.output, p.conversation, p.time, p.extra} {
		if err := read(e); err != nil {
			return err
		}
	}
	p.passOn()
	return nil
}

// A promptReader reads the members of a row.
type promptReader struct {
	row    *row
	file   *file
	used   map[string]bool // members read so far
	prompt workload.Prompt
	// onlyKnown leaves out members that are not known to be members of requests.
	onlyKnown bool
}

// one returns the name and the value of the member of the row that is among names, or nil if
// there is none. Two such members are an error; it calls their content what.
func (p *promptReader) one(what string, names []string) (string, []byte, error) {
	found := ""
	for _, n := range names {
		if p.row.get(n) == nil {
			continue
		}
		if found != "" {
			return "", nil, fmt.Errorf("both %q and %q hold %s; drop one", found, n, what)
		}
		found = n
	}
	if found == "" {
		return "", nil, nil
	}
	p.used[found] = true
	return found, p.row.get(found), nil
}

// readPrompt reads the prompt.
func (p *promptReader) readPrompt(e *workload.Entry) error {
	if ok, err := p.ranking(); ok || err != nil {
		return err
	}
	name, js, err := p.one("a prompt", promptColumns)
	if err == nil && js == nil {
		name, js, err = p.one("a prompt", idColumns)
	}
	if err != nil {
		return err
	}
	if js == nil {
		given := func(name string) bool { return p.row.get(name) != nil }
		if !slices.ContainsFunc(slices.Concat(imageColumns, audioColumns), given) {
			return fmt.Errorf("no prompt: it has %s; expected one of %s", columnNames(p.row), strings.Join(quoteAll(slices.Concat(promptColumns, idColumns)), ", "))
		}
		return nil
	}
	switch {
	case name == "payload":
		err = p.body(only(js))
		e.Whole = true
	case name == "messages":
		err = p.messages(js)
	case slices.Contains(idColumns, name):
		p.prompt.IDs, err = parseTokenIDs(js)
	case js[0] == '{':
		err = p.object(js)
	case js[0] == '[' && elementsStartWith(js, '{'):
		err = p.messages(js)
	case js[0] == '[' && elementsStartWith(js, '0'):
		p.prompt.IDs, err = parseTokenIDs(js)
	default:
		var all []string
		if all, err = parseStrings(js); err == nil && len(all) == 0 {
			err = errors.New("is empty")
		}
		if err == nil {
			p.prompt.Text, p.prompt.More = all[0], all[1:]
		}
	}
	if err != nil {
		return fmt.Errorf("%q: %w", name, err)
	}
	for _, n := range systemColumns {
		s, ok, err := p.row.string(n)
		if err != nil {
			return err
		}
		if ok && p.prompt.Messages == nil && p.prompt.Body == nil {
			p.used[n], p.prompt.System = true, s
		}
	}
	return nil
}

// ranking reads a query and the texts to rank, which may be objects with a "text". ok is
// false if the row is not a ranking.
func (p *promptReader) ranking() (ok bool, err error) {
	query := p.row.get("query")
	if query == nil {
		return false, nil
	}
	name, ranked, err := p.one("the texts to rank", rankedColumns)
	if ranked == nil || err != nil {
		return false, err
	}
	p.used["query"] = true
	text, err := parseTexts(query)
	if err != nil || len(text) != 1 {
		return false, fmt.Errorf("\"query\": expected a text, found %s", clip(query))
	}
	if p.prompt.More, err = parseTexts(ranked); err != nil || len(p.prompt.More) == 0 {
		return false, fmt.Errorf("%q: expected a list of texts, found %s", name, clip(ranked))
	}
	p.prompt.Text = text[0]
	return true, nil
}

// parseTexts parses one text, "…" or {"text": "…"}, or a list of texts.
func parseTexts(js []byte) ([]string, error) {
	var list []json.RawMessage
	if json.Unmarshal(js, &list) != nil {
		list = []json.RawMessage{js}
	}
	var all []string
	for _, one := range list {
		var text string
		var object struct{ Text *string }
		switch {
		case json.Unmarshal(one, &text) == nil:
		case json.Unmarshal(one, &object) == nil && object.Text != nil:
			text = *object.Text
		default:
			return nil, errors.New("neither a text nor an object with \"text\"")
		}
		all = append(all, text)
	}
	return all, nil
}

// elementsStartWith reports whether the first element of a JSON array starts with kind: '{',
// '"', or '0' for any digit.
func elementsStartWith(js []byte, kind byte) bool {
	first := strings.TrimLeft(string(js[1:min(len(js), 8)]), " \t\r\n")
	if first == "" {
		return false
	}
	if kind == '0' {
		return first[0] >= '0' && first[0] <= '9'
	}
	return first[0] == kind
}

// parseTokenIDs parses a list of token ids.
func parseTokenIDs(js []byte) (ids []uint32, err error) {
	if json.Unmarshal(js, &ids) != nil || len(ids) == 0 {
		return nil, fmt.Errorf("expected a list of token ids, whole numbers from 0, found %s", clip(js))
	}
	return ids, nil
}

// messages reads a conversation in the form of the chat API.
func (p *promptReader) messages(js []byte) error {
	if err := checkMessages(js); err != nil {
		return err
	}
	p.prompt.Messages = js
	return nil
}

// checkMessages returns an error if js is not a conversation.
func checkMessages(js []byte) error {
	var all []map[string]json.RawMessage
	switch {
	case json.Unmarshal(js, &all) != nil:
		return fmt.Errorf("expected an array of messages, objects with \"role\", found %s", clip(js))
	case len(all) == 0:
		return errors.New("holds no message")
	}
	for i, m := range all {
		if _, ok := m["role"]; !ok {
			return fmt.Errorf("message %d has no \"role\"", i)
		}
	}
	return nil
}

// object reads {"messages": […], "max_tokens": N}.
func (p *promptReader) object(js []byte) error {
	inner, err := parseObject(js)
	if err != nil {
		return err
	}
	messages := inner.get("messages")
	if messages == nil {
		return fmt.Errorf("expected an object with \"messages\", it has %s", columnNames(inner))
	}
	if err := p.messages(messages); err != nil {
		return fmt.Errorf("\"messages\": %w", err)
	}
	for _, f := range inner.fields {
		if f.Name == "messages" {
			continue
		}
		if slices.Contains(lengthColumns, f.Name) {
			if p.prompt.MaxTokens, err = parseLength(f.Value.Data); err != nil {
				return fmt.Errorf("%q: %w", f.Name, err)
			}
			p.prompt.LengthField = ownField(f.Name)
			continue
		}
		p.prompt.Extra = append(p.prompt.Extra, f)
	}
	return nil
}

// body reads a complete request.
func (p *promptReader) body(js []byte) error {
	prompt, err := parseBody(js)
	p.prompt = prompt
	return err
}

// media reads images and audio.
func (p *promptReader) media(*workload.Entry) error {
	for _, kind := range []struct {
		names []string
		kind  workload.MediumKind
	}{{imageColumns, workload.Image}, {audioColumns, workload.Audio}} {
		name, js, err := p.one("media", kind.names)
		if err != nil {
			return err
		}
		if js == nil {
			continue
		}
		if p.prompt.Messages != nil || p.prompt.Body != nil {
			return fmt.Errorf("%q beside a whole conversation; put it into a message", name)
		}
		all, err := parseMedia(js)
		if err != nil {
			return fmt.Errorf("%q: %w", name, err)
		}
		for _, one := range all {
			m, err := readMedium(kind.kind, one, p.file)
			if err != nil {
				return fmt.Errorf("%q: %w", name, err)
			}
			p.prompt.Media = append(p.prompt.Media, m)
		}
	}
	return p.audioLength()
}

// audioLength reads the length of the only clip of the row, in seconds.
func (p *promptReader) audioLength() error {
	if len(p.prompt.Media) != 1 || p.prompt.Media[0].Kind != workload.Audio {
		return nil
	}
	name, js, err := p.one("the length of the clip", audioLengths)
	if js == nil || err != nil {
		return err
	}
	seconds, err := parseNumber(js)
	if err == nil && !(seconds > 0 && seconds <= openai.MaxAudioSeconds) {
		err = fmt.Errorf("%v: must be above 0 and at most %g", seconds, openai.MaxAudioSeconds)
	}
	if err != nil {
		return fmt.Errorf("%q: %w", name, err)
	}
	p.prompt.Media[0].Seconds = seconds
	return nil
}

// output reads the output length.
func (p *promptReader) output(*workload.Entry) error {
	name, js, err := p.one("the length of the answer", lengthColumns)
	if js == nil || err != nil {
		return err
	}
	n, err := parseLength(js)
	if err != nil {
		return fmt.Errorf("%q: %w", name, err)
	}
	if p.prompt.Body != nil { // a complete request has its own
		p.file.ignore(name)
		return nil
	}
	p.prompt.MaxTokens, p.prompt.LengthField = n, ownField(name)
	return nil
}

// ownField returns the name under which a request has the output length that a row names so: the
// name itself if it is OpenAI's, else "".
func ownField(name string) string {
	if name == "output_length" || name == "output_tokens" {
		return ""
	}
	return name
}

// parseLength parses a number of tokens of at least 1.
func parseLength(js []byte) (int, error) {
	n, err := parseCount(js)
	if err == nil && n == 0 {
		err = errors.New("0: must be at least 1")
	}
	return n, err
}

// conversation reads the session of the row.
func (p *promptReader) conversation(e *workload.Entry) error {
	name, js, err := p.one("a session", sessionColumns)
	if js == nil || err != nil {
		return err
	}
	if js[0] == '"' {
		e.Session, err = parseString(js)
	} else {
		_, err = parseNumber(js)
		e.Session = string(js)
	}
	if err != nil {
		return fmt.Errorf("%q: %w", name, err)
	}
	return nil
}

// time reads the send time and the think time of the row, in milliseconds.
func (p *promptReader) time(e *workload.Entry) error {
	for _, member := range []struct {
		name string
		set  func(time.Duration)
	}{
		{"timestamp", func(d time.Duration) { e.Timed, e.Offset = true, d }},
		{"delay", func(d time.Duration) { e.Delay = d }},
	} {
		ms, ok, err := p.row.number(member.name)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		p.used[member.name] = true
		d, err := duration(ms, time.Millisecond)
		if err != nil {
			return fmt.Errorf("%q: %w", member.name, err)
		}
		member.set(d)
	}
	return nil
}

// extra reads "extra", an object with further members of the request, which replace the row's.
func (p *promptReader) extra(*workload.Entry) error {
	js := p.row.get("extra")
	if js == nil || js[0] != '{' {
		return nil
	}
	p.used["extra"] = true
	inner, err := parseObject(js)
	if err != nil {
		return fmt.Errorf("\"extra\": %w", err)
	}
	if p.prompt.Body != nil {
		body, err := openai.MergeRequest(p.prompt.Body, js)
		if err == nil {
			p.prompt, err = parseBody(body)
		}
		return err
	}
	for _, m := range inner.fields {
		p.used[m.Name] = true
	}
	p.prompt.Extra = append(p.prompt.Extra, inner.fields...)
	return nil
}

// passOn adds the remaining members to the request, unknown ones too, because servers take
// members that nobody here knows. It records the unknown members and the ones that it leaves
// out: members of pa-record that this row cannot use, and unknown members of a trace.
func (p *promptReader) passOn() {
	for _, f := range p.row.fields {
		switch {
		case p.used[f.Name] || string(f.Value.Data) == "null":
		case p.prompt.Body != nil, p.isUnsent(f.Name), p.onlyKnown && !requestMembers[f.Name]:
			p.file.ignore(f.Name)
		default:
			if !requestMembers[f.Name] {
				p.file.pass(f.Name)
			}
			p.prompt.Extra = append(p.prompt.Extra, export.Field{Name: f.Name, Value: f.Value})
		}
	}
}

// isUnsent reports whether pa-record reads members of this name itself, though not in this
// row.
func (p *promptReader) isUnsent(name string) bool {
	return slices.Contains(unsentMembers, name) || slices.Contains(systemColumns, name) && p.prompt.Messages != nil
}
