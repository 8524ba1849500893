package dataset

import (
	"fmt"
	"slices"
	"time"

	"github.com/pa-tools/pa/pkg/recorder/workload"
)

func fitsBaseten(r *row, _ *file) bool {
	return r.has("timestamp_start_unix_ms", "prompt", "input_tokens", "output_tokens")
}

// basetenSessionColumns can name the session of a row: the first of them with a name that several rows have does.
var basetenSessionColumns = []string{"provided_session_id", "poor_man_session_id"}

// basetenGroup returns the session of a row. A row without a name is a session of its own.
func basetenGroup(f *file, _ *Options, r *row, i int) ([]string, error) {
	if i == 0 {
		if err := f.findSessionColumn(basetenSessionColumns); err != nil {
			return nil, err
		}
	}
	at, err := unixTime(r, "timestamp_start_unix_ms", time.Millisecond)
	if err != nil {
		return nil, err
	}
	f.startAt(at)
	name, err := f.basetenSession(r, i)
	return []string{name}, err
}

// basetenSession returns the name of the session of row i.
func (f *file) basetenSession(r *row, i int) (string, error) {
	if f.sessionColumn == "" || r.get(f.sessionColumn) == nil {
		return fmt.Sprintf("row %d", i+1), nil
	}
	return requiredName(r, f.sessionColumn)
}

// findSessionColumn finds the first of the columns that has one name in several rows.
func (f *file) findSessionColumn(columns []string) error {
	seen := make([]map[string]bool, len(columns))
	repeated := make([]bool, len(columns))
	for k := range columns {
		seen[k] = map[string]bool{}
	}
	for i := 0; i < f.rowsRead && !repeated[0]; i++ {
		r, err := f.rows.row(i)
		if err != nil {
			return err
		}
		for k, name := range columns {
			js := r.get(name)
			if js == nil || repeated[k] {
				continue
			}
			repeated[k] = seen[k][string(js)]
			seen[k][string(js)] = true
		}
	}
	if k := slices.Index(repeated, true); k >= 0 {
		f.sessionColumn = columns[k]
		f.assume(fmt.Sprintf("rows with one %q are a session", columns[k]))
	}
	return nil
}

// basetenSessions returns the session of rows of Baseten's traces, in Parquet: whole prompts for completions, with the length of the
// answer, the start and the duration.
//
//	timestamp_start_unix_ms, prompt, input_tokens, output_tokens, provided_session_id, poor_man_session_id, duration_e2e_ms, …
//
// A request is sent after the end of the one before it and the time that the user thought: from the recorded end to the start. Where the
// duration is not recorded, it is sent its recorded distance after the start, but not before the end.
func basetenSessions(f *file, _ *Options, rows []groupRow) ([]*workload.Session, error) {
	id, err := f.basetenSession(rows[0].row, rows[0].i)
	if err != nil {
		return nil, err
	}
	times := make([]time.Time, len(rows))
	for i, r := range rows {
		if times[i], err = unixTime(r.row, "timestamp_start_unix_ms", time.Millisecond); err == nil {
			err = f.check(r.row, basetenRequest)
		}
		if err != nil {
			return nil, r.fault("%w", err)
		}
	}
	s, sorted := f.scheduledSession(id, rows, times, basetenRequest)
	for i, r := range sorted {
		took, err := r.duration("duration_e2e_ms", time.Millisecond)
		if err != nil {
			return nil, r.fault("%w", err)
		}
		if r.get("duration_e2e_ms") == nil {
			continue // as scheduled
		}
		past := &s.Nodes[i].Past
		past.Ended, past.End = true, sum(past.Start, took)
		if i+1 < len(sorted) {
			s.Nodes[i+1].After = []workload.Edge{{From: i, Delay: max(0, s.Nodes[i+1].Past.Start-past.End)}}
		}
	}
	return []*workload.Session{s}, nil
}

func basetenRequest(f *file, r *row) (workload.Entry, error) {
	at, err := unixTime(r, "timestamp_start_unix_ms", time.Millisecond)
	if err != nil {
		return workload.Entry{}, err
	}
	text, err := required(r.string("prompt"))
	if err != nil {
		return workload.Entry{}, fmt.Errorf("\"prompt\": %w", err)
	}
	if _, _, err := r.count("input_tokens"); err != nil {
		return workload.Entry{}, err
	}
	out, err := required(r.count("output_tokens"))
	if err != nil {
		return workload.Entry{}, fmt.Errorf("\"output_tokens\": %w", err)
	}
	return workload.Entry{
		Prompt: &workload.Prompt{Text: text, MaxTokens: f.atLeastOne(out), Exact: true},
		Whole:  true, Timed: true, Offset: at.Sub(f.start),
	}, nil
}
