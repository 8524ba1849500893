package dataset

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// shareGPT are conversations:
//
//	{"id": "a", "conversations": [{"from": "human", "value": "…"}, {"from": "gpt", "value": "…"}, …]}
//
// also with "role" and "content". It gives the first thing that the human says,
// or with Options.Sessions all of them, as turns of a session. What stands before
// that is left out, but for instructions to the system. A conversation in which
// no human speaks is left out.
type shareGPT struct {
	f *file
	o *Options
}

func fitsShareGPT(r *row, _ *file) bool { return r.has("conversations") || r.has("conversation") }

func newShareGPT(f *file, o *Options) layout { return &shareGPT{f, o} }

// A saying is one message of a conversation.
type saying struct {
	From, Value   string
	Role, Content string
}

// who returns "user", "assistant", "system" or "" for somebody else.
func (s saying) who() string {
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

func (s saying) text() string {
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
	var all []saying
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
		switch s.who() {
		case "system":
			if len(out) == 0 {
				system = s.text()
			}
		case "user":
			if len(out) > 0 && !l.o.Sessions {
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
			if n := len(out); n > 0 && k > 0 && all[k-1].who() == "user" {
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

// replyTokens returns the length of the answer that is asked for when the data
// has one: at least 1, or 0 when none is to be asked for.
func (o *Options) replyTokens(reply string) int {
	if o.Count == nil {
		return 0
	}
	return max(1, o.Count(reply))
}

// rowName returns what names a row, its "id" or its number.
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
