package dataset

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// shareGPT is the layout of conversations:
//
//	{"id": "a", "conversations": [{"from": "human", "value": "…"}, {"from": "gpt", "value": "…"}, …]}
//
// or with "role" and "content". The first human message is an entry. With Options.Sessions,
// every human message is a turn of a session. Messages before the first human message are
// dropped, except system instructions. A conversation without a human message is skipped.
type shareGPT struct {
	f *file
	o *Options
}

func fitsShareGPT(r *row, _ *file) bool { return r.has("conversations") || r.has("conversation") }

func newShareGPT(f *file, o *Options) layout { return &shareGPT{f, o} }

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

func (l *shareGPT) entries(r *row, i int) ([]workload.Entry, error) {
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
	for k, s := range all {
		switch s.speaker() {
		case "system":
			if len(out) == 0 {
				system = s.text()
			}
		case "user":
			if len(out) > 0 && !l.o.Sessions {
				l.leaveOutTurns(all[k:])
				return out, nil
			}
			e := workload.Entry{Prompt: &workload.Prompt{Text: s.text()}, Turn: len(out)}
			if len(out) == 0 {
				e.Prompt.System = system
			}
			if l.o.Sessions {
				e.Session = session
			}
			out = append(out, e)
		case "assistant":
			if n := len(out); n > 0 && k > 0 && all[k-1].speaker() == "user" {
				out[n-1].Prompt.MaxTokens = l.o.replyTokens(s.text())
			}
		default:
			return nil, fmt.Errorf("\"conversations\": message %d is from %q; expected human, gpt or system", k, clip([]byte(s.From+s.Role)))
		}
	}
	if len(out) == 0 {
		l.f.leaveOut("a conversation in which no human speaks")
	}
	return out, nil
}

// leaveOutTurns counts the turns of the rest of a conversation, which are not sent.
func (l *shareGPT) leaveOutTurns(rest []chatMessage) {
	if !l.f.opening {
		return
	}
	l.f.facts.UnsentOf++
	for _, m := range rest {
		if m.speaker() == "user" {
			l.f.facts.UnsentTurns++
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
