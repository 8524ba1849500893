package dataset

import (
	"bytes"
	"strings"

	"github.com/pa-tools/pa/pkg/recorder/workload"
	"github.com/pa-tools/pa/pkg/wire/openai"
)

// Facts holds numbers of entries with properties that decide which settings have an effect on
// them.
type Facts struct {
	Entries int
	Prompts int // entries that are prompts, not tensors or whole requests
	Lengths int // prompts with an output length
	// OwnFields is the number of prompts whose row names the output length as a request does.
	OwnFields  int
	Whole      int // whole requests, sent as they are
	Timed      int // entries with a time in a schedule
	Delays     int // entries with a think time
	LaterTurns int // later turns of conversations that need the history before them
	Unstreamed int // entries that say "stream": false
	// Answered is the number of later turns before which the data has an answer. Options.RecordedHistory decides which answers are
	// their history.
	Answered int
	// UnsentTurns is the number of turns that were left out because Options.Sessions is not
	// set, and UnsentOf the number of their conversations.
	UnsentTurns, UnsentOf int
	// Later turns of a trace with lengths only: TraceWhole are whole prompts by their hash ids or by the layout, TraceNew are what the
	// turn adds by their hash ids, and of TraceUnknown nothing says what they are.
	TraceWhole, TraceNew, TraceUnknown int
	Blocks                             int  // rows of a trace with hash ids
	Trace                              bool // a file is a trace, whose rows hold lengths in place of texts

	Sessions workload.SessionFacts // of layouts of sessions
}

// count adds the entries of a row. turns holds the turns of all entries so far, if sessions span
// rows.
func (x *Facts) count(es []workload.Entry, turns []uint16) {
	for k := range es {
		e := &es[k]
		x.Entries++
		turn := e.Turn
		if turns != nil {
			turn = int(turns[len(turns)-len(es)+k])
		}
		if turn > 0 && !e.Whole {
			x.LaterTurns++
		}
		if e.Timed {
			x.Timed++
		}
		if e.Delay > 0 {
			x.Delays++
		}
		x.countRequest(e)
	}
}

// countRequest adds the request of an entry.
func (x *Facts) countRequest(e *workload.Entry) {
	p := e.Prompt
	body := []byte(nil)
	switch {
	case p == nil:
		payload, ok := e.Values.Get("payload")
		if !ok {
			return
		}
		x.Whole++
		body = only(payload.Data)
	case p.Body != nil:
		x.Whole++
		body = p.Body
	default:
		x.Prompts++
		if p.MaxTokens > 0 {
			x.Lengths++
			if p.LengthField != "" {
				x.OwnFields++
			}
		}
		if v, ok := p.Extra.Get("stream"); ok && string(v.Data) == "false" {
			x.Unstreamed++
		}
		return
	}
	if !bytes.Contains(body, []byte(`"stream"`)) {
		return
	}
	if info, err := openai.InspectRequest(body); err == nil && info.HasStream && !info.Stream {
		x.Unstreamed++
	}
}

// Facts returns the facts of all files.
func (s *Set) Facts() Facts { return s.facts }

// Ignored returns the names of the members that requests do not get, for each file that has some:
// FILE: "a", "b".
func (s *Set) Ignored() []string {
	var all []string
	for _, f := range s.files {
		if names := f.ignored.names; len(names) > 0 {
			all = append(all, f.src.name+": "+strings.Join(quoteAll(names), ", "))
		}
	}
	return all
}

// mostMembers bounds the names that a file is remembered by.
const mostMembers = 10_000

// memberNames is a list of different names, in the order of their first use.
type memberNames struct {
	names []string
	seen  map[string]bool
}

func (m *memberNames) add(name string) {
	if m.seen[name] || len(m.names) == mostMembers {
		return
	}
	if m.seen == nil {
		m.seen = map[string]bool{}
	}
	m.seen[name] = true
	m.names = append(m.names, name)
}
