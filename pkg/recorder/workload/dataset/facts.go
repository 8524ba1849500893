package dataset

import (
	"bytes"

	"github.com/pa-tools/pa/pkg/recorder/workload"
	"github.com/pa-tools/pa/pkg/wire/openai"
)

// Facts holds numbers of entries with properties that decide which settings have an effect on
// them.
type Facts struct {
	Entries int
	Prompts int // entries that are prompts, not tensors or whole requests
	Lengths int // prompts that name their own output length
	// OwnFields is the number of those that name the member of the request, too.
	OwnFields int
	Whole     int // whole requests, sent as they are
	Media     int // prompts with images or audio
	Timed     int // with a time in a schedule
	Delays    int // with a think time
	// LaterTurns is the number of later turns of conversations that need the history before
	// them, and Conversations the number of conversations with such turns.
	LaterTurns, Conversations int
	Unstreamed                int // that say "stream": false
	// UnsentTurns is the number of turns that were left out because Options.Sessions is not
	// set, and UnsentOf the number of their conversations.
	UnsentTurns, UnsentOf int
	// TraceWhole, TraceNew and TraceUnknown are the numbers of later turns of a trace that
	// extend the turn before, that do not, and that have no hash ids.
	TraceWhole, TraceNew, TraceUnknown int
	Trace                              bool // rows hold lengths in place of texts
	Blocks                             int  // rows of a trace with hash ids
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
			if turn == 1 {
				x.Conversations++
			}
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
		if len(p.Media) > 0 {
			x.Media++
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

// add adds the numbers of y.
func (x *Facts) add(y *Facts) {
	for _, n := range [][2]*int{
		{&x.Entries, &y.Entries},
		{&x.Prompts, &y.Prompts},
		{&x.Lengths, &y.Lengths},
		{&x.OwnFields, &y.OwnFields},
		{&x.Whole, &y.Whole},
		{&x.Media, &y.Media},
		{&x.Timed, &y.Timed},
		{&x.Delays, &y.Delays},
		{&x.LaterTurns, &y.LaterTurns},
		{&x.Conversations, &y.Conversations},
		{&x.Unstreamed, &y.Unstreamed},
		{&x.UnsentTurns, &y.UnsentTurns},
		{&x.UnsentOf, &y.UnsentOf},
		{&x.TraceWhole, &y.TraceWhole},
		{&x.TraceNew, &y.TraceNew},
		{&x.TraceUnknown, &y.TraceUnknown},
		{&x.Blocks, &y.Blocks},
	} {
		*n[0] += *n[1]
	}
	x.Trace = x.Trace || y.Trace
}

// Facts returns the facts of all files.
func (s *Set) Facts() Facts {
	var all Facts
	for _, f := range s.files {
		all.add(&f.facts)
	}
	return all
}

// Ignored returns the names of the members that requests do not get, by file, in the order of the
// files.
func (s *Set) Ignored() []IgnoredMembers {
	var all []IgnoredMembers
	for _, f := range s.files {
		if len(f.ignored.names) > 0 {
			all = append(all, IgnoredMembers{f.src.name, f.ignored.names})
		}
	}
	return all
}

// IgnoredMembers holds the names of the members of a file's rows that requests do not get.
type IgnoredMembers struct {
	File    string
	Members []string
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
