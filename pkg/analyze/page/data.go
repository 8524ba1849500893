package page

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
	"github.com/pa-tools/pa/pkg/analyze/view"
)

// The data of the page's script: JSON in a script element of type application/json. Rows are columns of
// numbers, most of them differences, and written as bytes, which keeps the page small and quick to make.

// groups are the plots over time, in their order, with the reason why most runs lack one; "" for a group
// that is only shown if it is there.
var groups = []struct{ key, title, why string }{
	{"flight", "in flight", "no request has a time"},
	{"tokens", "output tokens per second", "no output tokens are known"},
	{"requests", "requests per second", ""},
	{"ttft", "TTFT by start", "no request has a TTFT"},
	{"queue", "requests waiting in the server", "no metric of the server holds it; pa-record --collect-metrics records metrics"},
	{"kv", "KV cache usage", "no metric of the server holds it"},
	{"power", "GPU power", "no metric of a GPU holds it"},
	{"running", "requests running in the server", ""},
	{"utilization", "GPU utilization", ""},
	{"memory", "GPU memory used", ""},
}

// groupOf returns the group of a series of a level, by its key.
var groupOf = map[string]string{
	view.InFlight: "flight", view.OutputTokens: "tokens", view.Completed: "requests", view.Failed: "requests",
	view.TTFTMedian: "ttft", view.TTFTMax: "ttft",
}

// groupOfQuantity returns the group of a series of telemetry, by its quantity.
var groupOfQuantity = map[string]string{
	"waiting requests": "queue", "KV cache usage": "kv", "GPU power": "power", "running requests": "running",
	"GPU utilization": "utilization", "GPU memory used": "memory",
}

// seriesNotes say which series of the plots over time are left out.
func (r *Run) seriesNotes() (notes []string) {
	for _, l := range r.TelemetryLeftOut {
		if groupOfQuantity[l.Quantity] != "" {
			notes = append(notes, fmt.Sprintf("%s: %s more series of %s %s not shown, because the plots have the first %d of a source. pa-analyze report --format json has the figures of all, and the recording has their values.",
				l.Quantity, plural.Grouped(l.Series), plain(l.Source), plural.Form(l.Series, "is", "are"), view.MostSeries))
		}
	}
	thinned := func(all []view.Series) bool {
		return slices.ContainsFunc(all, func(s view.Series) bool { return s.LeftOut > 0 })
	}
	if thinned(r.Telemetry) || slices.ContainsFunc(r.Levels[:r.detailed], func(l view.Level) bool { return thinned(l.Series) }) {
		notes = append(notes, "Of values that change often, the lowest and the highest of each stretch of time are drawn.")
	}
	return notes
}

// floats are numbers with at most six digits; NaN is null.
type floats []float64

// MarshalJSON implements json.Marshaler.
func (f floats) MarshalJSON() ([]byte, error) {
	b := append(make([]byte, 0, 8*len(f)+2), '[')
	for i, v := range f {
		if i > 0 {
			b = append(b, ',')
		}
		if math.IsNaN(v) || math.IsInf(v, 0) {
			b = append(b, "null"...)
		} else {
			b = strconv.AppendFloat(b, v, 'g', 6, 64)
		}
	}
	return append(b, ']'), nil
}

const absent = math.MinInt64

// A column collects whole numbers. A number takes few bytes if it is small: the lowest bit of the first byte
// is its sign, the highest bit of each byte says that more bytes follow, and the other bits are the
// number, the lowest ones first. Absent is a negative 0.
type column struct {
	n      int
	first  int64
	varied bool // not all numbers are equal
	bytes  []byte
}

func (c *column) add(v int64) {
	if c.n == 0 {
		c.first = v
	}
	if len(c.bytes) == cap(c.bytes) { // append would copy a large column more often
		c.bytes = slices.Grow(c.bytes, max(len(c.bytes), 1<<10))
	}
	c.varied = c.varied || v != c.first
	c.n++
	switch {
	case v == absent:
		c.bytes = append(c.bytes, 1)
	case v < 0:
		c.bytes = binary.AppendUvarint(c.bytes, uint64(-v)<<1|1)
	default:
		c.bytes = binary.AppendUvarint(c.bytes, uint64(v)<<1)
	}
}

// data returns the column for JSON: its bytes, which JSON has in base64, or the one number that all are
// equal to; nil if that is absent. A column without numbers is empty text.
func (c *column) data() any {
	switch {
	case c.n == 0:
		return ""
	case c.varied:
		return c.bytes
	case c.first == absent:
		return nil
	}
	return c.first
}

// mostExact is the largest whole number that JavaScript keeps exactly.
const mostExact = 1 << 53

// rowsOf returns the requests of a level, column by column. If an id is too large for a number of JavaScript,
// the texts of the ids take the place of the column id.
//
// The columns are by name:
//
//	id                          the first id, then differences
//	begin                       the first begin, then differences
//	timed                       0 for a request without any time
//	connect start first last end
//	                            times from the begin; may be absent
//	ttft e2el                   the measures minus the times between the columns; may be absent
//	queue prefill first_decode  times at the server within the TTFT; may be absent
//	lane                        -1: none
//	input cached output         numbers of tokens, -1: not known
//	status excluded class error model
//	                            indices in the strings; class is of a failure, "" if the request did not fail
//	stall_row stall_at stall_ns stall_position
//	                            of each stall, in the order of the rows: the row, as a difference from
//	                            the row of the stall before, its begin from the begin of the row, its
//	                            length, and its position among the gaps of the answer
//	stalls_left_out             the number of shorter stalls that have no place in these columns
func rowsOf(l *view.Level) sheet.Object {
	var ids, strings []string
	var id, begin, timed, connect, start, first, last, end, ttft, e2el, queue, prefill, firstDecode, lane, input, cached, output, status, excluded, class, errors, model column
	var stallRow, stallAt, stallNS, stallPosition, stallsLeftOut column
	texts := map[string]int64{}
	text := func(s string) int64 {
		i, ok := texts[s]
		if !ok {
			i = int64(len(strings))
			texts[s] = i
			strings = append(strings, plain(s))
		}
		return i
	}
	text("") // is 0
	var before *view.RequestTexts
	var statusText, excludedText, classText, errorText, modelText int64 // of before
	exact := true
	for i := range l.Requests {
		exact = exact && l.Requests[i].ID < mostExact
	}
	var idBefore uint64
	var beginBefore, stallBefore int64
	for i := range l.Requests {
		q := l.Requests[i]
		if exact {
			id.add(int64(q.ID - idBefore))
			idBefore = q.ID
		} else {
			ids = append(ids, strconv.FormatUint(q.ID, 10))
		}
		at, known := q.BeginNS(), int64(1)
		if at == view.Absent {
			at, known = beginBefore, 0
		}
		timed.add(known)
		begin.add(at - beginBefore)
		beginBefore = at
		after := func(ns int64) int64 {
			if ns == view.Absent {
				return absent
			}
			return ns - at
		}
		connect.add(after(q.ConnectNS))
		start.add(after(q.StartNS))
		first.add(after(q.FirstNS))
		last.add(after(q.LastTokenNS))
		end.add(after(q.EndNS))
		ttft.add(beyond(q.TTFTNS, q.StartNS, q.FirstNS))
		e2el.add(beyond(q.E2ELNS, q.StartNS, q.EndNS))
		for k, c := range [view.NumServerParts]*column{&queue, &prefill, &firstDecode} {
			c.add(beyond(q.Server[k], 0, 0))
		}
		lane.add(int64(q.Lane))
		input.add(q.InputTokens)
		cached.add(q.CachedTokens)
		output.add(q.OutputTokens)
		if q.RequestTexts != before { // else the texts are the same
			before = q.RequestTexts
			statusText, excludedText, classText = text(q.Status), text(q.Excluded), text(classOf(q))
			errorText, modelText = text(q.Error), text(q.Model)
		}
		status.add(statusText)
		excluded.add(excludedText)
		class.add(classText)
		errors.add(errorText)
		model.add(modelText)
		stallsLeftOut.add(int64(q.StallsLeftOut))
		for _, s := range q.Stalls {
			stallRow.add(int64(i) - stallBefore)
			stallBefore = int64(i)
			stallAt.add(s.AtNS - at)
			stallNS.add(s.LengthNS)
			stallPosition.add(int64(s.Position))
		}
	}
	columns := map[string]any{}
	for name, c := range map[string]*column{
		"id": &id, "begin": &begin, "timed": &timed, "connect": &connect, "start": &start, "first": &first, "last": &last, "end": &end, "ttft": &ttft, "e2el": &e2el,
		"queue": &queue, "prefill": &prefill, "first_decode": &firstDecode,
		"lane": &lane, "input": &input, "cached": &cached, "output": &output, "status": &status, "excluded": &excluded, "class": &class, "error": &errors, "model": &model,
		"stall_row": &stallRow, "stall_at": &stallAt, "stall_ns": &stallNS, "stall_position": &stallPosition, "stalls_left_out": &stallsLeftOut,
	} {
		columns[name] = c.data()
	}
	return sheet.Object{"n", len(l.Requests), "id_text", sheet.Opt(ids), "columns", columns, "strings", strings, "stalls", stallRow.n}
}

// classOf returns the class of a failure; "" for a request that did not fail.
func classOf(q *view.Request) string {
	switch {
	case q.Excluded != "failed":
		return ""
	case q.ErrorClass != "":
		return q.ErrorClass
	case q.Status != "":
		return q.Status
	}
	return "failed"
}

// beyond returns a measure minus the time between two times, which is 0 as a rule; absent for no
// measure.
func beyond(measure, from, to int64) int64 {
	switch {
	case measure == view.Absent:
		return absent
	case from == view.Absent || to == view.Absent:
		return measure
	}
	return measure - (to - from)
}

// dataOf returns the data of the script.
func dataOf(runs []Run) sheet.Object {
	plots := make([]sheet.Object, 0, len(groups))
	for _, g := range groups {
		plots = append(plots, sheet.Object{"key", g.key, "title", g.title, "why", sheet.Opt(g.why)})
	}
	return sheet.Object{"groups", plots, "runs", sheet.List(runs, (*Run).data)}
}

// data returns a run with the series of servers and GPUs that a group shows, and its levels.
func (r *Run) data() sheet.Object {
	telemetry := seriesOf(r.Telemetry, func(s *view.Series) string { return groupOfQuantity[s.Quantity] })
	levels := make([]sheet.Object, 0, r.detailed)
	for j := range r.detailed {
		l := &r.Levels[j]
		levels = append(levels, sheet.Object{
			"name", r.levels[j], // unique in the run
			"from_ns", l.FromNS, "to_ns", l.ToNS, "series", seriesOf(l.Series, func(s *view.Series) string { return groupOf[s.Key] }),
			"left_out", sheet.Opt(l.LeftOut), "sampling", sheet.Opt(l.Sampling), "untimed", sheet.Opt(plain(l.Untimed)), "rows", rowsOf(l),
		})
	}
	origin := strconv.FormatUint(r.OriginNS, 10) // too large for a number of JavaScript
	return sheet.Object{"name", r.name, "short", r.short, "origin_ns", origin, "telemetry", telemetry, "levels", levels}
}

// seriesOf returns the series that have a group.
func seriesOf(all []view.Series, group func(*view.Series) string) []sheet.Object {
	var series []sheet.Object
	for i := range all {
		s := &all[i]
		in := group(s)
		if in == "" {
			continue
		}
		at := make([]int64, 0, len(s.AtNS)) // the first, then differences
		before := int64(0)
		for _, ns := range s.AtNS {
			at = append(at, ns+s.BinNS/2-before) // the middle of a bin
			before = ns + s.BinNS/2
		}
		steps := s.Key == view.InFlight // a value holds until the next
		series = append(series, sheet.Object{
			"group", in, "label", plain(s.Label), "unit", s.Unit, "steps", sheet.Opt(steps), "at", at, "value", floats(s.Value[:len(at)]),
		})
	}
	return series
}
