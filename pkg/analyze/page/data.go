package page

import (
	"encoding/binary"
	"math"
	"slices"
	"strconv"

	"github.com/pa-tools/pa/pkg/analyze/view"
)

// The data of the page's script: JSON in a script element of type application/json. Rows are columns of
// numbers, most of them differences, and written as bytes, which keeps the page small and quick to make.

type pageData struct {
	Groups []groupData `json:"groups"`
	Runs   []runData   `json:"runs"`
}

// groupData is a plot over time.
type groupData struct {
	Key   string `json:"key"`
	Title string `json:"title"`
	// Why is the reason why most runs lack the group; "" for groups that are only shown if they are
	// there.
	Why string `json:"why,omitempty"`
}

// groups are the plots over time, in their order.
var groups = []groupData{
	{Key: "flight", Title: "in flight", Why: "no request has a time"},
	{Key: "tokens", Title: "output tokens per second", Why: "no output tokens are known"},
	{Key: "requests", Title: "requests per second"},
	{Key: "ttft", Title: "TTFT by start", Why: "no request has a TTFT"},
	{Key: "queue", Title: "requests waiting in the server", Why: "no metric of the server holds it; pa-record --collect-metrics records metrics"},
	{Key: "kv", Title: "KV cache usage", Why: "no metric of the server holds it"},
	{Key: "power", Title: "GPU power", Why: "no metric of a GPU holds it"},
	{Key: "running", Title: "requests running in the server"},
	{Key: "utilization", Title: "GPU utilization"},
	{Key: "memory", Title: "GPU memory used"},
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

type runData struct {
	Name   string `json:"name"`
	Short  string `json:"short"`
	Origin string `json:"origin_ns"` // too large for a number of JavaScript
	// Telemetry holds the series of servers and GPUs that a group shows.
	Telemetry []seriesData `json:"telemetry"`
	Levels    []levelData  `json:"levels"`
}

type levelData struct {
	Name     string       `json:"name"` // unique in the run
	FromNS   int64        `json:"from_ns"`
	ToNS     int64        `json:"to_ns"`
	Series   []seriesData `json:"series"`
	LeftOut  int          `json:"left_out,omitempty"`
	Sampling string       `json:"sampling,omitempty"`
	// Untimed says why nothing over time is known; "" if something is.
	Untimed string   `json:"untimed,omitempty"`
	Rows    rowsData `json:"rows"`
}

type seriesData struct {
	Group string `json:"group"`
	Label string `json:"label"`
	Unit  string `json:"unit"`
	// Steps says that a value holds until the next.
	Steps bool    `json:"steps,omitempty"`
	At    []int64 `json:"at"` // ns: the first, then differences
	Value floats  `json:"value"`
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

// rowsData are the requests of a level, column by column.
type rowsData struct {
	N int `json:"n"`
	// IDText holds the ids instead of the column id if one is too large for a number of JavaScript.
	IDText []string `json:"id_text,omitempty"`
	// Columns are by name:
	//
	//	id                          the first id, then differences
	//	begin                       the first begin, then differences
	//	timed                       0 for a request without any time
	//	connect start first last end
	//	                            times from the begin; may be absent
	//	ttft e2el                   the measures minus the times between the columns; may be absent
	//	lane                        -1: none
	//	input cached output         numbers of tokens, -1: not known
	//	status excluded class error model
	//	                            indices in Strings; class is of a failure, "" if the request did not fail
	//	stall_row stall_at stall_ns stall_position
	//	                            of each stall, in the order of the rows: the row, as a difference from
	//	                            the row of the stall before, its begin from the begin of the row, its
	//	                            length, and its position among the gaps of the answer
	Columns map[string]any `json:"columns"`
	Strings []string       `json:"strings"`
	Stalls  int            `json:"stalls"`
}

// mostExact is the largest whole number that JavaScript keeps exactly.
const mostExact = 1 << 53

// rowsOf returns the rows of a level.
func rowsOf(l *view.Level) rowsData {
	d := rowsData{N: len(l.Requests), Columns: map[string]any{}}
	var id, begin, timed, connect, start, first, last, end, ttft, e2el, lane, input, cached, output, status, excluded, class, errors, model column
	var stallRow, stallAt, stallNS, stallPosition column
	texts := map[string]int64{}
	text := func(s string) int64 {
		i, ok := texts[s]
		if !ok {
			i = int64(len(d.Strings))
			texts[s] = i
			d.Strings = append(d.Strings, plain(s))
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
			d.IDText = append(d.IDText, strconv.FormatUint(q.ID, 10))
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
		for _, s := range q.Stalls {
			stallRow.add(int64(i) - stallBefore)
			stallBefore = int64(i)
			stallAt.add(s.AtNS - at)
			stallNS.add(s.LengthNS)
			stallPosition.add(int64(s.Position))
		}
	}
	d.Stalls = stallRow.n
	for name, c := range map[string]*column{
		"id": &id, "begin": &begin, "timed": &timed, "connect": &connect, "start": &start, "first": &first, "last": &last, "end": &end, "ttft": &ttft, "e2el": &e2el,
		"lane": &lane, "input": &input, "cached": &cached, "output": &output, "status": &status, "excluded": &excluded, "class": &class, "error": &errors, "model": &model,
		"stall_row": &stallRow, "stall_at": &stallAt, "stall_ns": &stallNS, "stall_position": &stallPosition,
	} {
		d.Columns[name] = c.data()
	}
	return d
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
func dataOf(runs []Run) pageData {
	d := pageData{Groups: groups, Runs: []runData{}}
	for i := range runs {
		r := &runs[i]
		x := runData{Name: r.name, Short: r.short, Origin: strconv.FormatUint(r.OriginNS, 10), Telemetry: []seriesData{}, Levels: []levelData{}}
		for j := range r.Telemetry {
			s := &r.Telemetry[j]
			if group := groupOfQuantity[s.Quantity]; group != "" {
				x.Telemetry = append(x.Telemetry, seriesOf(s, group))
			}
		}
		for j := range r.detailed {
			l := &r.Levels[j]
			y := levelData{
				Name: r.levels[j], FromNS: l.FromNS, ToNS: l.ToNS, Series: []seriesData{}, LeftOut: l.LeftOut, Sampling: l.Sampling, Untimed: plain(l.Untimed), Rows: rowsOf(l),
			}
			for k := range l.Series {
				if s := &l.Series[k]; groupOf[s.Key] != "" {
					y.Series = append(y.Series, seriesOf(s, groupOf[s.Key]))
				}
			}
			x.Levels = append(x.Levels, y)
		}
		d.Runs = append(d.Runs, x)
	}
	return d
}

// seriesOf returns a series for a group.
func seriesOf(s *view.Series, group string) seriesData {
	d := seriesData{Group: group, Label: plain(s.Label), Unit: s.Unit, Steps: s.Key == view.InFlight, At: []int64{}}
	before := int64(0)
	for i, at := range s.AtNS {
		d.At = append(d.At, at+s.BinNS/2-before) // the middle of a bin
		before = at + s.BinNS/2
		d.Value = append(d.Value, s.Value[i])
	}
	return d
}
