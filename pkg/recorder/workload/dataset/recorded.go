package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/pa-tools/pa/internal/jsonscan"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// groupBy returns the group of a layout whose sessions are named by a member.
func groupBy(member string) func(*file, *Options, *row, int) ([]string, error) {
	return func(_ *file, _ *Options, r *row, _ int) ([]string, error) {
		name, err := requiredName(r, member)
		return []string{name}, err
	}
}

// requiredName returns a member that names something: a string that is not empty, or a number.
func requiredName(r *row, member string) (string, error) {
	js := r.get(member)
	if js == nil {
		return "", missing(r, member)
	}
	name, err := string(js), error(nil)
	if js[0] == '"' {
		if name, err = parseString(js); err == nil && name == "" {
			err = errors.New("is empty")
		}
	} else {
		_, err = parseNumber(js)
	}
	if err != nil {
		return "", fmt.Errorf("%q: %w", member, err)
	}
	return name, nil
}

// chained returns the nodes of whole requests that follow each other: node i is sent when the one before it has ended and
// waits[i] is over. The wait of the first one is not used.
func chained(waits []time.Duration) []workload.Node {
	nodes := make([]workload.Node, len(waits))
	edges := make([]workload.Edge, len(waits))
	for i := range nodes {
		nodes[i].Continues = -1
		if i > 0 {
			edges[i] = workload.Edge{From: i - 1, Delay: waits[i]}
			nodes[i].After = edges[i : i+1 : i+1]
		}
	}
	return nodes
}

// scheduled returns the nodes of whole requests that follow each other and have recorded starts: node i is sent its recorded
// distance after the start of the one before it, but not before that one has ended.
func scheduled(starts []time.Time) []workload.Node {
	nodes := make([]workload.Node, len(starts))
	for i := range nodes {
		nodes[i].Continues = -1
		if i > 0 {
			nodes[i].After = []workload.Edge{
				{From: i - 1, Anchor: workload.AfterStart, Delay: between(starts[i-1], starts[i])},
				{From: i - 1},
			}
		}
	}
	return nodes
}

// reread returns the Entry of a session whose request i is row i of rows, as read reads it. It reads the row from the file again,
// so that an open session holds none.
func (f *file) reread(rows []groupRow, read func(f *file, r *row) (workload.Entry, error)) func(int) (workload.Entry, error) {
	numbers := make([]int, len(rows))
	for i, r := range rows {
		numbers[i] = r.i
	}
	return func(i int) (workload.Entry, error) {
		if f.opening { // check has noted what there is to say about the row
			f.opening = false
			defer func() { f.opening = true }()
		}
		at := numbers[i]
		r, err := f.rows.row(at)
		var e workload.Entry
		if err == nil {
			e, err = read(f, r)
		}
		if err != nil {
			return e, f.rows.fault(at, err)
		}
		e.Step = at
		return e, nil
	}
}

// duration returns a member that is a time of at least 0 in units; 0 if it is absent or null.
func (r *row) duration(name string, unit time.Duration) (time.Duration, error) {
	n, ok, err := r.number(name)
	if err != nil || !ok {
		return 0, err
	}
	d, err := duration(n, unit)
	if err != nil {
		return 0, fmt.Errorf("%q: %w", name, err)
	}
	return d, nil
}

// recordedTokens returns the length of a recorded answer, in the first of the members that the row has, to ask for: at least 1. It
// is 0 if the row has none of them.
func (f *file) recordedTokens(r *row, names ...string) (int, error) {
	for _, name := range names {
		n, ok, err := r.count(name)
		if err != nil {
			return 0, err
		}
		if ok {
			return f.atLeastOne(n), nil
		}
	}
	return 0, nil
}

// atLeastOne returns the length to ask for where an answer of n tokens was recorded.
func (f *file) atLeastOne(n int) int {
	if n == 0 {
		f.assume("recorded answers of 0 tokens are asked for with 1 token")
	}
	return max(1, n)
}

// wholeMessages returns the entry of a request whose row holds its messages in a member, all of them. used are the further members that
// the caller reads; the others become parameters of the request if they are known to be such. The messages are checked while the
// file is opened.
func (f *file) wholeMessages(r *row, messages string, used ...string) (workload.Entry, error) {
	js := r.get(messages)
	if js == nil {
		return workload.Entry{}, missing(r, messages)
	}
	if f.opening {
		if err := checkMessages(js); err != nil {
			return workload.Entry{}, fmt.Errorf("%q: %w", messages, err)
		}
	}
	e := workload.Entry{Whole: true, Prompt: f.parameters(r, append(used, messages)...)}
	e.Prompt.Messages = js
	if r.text == nil {
		var err error
		if e.Prompt.Messages, err = withoutNulls(js); err != nil {
			return e, fmt.Errorf("%q: %w", messages, err)
		}
	}
	return e, nil
}

// withoutNulls returns messages without the members that are null. In a table each message has all members that any of them has, and
// servers refuse some that are null.
func withoutNulls(messages []byte) ([]byte, error) {
	var all []json.RawMessage
	if err := json.Unmarshal(messages, &all); err != nil {
		return nil, jsonscan.InWords(err)
	}
	out := []byte("[")
	for i, js := range all {
		m, err := parseObject(js)
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", i, err)
		}
		m.fields = slices.DeleteFunc(m.fields, func(f export.Field) bool { return string(f.Value.Data) == "null" })
		if i > 0 {
			out = append(out, ',')
		}
		out = appendObject(out, m.fields)
	}
	return append(out, ']'), nil
}

// appendObject appends members as a compact JSON object.
func appendObject(b []byte, members export.Fields) []byte {
	b = append(b, '{')
	for i, m := range members {
		if i > 0 {
			b = append(b, ',')
		}
		b, _ = jsontext.AppendQuote(b, m.Name) // the error is about UTF-8
		b = append(append(b, ':'), m.Value.Data...)
	}
	return append(b, '}')
}

// check reads the request of a row, only to find its mistakes, while the file is opened.
func (f *file) check(r *row, read func(f *file, r *row) (workload.Entry, error)) error {
	if !f.opening {
		return nil
	}
	_, err := read(f, r)
	return err
}

// nameModels gives node i of s the "model" of row i.
func nameModels(s *workload.Session, rows []groupRow) error {
	for i, r := range rows {
		model, _, err := r.string("model")
		if err != nil {
			return r.fault("%w", err)
		}
		s.Nodes[i].Model = model
	}
	return nil
}

// parameters returns a prompt with the members of a row that are parameters of a request, but for those used. It records the
// others as ignored. Neither the model is one of them, nor a list of tools without any, which servers refuse.
func (f *file) parameters(r *row, used ...string) *workload.Prompt {
	p := promptReader{row: r, file: f, onlyKnown: true, used: map[string]bool{"model": true}}
	for _, name := range used {
		p.used[name] = true
	}
	if string(r.get("tools")) == "[]" {
		p.used["tools"] = true
	}
	p.passOn()
	return &p.prompt
}

// startAt makes the start of the schedule the earliest of the times that it is called with.
func (f *file) startAt(t time.Time) {
	if f.opening && (f.start.IsZero() || t.Before(f.start)) {
		f.start = t
	}
}

// unixTime returns a member that is a time since 1970 in units.
func unixTime(r *row, name string, unit time.Duration) (time.Time, error) {
	n, err := requiredMember(r, name, parseNumber)
	if err != nil {
		return time.Time{}, err
	}
	if _, err := duration(n, unit); err != nil {
		return time.Time{}, fmt.Errorf("%q: %w", name, err)
	}
	whole := math.Trunc(n) // a product of floating point numbers would lose nanoseconds
	return time.Unix(0, int64(whole)*int64(unit)+int64((n-whole)*float64(unit))), nil
}
