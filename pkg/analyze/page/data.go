package page

import (
	"math"
	"slices"
	"strconv"

	"github.com/pa-tools/pa/pkg/analyze/view"
)

// The data of the page's script: JSON in a script element of type application/json. Rows are columns of
// numbers, most of them differences, which keeps the page small.

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
			b = strconv.AppendFloat(b, rounded(v), 'g', -1, 64)
		}
	}
	return append(b, ']'), nil
}

// rounded returns v with six significant digits: pictures show no more.
func rounded(v float64) float64 {
	r, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 6, 64), 64) // its own output
	return r
}

// A column holds whole numbers. JSON has equal numbers once, and null for absent.
type column []int64

const absent = math.MinInt64

func (c *column) add(v int64) { *c = append(*c, v) }

// MarshalJSON implements json.Marshaler.
func (c column) MarshalJSON() ([]byte, error) {
	number := func(b []byte, v int64) []byte {
		if v == absent {
			return append(b, "null"...)
		}
		return strconv.AppendInt(b, v, 10)
	}
	if len(c) > 0 && !slices.ContainsFunc(c, func(v int64) bool { return v != c[0] }) {
		return number(nil, c[0]), nil
	}
	b := append(make([]byte, 0, 6*len(c)+2), '[')
	for i, v := range c {
		if i > 0 {
			b = append(b, ',')
		}
		b = number(b, v)
	}
	return append(b, ']'), nil
}

// rowsData are the requests of a level, column by column.
type rowsData struct {
	N int `json:"n"`
	// ID holds the first id, then differences. IDText holds the ids instead if one is too large for a
	// number of JavaScript.
	ID     column   `json:"id"`
	IDText []string `json:"id_text,omitempty"`
	// Begin holds the first begin, then differences. Timed is 0 for a request without any time.
	Begin column `json:"begin"`
	Timed column `json:"timed"`
	// The other times count from the begin; null is absent.
	Connect column `json:"connect"`
	Start   column `json:"start"`
	First   column `json:"first"`
	Last    column `json:"last"`
	End     column `json:"end"`
	// TTFT and E2EL are the measures minus the times between the columns; null is absent.
	TTFT   column `json:"ttft"`
	E2EL   column `json:"e2el"`
	Lane   column `json:"lane"` // -1: none
	Input  column `json:"input"`
	Cached column `json:"cached"`
	Output column `json:"output"`
	// The texts are indices in Strings.
	Status   column   `json:"status"`
	Excluded column   `json:"excluded"`
	Class    column   `json:"class"` // of a failure; "" if the request did not fail
	Error    column   `json:"error"`
	Model    column   `json:"model"`
	Strings  []string `json:"strings"`
	// Stalls are in the order of the rows: the row, as a difference from the row of the stall before,
	// its begin from the begin of the row, its length, and its position among the gaps of the answer.
	StallRow      []int64 `json:"stall_row"`
	StallAt       []int64 `json:"stall_at"`
	StallNS       []int64 `json:"stall_ns"`
	StallPosition []int64 `json:"stall_position"`
}

// mostExact is the largest whole number that JavaScript keeps exactly.
const mostExact = 1 << 53

// rowsOf returns the rows of a level.
func rowsOf(l *view.Level) rowsData {
	d := rowsData{N: len(l.Requests), StallRow: []int64{}, StallAt: []int64{}, StallNS: []int64{}, StallPosition: []int64{}}
	for _, c := range []*column{
		&d.ID, &d.Begin, &d.Timed, &d.Connect, &d.Start, &d.First, &d.Last, &d.End, &d.TTFT, &d.E2EL, &d.Lane, &d.Input, &d.Cached, &d.Output,
		&d.Status, &d.Excluded, &d.Class, &d.Error, &d.Model,
	} {
		*c = make(column, 0, d.N)
	}
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
	exact := true
	for i := range l.Requests {
		exact = exact && l.Requests[i].ID < mostExact
	}
	var id uint64
	var begin, stallRow int64
	for i := range l.Requests {
		q := &l.Requests[i]
		if exact {
			d.ID.add(int64(q.ID - id))
			id = q.ID
		} else {
			d.IDText = append(d.IDText, strconv.FormatUint(q.ID, 10))
		}
		at, timed := q.BeginNS(), int64(1)
		if at == view.Absent {
			at, timed = begin, 0
		}
		d.Timed.add(timed)
		d.Begin.add(at - begin)
		begin = at
		after := func(ns int64) int64 {
			if ns == view.Absent {
				return absent
			}
			return ns - at
		}
		d.Connect.add(after(q.ConnectNS))
		d.Start.add(after(q.StartNS))
		d.First.add(after(q.FirstNS))
		d.Last.add(after(q.LastTokenNS))
		d.End.add(after(q.EndNS))
		d.TTFT.add(beyond(q.TTFTNS, q.StartNS, q.FirstNS))
		d.E2EL.add(beyond(q.E2ELNS, q.StartNS, q.EndNS))
		d.Lane.add(int64(q.Lane))
		d.Input.add(q.InputTokens)
		d.Cached.add(q.CachedTokens)
		d.Output.add(q.OutputTokens)
		d.Status.add(text(q.Status))
		d.Excluded.add(text(q.Excluded))
		d.Class.add(text(classOf(q)))
		d.Error.add(text(q.Error))
		d.Model.add(text(q.Model))
		for _, s := range q.Stalls {
			d.StallRow = append(d.StallRow, int64(i)-stallRow)
			stallRow = int64(i)
			d.StallAt = append(d.StallAt, s.AtNS-at)
			d.StallNS = append(d.StallNS, s.LengthNS)
			d.StallPosition = append(d.StallPosition, int64(s.Position))
		}
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
		for j := range r.Levels {
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
