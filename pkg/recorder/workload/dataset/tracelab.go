package dataset

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// tracelabColumns are the names of the columns of TraceLab's workloads, and of the members of its traces with the same meaning.
type tracelabColumns struct {
	session, round, prefix, added, answer string
}

var (
	tracelabTrace = tracelabColumns{"session_id", "round_index", "prefix_tokens", "newly_append_tokens", "output_tokens"}
	tracelabTable = tracelabColumns{"session_id", "round_idx", "prefix_len", "input_len", "output_len"}
	// tracelabExport is the table that TraceLab's converter writes.
	tracelabExport = tracelabColumns{"id", "round_idx", "prefix_len", "input_len", "output_len"}
)

// tracelabOf returns the names of the members of a row; ok is false if it is no row of TraceLab.
func tracelabOf(r *row) (c tracelabColumns, ok bool) {
	for _, c := range []tracelabColumns{tracelabTrace, tracelabTable, tracelabExport} {
		if r.has(c.session, c.round, c.prefix, c.added, c.answer) {
			return c, true
		}
	}
	return tracelabTrace, false
}

func fitsTraceLab(r *row, _ *file) bool {
	_, ok := tracelabOf(r)
	return ok
}

// mostTokens bounds a prompt, whose parts are held in memory.
const mostTokens = 1 << 24

// tooLong returns the error for a prompt of n tokens, more than mostTokens.
func tooLong(n int) error {
	return fmt.Errorf("a prompt of %d tokens: must have at most %d", n, mostTokens)
}

// A tracelabRound is a row of TraceLab: a request of an agent.
type tracelabRound struct {
	groupRow
	number        int
	prefix, added int // tokens of the prompt that were cached, and the others
	answer        int
	waitAfter     time.Duration // -1 for unknown
	begun, ended  time.Time     // the last event before the answer and the last one of it; zero for unknown
}

// tracelabGroup returns the session of a row, and notes its time.
func tracelabGroup(f *file, _ *Options, r *row, _ int) ([]string, error) {
	c, _ := tracelabOf(r)
	name, err := requiredName(r, c.session)
	if err != nil {
		return nil, err
	}
	events, err := tracelabEvents(r)
	if err == nil && len(events) > 0 {
		f.startAt(events[0].at)
	}
	return []string{name}, err
}

// tracelabSessions returns the session of rows of TraceLab's traces, or of its tables (CSV) with arrival_time and tool_wait_after_ms:
//
//	{"session_id": "a", "round_index": 0, "prefix_tokens": 27217, "newly_append_tokens": 5055, "output_tokens": 931,
//	 "timing_events": […], "tools": [{"tool_wall_latency_ms": 860, …}]}
//
//	session_id,arrival_time,round_idx,prefix_len,input_len,output_len,tool_wait_after_ms
//
// They hold no texts. A made-up prompt has the recorded length, and begins with as many tokens of the round before it, and of its
// made-up answer, as were cached. The tokens that were cached in the first round are common to the sessions of a provider and a model. A round
// follows the one before it after the recorded time of tools, or of the user.
func tracelabSessions(f *file, o *Options, rows []groupRow) ([]*workload.Session, error) {
	rounds, err := readTraceLab(rows)
	if err != nil {
		return nil, err
	}
	first := rounds[0]
	c, _ := tracelabOf(first.row)
	id, err := requiredName(first.row, c.session)
	if err != nil {
		return nil, err
	}
	s := &workload.Session{ID: id, Recorded: true}
	if s.Offset, s.Timed, err = tracelabStart(f, first); err != nil {
		return nil, first.fault("%w", err)
	}
	waits := make([]time.Duration, len(rounds))
	for i := 1; i < len(rounds); i++ {
		waits[i] = tracelabWait(rounds[i-1], rounds[i])
	}
	s.Nodes = chained(waits)
	context := newTracelabContext(f, id, rounds)
	numbers := make([]int, len(rounds))
	for i, r := range rounds {
		n := &s.Nodes[i]
		if n.Model, _, err = r.string("model"); err != nil {
			return nil, r.fault("%w", err)
		}
		if s.Timed && !first.begun.IsZero() && !r.begun.IsZero() && !r.ended.Before(r.begun) {
			n.Past = workload.Span{Known: true, Ended: true, Start: r.begun.Sub(first.begun), End: r.ended.Sub(first.begun)}
		}
		numbers[i] = r.i
	}
	opening := f.opening // only what is asked for counts
	s.Entry = func(i int) (workload.Entry, error) {
		var parts workload.TextParts
		if !opening {
			parts = context.prompt(i)
		}
		p, err := o.partsPrompt(parts)
		if err != nil {
			return workload.Entry{}, f.rows.fault(numbers[i], err)
		}
		p.MaxTokens = f.atLeastOne(context.rounds[i].answer)
		return workload.Entry{Step: numbers[i], Prompt: p, Whole: true}, nil
	}
	return []*workload.Session{s}, nil
}

// readTraceLab returns the rounds of a session in their order.
func readTraceLab(rows []groupRow) ([]tracelabRound, error) {
	rounds := make([]tracelabRound, len(rows))
	for i, r := range rows {
		var err error
		if rounds[i], err = readTraceLabRound(r); err != nil {
			return nil, r.fault("%w", err)
		}
	}
	slices.SortStableFunc(rounds, func(a, b tracelabRound) int { return cmp.Compare(a.number, b.number) })
	for i := 1; i < len(rounds); i++ {
		if r := rounds[i]; r.number == rounds[i-1].number {
			c, _ := tracelabOf(r.row)
			return nil, r.fault("%q: the session has another row for round %d", c.round, r.number)
		}
	}
	return rounds, nil
}

func readTraceLabRound(r groupRow) (q tracelabRound, err error) {
	q.groupRow = r
	c, _ := tracelabOf(r.row)
	for _, m := range []struct {
		name string
		to   *int
	}{{c.round, &q.number}, {c.prefix, &q.prefix}, {c.added, &q.added}, {c.answer, &q.answer}} {
		if *m.to, err = requiredCount(r.row, m.name); err != nil {
			return q, err
		}
	}
	if total, ok, err := r.count("input_tokens_total"); err != nil || ok && total != q.prefix+q.added {
		if err == nil {
			err = fmt.Errorf("\"input_tokens_total\": expected %d, the sum of %q and %q, found %d", q.prefix+q.added, c.prefix, c.added, total)
		}
		return q, err
	}
	switch n := q.prefix + q.added; {
	case n == 0:
		return q, fmt.Errorf("%q and %q: a prompt of 0 tokens", c.prefix, c.added)
	case n > mostTokens:
		return q, tooLong(n)
	}
	q.waitAfter = -1
	if r.get("tool_wait_after_ms") != nil {
		q.waitAfter, err = r.duration("tool_wait_after_ms", time.Millisecond)
		return q, err
	}
	if q.waitAfter, err = tracelabTools(r.row); err != nil {
		return q, err
	}
	events, err := tracelabEvents(r.row)
	for _, e := range events {
		if e.input {
			q.begun = laterOf(q.begun, e.at)
		} else {
			q.ended = laterOf(q.ended, e.at)
		}
	}
	return q, err
}

func laterOf(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// tracelabTools returns the longest time of the tools of a round; -1 if it has none with a time.
func tracelabTools(r *row) (time.Duration, error) {
	js := r.get("tools")
	if js == nil {
		return -1, nil
	}
	var tools []struct {
		Wall *float64 `json:"tool_wall_latency_ms"`
	}
	if json.Unmarshal(js, &tools) != nil {
		return 0, fmt.Errorf("\"tools\": expected an array of tools with \"tool_wall_latency_ms\", found %s", clip(js))
	}
	longest := time.Duration(-1)
	for i, tool := range tools {
		if tool.Wall == nil {
			continue
		}
		d, err := duration(*tool.Wall, time.Millisecond)
		if err != nil {
			return 0, fmt.Errorf("\"tools\": tool %d: \"tool_wall_latency_ms\": %w", i, err)
		}
		longest = max(longest, d)
	}
	return longest, nil
}

// A tracelabEvent is a recorded event of a round.
type tracelabEvent struct {
	at    time.Time
	input bool // of the user or a tool, before the answer
}

// tracelabEvents returns the events of a round.
func tracelabEvents(r *row) ([]tracelabEvent, error) {
	js := r.get("timing_events")
	if js == nil {
		return nil, nil
	}
	var all []struct {
		Type string `json:"event_type"`
		At   string `json:"timestamp"`
	}
	if json.Unmarshal(js, &all) != nil {
		return nil, fmt.Errorf("\"timing_events\": expected an array of events, found %s", clip(js))
	}
	var events []tracelabEvent
	for i, e := range all {
		if e.At == "" {
			continue
		}
		at, err := time.Parse(time.RFC3339, e.At)
		if err != nil {
			return nil, fmt.Errorf("\"timing_events\": event %d: %q is not a time such as 2026-06-01T05:40:20.151Z", i, clip([]byte(e.At)))
		}
		events = append(events, tracelabEvent{at, e.Type == "user_message" || e.Type == "tool_result"})
	}
	return events, nil
}

// tracelabStart returns when the session begins.
func tracelabStart(f *file, first tracelabRound) (at time.Duration, timed bool, err error) {
	if first.get("arrival_time") != nil {
		at, err = first.duration("arrival_time", time.Millisecond)
		return at, true, err
	}
	events, err := tracelabEvents(first.row)
	if err != nil || len(events) == 0 {
		return 0, false, err
	}
	return between(f.start, events[0].at), true, nil
}

// tracelabWait returns the recorded time between the end of a round and the beginning of the next one: from the last event of the answer to
// the last result or message before the next one, else the longest time of a tool.
func tracelabWait(before, next tracelabRound) time.Duration {
	if !before.ended.IsZero() && !next.begun.IsZero() {
		return between(before.ended, next.begun)
	}
	return max(0, before.waitAfter)
}

// A tracelabContext is what the prompts of a session are made of. Each round r has three pieces: 3r was cached, but is not of the round
// before it; 3r+1 is new; 3r+2 is the answer.
type tracelabContext struct {
	session, head string
	rounds        []tracelabLengths
	// cuts are the tokens within a piece at which prompts stop having it in common, sorted. The parts of a piece end there, so that
	// prompts have exactly these tokens in common.
	cuts map[int][]int

	// pieces are the pieces of the prompt of round at, the latest one that was asked for.
	pieces []tracelabPiece
	at     int
}

// tracelabLengths are the lengths of a round.
type tracelabLengths struct{ prefix, added, answer int }

// A tracelabPiece is the first tokens of a piece.
type tracelabPiece struct{ number, tokens int }

// headPart is the length of the parts of a piece that sessions have in common, some of them less of it than others.
const headPart = 64

func newTracelabContext(f *file, session string, rounds []tracelabRound) *tracelabContext {
	provider, _, _ := rounds[0].string("provider") // these are only names
	model, _, _ := rounds[0].string("model")
	x := &tracelabContext{session: session, head: "head " + provider + " " + model, cuts: map[int][]int{}, at: -1}
	for _, r := range rounds {
		x.rounds = append(x.rounds, tracelabLengths{r.prefix, r.added, r.answer})
	}
	if rounds[0].prefix > 0 {
		f.assume("the tokens that were cached in the first round of a session are common to the sessions of its provider and model")
	}
	for i := range x.rounds {
		cut, foreign := x.step()
		if cut.tokens > 0 {
			x.cuts[cut.number] = append(x.cuts[cut.number], cut.tokens)
		}
		if foreign && i > 0 {
			f.assume("cached tokens that belong neither to the round before nor to its answer are generated again")
		}
	}
	for piece, cuts := range x.cuts {
		slices.Sort(cuts)
		x.cuts[piece] = slices.Compact(cuts)
	}
	return x
}

// step goes to the prompt of the next round. It returns the piece that the prompt has the first tokens of, if it cuts one, and whether
// more was cached than the context before it has.
func (x *tracelabContext) step() (cut tracelabPiece, foreign bool) {
	if x.at >= 0 {
		x.pieces = append(x.pieces, tracelabPiece{3*x.at + 2, x.rounds[x.at].answer})
	}
	x.at++
	r := x.rounds[x.at]
	left := r.prefix
	for i := range x.pieces {
		if p := &x.pieces[i]; p.tokens >= left {
			if p.tokens > left && left > 0 {
				cut = tracelabPiece{p.number, left}
			}
			p.tokens = left
			x.pieces = x.pieces[:i+1]
		}
		left -= x.pieces[i].tokens
		if left == 0 {
			break
		}
	}
	if left > 0 {
		x.pieces = append(x.pieces, tracelabPiece{3 * x.at, left})
	}
	x.pieces = append(x.pieces, tracelabPiece{3*x.at + 1, r.added})
	return cut, left > 0
}

// prompt returns the parts of the prompt of round i.
func (x *tracelabContext) prompt(i int) workload.TextParts {
	if i < x.at {
		x.pieces, x.at = nil, -1
	}
	for x.at < i {
		x.step()
	}
	var all workload.TextParts
	for _, p := range x.pieces {
		of, begin := x.session, 0
		if p.number == 0 {
			of = x.head
		}
		add := func(end int) {
			if end > begin {
				all.Add(partName(of, p.number, begin), end-begin)
				begin = end
			}
		}
		for _, end := range append(slices.Clone(x.cuts[p.number]), p.tokens) {
			for p.number == 0 && begin+headPart < end {
				add(begin/headPart*headPart + headPart)
			}
			if add(min(end, p.tokens)); end >= p.tokens {
				break
			}
		}
	}
	return all
}
