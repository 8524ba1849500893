package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

func fitsShareGPT(r *row, _ *file) bool { return r.has("conversations") || r.has("conversation") }

// A chatMessage is one message of a conversation.
type chatMessage struct {
	From, Value   string
	Role, Content string
}

// speaker returns "user", "assistant" or "system"; "" for any other name.
func (s chatMessage) speaker() string {
	name := s.From
	if name == "" {
		name = s.Role
	}
	switch name {
	case "human", "user":
		return "user"
	case "gpt", "assistant", "chatgpt", "bing", "bard", "model":
		return "assistant"
	case "system":
		return "system"
	}
	return ""
}

func (s chatMessage) text() string {
	if s.Value != "" {
		return s.Value
	}
	return s.Content
}

// conversation returns the entries of a row of ShareGPT:
//
//	{"id": "a", "conversations": [{"from": "human", "value": "…"}, {"from": "gpt", "value": "…"}, …]}
//
// or with "role" and "content". The first human message is an entry. With Options.Sessions,
// every human message is a turn of a session; with Options.RecordedHistory, it is sent with all messages before it. Messages
// before the first human message are dropped, except system instructions. A conversation without a human message is skipped.
func conversation(f *file, o *Options, r *row, i int) ([]workload.Entry, error) {
	js := r.get("conversations")
	if js == nil {
		js = r.get("conversation")
	}
	var all []chatMessage
	if js == nil || json.Unmarshal(js, &all) != nil {
		return nil, errors.New(`"conversations": expected an array of {"from": "…", "value": "…"}`)
	}
	session, err := rowName(r, i)
	if err != nil {
		return nil, err
	}
	var out []workload.Entry
	system := ""
	var history recordedHistory
	for k, s := range all {
		switch s.speaker() {
		case "system":
			if len(out) == 0 {
				system = s.text()
			}
		case "user":
			if len(out) > 0 && !o.Sessions {
				f.leaveOutTurns(all[k:])
				return out, nil
			}
			e := workload.Entry{Prompt: &workload.Prompt{Text: s.text()}, Turn: len(out)}
			if len(out) == 0 {
				e.Prompt.System = system
				history.say("system", system)
			}
			history.say("user", s.text())
			if o.Sessions {
				e.Session = session
			}
			if o.Sessions && o.RecordedHistory {
				e.Prompt, e.Whole = &workload.Prompt{Messages: history.messages()}, true
			}
			if history.answered && f.opening {
				f.facts.Answered++
			}
			out = append(out, e)
		case "assistant":
			if n := len(out); n > 0 && k > 0 && all[k-1].speaker() == "user" {
				out[n-1].Prompt.MaxTokens = o.replyTokens(s.text())
			}
			if len(out) > 0 {
				history.say("assistant", s.text())
			}
		default:
			return nil, fmt.Errorf("\"conversations\": message %d is from %q; expected human, gpt or system", k, clip([]byte(s.From+s.Role)))
		}
	}
	if len(out) == 0 {
		f.leaveOut("a conversation in which no human speaks")
	}
	return out, nil
}

// recordedHistory holds the messages of a conversation so far.
type recordedHistory struct {
	list     []byte // as compact JSON, without the brackets of the list
	answered bool   // one of them is an answer
}

// say adds a message; none of instructions that are empty.
func (h *recordedHistory) say(role, text string) {
	if role == "system" && text == "" {
		return
	}
	if len(h.list) > 0 {
		h.list = append(h.list, ',')
	}
	h.list = fmt.Appendf(h.list, `{"role":%q,"content":`, role)
	h.list, _ = jsontext.AppendQuote(h.list, text) // the error is about UTF-8
	h.list = append(h.list, '}')
	h.answered = h.answered || role == "assistant"
}

// messages returns a list of all messages so far.
func (h *recordedHistory) messages() []byte { return slices.Concat([]byte("["), h.list, []byte("]")) }

// leaveOutTurns counts the turns of the rest of a conversation, which are not sent.
func (f *file) leaveOutTurns(rest []chatMessage) {
	if !f.opening {
		return
	}
	f.facts.UnsentOf++
	for _, m := range rest {
		if m.speaker() == "user" {
			f.facts.UnsentTurns++
		}
	}
}

// replyTokens returns the output length to request for a reply in the data: at least 1, or 0
// for none.
func (o *Options) replyTokens(reply string) int {
	if o.Count == nil {
		return 0
	}
	return max(1, o.Count(reply))
}

// rowName returns the "id" of a row, by default its number.
func rowName(r *row, i int) (string, error) {
	js := r.get("id")
	switch {
	case js == nil:
		return fmt.Sprint(i), nil
	case js[0] == '"':
		return parseString(js)
	}
	return clip(js), nil
}

// sessionOfTurns returns the entries of a row of AIPerf's multi_turn: a conversation, in which a turn has the form of
// a row of the layout prompts. The delay of a turn is the time before it:
//
//	{"session_id": "a", "turns": [{"text": "…"}, {"text": "…", "delay": 500}]}
func sessionOfTurns(f *file, o *Options, r *row, i int) ([]workload.Entry, error) {
	session, turns, err := sessionParts(r, i, "turns", "objects", "turn")
	if err != nil {
		return nil, err
	}
	var all []workload.Entry
	shared := sharedMembers(f, o, r)
	for turn, js := range turns {
		e, err := readTurn(f, o, js, shared)
		if err != nil {
			return nil, fmt.Errorf("\"turns\": turn %d: %w", turn, err)
		}
		if e.Session, e.Turn = session, turn; turn > 0 {
			all[turn-1].Delay = e.Delay
		}
		e.Delay = 0
		all = append(all, e)
	}
	return all, nil
}

// sharedMembers returns the members of a conversation that belong to each of its requests.
func sharedMembers(f *file, o *Options, r *row) export.Fields {
	p := promptReader{row: r, file: f, onlyKnown: o.OnlyKnown, used: map[string]bool{"session_id": true, "turns": true}}
	p.passOn()
	return p.prompt.Extra
}

// readTurn returns the entry of a turn. Its own members win over the shared ones.
func readTurn(f *file, o *Options, js []byte, shared export.Fields) (workload.Entry, error) {
	r, err := parseObject(js)
	if err != nil {
		return workload.Entry{}, err
	}
	e, err := readPrompt(r, f, o)
	if err == nil && e.Prompt.Body == nil && len(shared) > 0 {
		own := e.Prompt.Extra
		e.Prompt.Extra = append(slices.DeleteFunc(slices.Clone(shared), func(m export.Field) bool {
			_, there := own.Get(m.Name)
			return there
		}), own...)
	}
	return e, err
}

// sessionOfRequests returns the entries of a row of AIPerf's record of sent requests: a session of complete
// requests.
//
//	{"data": [{"session_id": "a", "payloads": [{…}, {…}]}, …]}
func sessionOfRequests(_ *file, _ *Options, r *row, i int) ([]workload.Entry, error) {
	session, bodies, err := sessionParts(r, i, "payloads", "requests", "request")
	if err != nil {
		return nil, err
	}
	var all []workload.Entry
	for turn, body := range bodies {
		p, err := parseBody(body)
		if err != nil {
			return nil, fmt.Errorf("\"payloads\": request %d: %w", turn, err)
		}
		all = append(all, workload.Entry{Prompt: &p, Session: session, Turn: turn, Whole: true})
	}
	return all, nil
}

// sessionParts returns the session_id of row i, by default its number, and the elements of the array name. For messages,
// kinds are what the array holds, and one is an element.
func sessionParts(r *row, i int, name, kinds, one string) (session string, parts []json.RawMessage, err error) {
	session, ok, err := r.string("session_id")
	if err != nil {
		return "", nil, err
	}
	if !ok {
		session = fmt.Sprint(i)
	}
	if js := r.get(name); js == nil || json.Unmarshal(js, &parts) != nil {
		return "", nil, fmt.Errorf("%q: expected an array of %s", name, kinds)
	}
	if len(parts) == 0 {
		return "", nil, fmt.Errorf("%q holds no %s", name, one)
	}
	return session, parts, nil
}

// question returns the entries of a layout of single questions, whose rows have the instructions, the question and
// the answer under these names. OpenOrca and CNN/DailyMail:
//
//	{"id": "…", "system_prompt": "…", "question": "…", "response": "…"}
//	{"article": "…", "highlights": "…", "id": "…"}
func question(system, question, answer string) func(*file, *Options, *row, int) ([]workload.Entry, error) {
	return func(_ *file, o *Options, r *row, _ int) ([]workload.Entry, error) {
		text, ok, err := r.string(question)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, errors.New("no " + quoteAll([]string{question})[0] + ": it has " + columnNames(r))
		}
		p := &workload.Prompt{Text: text}
		if p.System, _, err = r.string(system); err != nil {
			return nil, err
		}
		reply, ok, err := r.string(answer)
		if err != nil {
			return nil, err
		}
		if ok {
			p.MaxTokens = o.replyTokens(reply)
		}
		return []workload.Entry{{Prompt: p}}, nil
	}
}
