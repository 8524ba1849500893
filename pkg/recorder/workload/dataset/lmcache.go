package dataset

import (
	"slices"
	"time"

	"github.com/pa-tools/pa/pkg/recorder/workload"
)

func fitsLMCache(r *row, _ *file) bool {
	return r.has("session_id", "input") && (r.has("pre_gap") || r.has(lmcacheStart))
}

// lmcacheStart is the start of a request, in seconds since the first one of its session, in traces without "pre_gap".
const lmcacheStart = "session_timestamp"

// lmcacheSessions returns the session of rows of LMCache's agentic traces, which hold whole requests in the order of
// the session, the lengths of their answers, and the seconds between an answer and the next request:
//
//	{"session_id": "a", "model": "m", "input": [{"role": "user", "content": "…"}], "output_length": 20, "pre_gap": 0.7}
//
// Rows with "session_timestamp" in place of "pre_gap" say when they began; see [scheduled].
func lmcacheSessions(f *file, _ *Options, rows []groupRow) ([]*workload.Session, error) {
	id, err := requiredName(rows[0].row, "session_id")
	if err != nil {
		return nil, err
	}
	if rows[0].get("pre_gap") == nil && rows[0].has(lmcacheStart) {
		s, err := lmcacheScheduled(f, id, rows)
		return []*workload.Session{s}, err
	}
	waits := make([]time.Duration, len(rows))
	for i, r := range rows {
		if waits[i], err = r.duration("pre_gap", time.Second); err == nil {
			err = f.check(r.row, lmcacheRequest)
		}
		if err != nil {
			return nil, r.fault("%w", err)
		}
	}
	if waits[0] > 0 {
		f.assume(`the "pre_gap" of a session's first request is not waited for`)
	}
	s := &workload.Session{ID: id, Nodes: chained(waits), Recorded: true, Entry: f.reread(rows, lmcacheRequest)}
	return []*workload.Session{s}, nameModels(s, rows)
}

// lmcacheScheduled returns the session of rows that say when they began.
func lmcacheScheduled(f *file, id string, rows []groupRow) (*workload.Session, error) {
	times := make([]time.Time, len(rows))
	for i, r := range rows {
		var err error
		if times[i], err = unixTime(r.row, lmcacheStart, time.Second); err == nil {
			err = f.check(r.row, lmcacheRequest)
		}
		if err != nil {
			return nil, r.fault("%w", err)
		}
	}
	s, sorted := f.scheduledSession(id, rows, times, lmcacheRequest)
	s.Timed, s.Offset = false, 0 // the times are those within the session
	return s, nameModels(s, sorted)
}

func lmcacheRequest(f *file, r *row) (workload.Entry, error) {
	e, err := f.wholeMessages(r, "input", "session_id", "output_length", "pre_gap", lmcacheStart)
	if err == nil {
		e.Prompt.MaxTokens, err = f.recordedTokens(r, "output_length")
	}
	return e, err
}

// leastMicroseconds is the least time that is taken for microseconds since 1970, whatever else a row has: March 1973. As milliseconds it
// is thousands of years away.
const leastMicroseconds = 1e14

func fitsLMCacheText(r *row, _ *file) bool {
	if !r.has("timestamp", "input", "output", "session_id") {
		return false
	}
	input, output := r.get("input"), r.get("output")
	at, ok, err := r.number("timestamp")
	return ok && err == nil && (at >= leastMicroseconds || len(r.fields) == 4) &&
		len(input) > 0 && input[0] == '"' && (output == nil || output[0] == '"')
}

// lmcacheTextSessions returns the session of rows of LMCache's earlier traces, in which each request is one text, with the
// recorded answer and the time of the request in microseconds:
//
//	{"timestamp": 1760428258635837, "input": "…", "output": "…", "session_id": "a"}
//
// The rows are put in the order of their times. Since the ends of the answers are not recorded, a request is sent its
// recorded distance after the start of the one before it, or at that one's end if that is later.
func lmcacheTextSessions(f *file, o *Options, rows []groupRow) ([]*workload.Session, error) {
	id, err := requiredName(rows[0].row, "session_id")
	if err != nil {
		return nil, err
	}
	read := func(f *file, r *row) (workload.Entry, error) { return lmcacheTextRequest(f, o, r) }
	times := make([]time.Time, len(rows))
	for i, r := range rows {
		if times[i], err = unixTime(r.row, "timestamp", time.Microsecond); err == nil {
			err = f.check(r.row, read)
		}
		if err != nil {
			return nil, r.fault("%w", err)
		}
	}
	s, _ := f.scheduledSession(id, rows, times, read)
	return []*workload.Session{s}, nil
}

// scheduledSession returns the session of rows that are whole requests and began at these times, and the rows in the order of time.
func (f *file) scheduledSession(id string, rows []groupRow, times []time.Time, read func(*file, *row) (workload.Entry, error)) (_ *workload.Session, sorted []groupRow) {
	order := make([]int, len(rows))
	for i := range order {
		if order[i] = i; i > 0 && times[i].Before(times[i-1]) {
			f.assume("rows that are earlier than the row before them in their session are sorted by time")
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return times[a].Compare(times[b]) })
	sorted, starts := make([]groupRow, len(rows)), make([]time.Time, len(rows))
	for i, k := range order {
		sorted[i], starts[i] = rows[k], times[k]
	}
	s := &workload.Session{
		ID: id, Timed: true, Offset: starts[0].Sub(f.start), Nodes: scheduled(starts), Recorded: true, Entry: f.reread(sorted, read),
	}
	for i := range s.Nodes {
		s.Nodes[i].Past = workload.Span{Known: true, Start: starts[i].Sub(starts[0])}
	}
	return s, sorted
}

// lmcacheTextGroup returns the session of a row, and notes its time.
func lmcacheTextGroup(f *file, _ *Options, r *row, _ int) ([]string, error) {
	name, err := requiredName(r, "session_id")
	if err != nil {
		return nil, err
	}
	at, err := unixTime(r, "timestamp", time.Microsecond)
	f.startAt(at)
	return []string{name}, err
}

func lmcacheTextRequest(f *file, o *Options, r *row) (workload.Entry, error) {
	text, err := requiredMember(r, "input", parseString)
	if err != nil {
		return workload.Entry{}, err
	}
	answer, _, err := r.string("output")
	if err != nil {
		return workload.Entry{}, err
	}
	e := workload.Entry{Whole: true, Prompt: f.parameters(r, "timestamp", "input", "output", "session_id")}
	e.Prompt.Text = text
	if answer != "" {
		e.Prompt.MaxTokens = o.replyTokens(answer)
	} else if o.Count != nil {
		f.assume("no length is asked for where the recorded answer is empty")
	}
	return e, nil
}
