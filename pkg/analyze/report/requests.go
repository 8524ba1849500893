package report

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/analyze/quality"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// A Row is one request of a run, for lists. A missing number is not OK.
type Row struct {
	Experiment int    // index
	Level      string // "concurrency:4"
	Load       string // the level in words, "concurrency 4"
	ID         uint64
	StartNS    uint64
	TTFT       export.Int // ns
	E2EL       export.Int // ns
	Responses  int
	Events     int        // token events
	Tokens     export.Int // output tokens
	Input      export.Int // input tokens
	Status     string     // "ok", or what failed
	Excluded   string     // "" if the request counts
	Model      string     // in a run with several
	Message    string
	// Quality says how smoothly the tokens came; nil if the list does not show it.
	Quality *quality.Request

	TPOT                        float64    // ns; NaN if there is none
	Reasoning, Cached, Uncached export.Int // tokens; Uncached are input tokens
	Server                      export.ServerDetails
	Waterfall                   answer.Waterfall // without parts if the server states no time before the first token
	Audio                       answer.Audio

	Session, Agent string // "" outside of a session, and for the root of one
	ParentAgent    string // that began Agent; "" for the root
	Turn, Depth    int    // in the session
	Possible       figure.PossibleHit

	StartWrong bool // StartNS is missing because it cannot be true
}

// Groups are the groups of columns that a list has beside the usual ones.
type Groups struct{ Quality, Economics, Prefix, Phases, Audio, Sessions, Images, Realtime bool }

// newRow describes a request. index is its place in the file: the files of
// perf_analyzer do not number requests.
func newRow(experiment int, e *export.Experiment, index uint64, r *export.Request, m *answer.Measured) Row {
	row := Row{
		Experiment: experiment, Level: e.Name(), Load: LevelWords(e), ID: index, StartNS: r.StartNS,
		TTFT: m.TTFT, E2EL: m.E2EL, Responses: len(r.Responses), Events: m.Events,
		Tokens: m.OutputTokens, Input: m.InputTokens, TPOT: math.NaN(),
		Reasoning: m.ReasoningTokens, Cached: m.CachedTokens, Uncached: m.UncachedInput(), Server: m.Server, Audio: m.Audio,
		Status: r.Status.String(), Excluded: string(m.Excluded), Model: r.Model, Message: m.Message,
		Session: r.SessionID, Agent: r.Agent, ParentAgent: r.ParentAgent, Turn: r.Turn, Depth: r.Depth,
	}
	if ns, ok := m.TPOT(); ok {
		row.TPOT = ns
	}
	row.Waterfall, _ = m.Waterfall()
	if m.StartWrong {
		row.StartNS, row.StartWrong = 0, true
	}
	if r.HasMeta {
		row.ID = r.ID
	}
	if m.Class != "" {
		row.Status = m.Class
	}
	return row
}

// A RowWriter writes rows one by one. Flush writes buffered rows.
type RowWriter interface {
	Write(*Row) error
	Flush() error
}

// A column describes a member of Row in all list formats: name is its name in CSV and
// JSON lines, head and width are its column head and width in the table.
type column struct {
	name  string
	text  func(*Row) string     // "" when absent
	quote bool                  // a string in JSON
	order func(*Row) export.Int // sort key; nil: rows cannot be sorted by the column

	head  string            // "" leaves the column out of the table
	width int               // negative: left-aligned
	first bool              // left-aligned, as wide as in the first row
	rare  bool              // in the table only if the first row has a value
	cell  func(*Row) string // text in the table; nil: text
}

var columns = []column{
	{name: "experiment", text: func(r *Row) string { return strconv.Itoa(r.Experiment) }},
	{name: "level", text: func(r *Row) string { return r.Level }, quote: true, head: "level", first: true, cell: func(r *Row) string { return r.Load }},
	{name: "id", text: func(r *Row) string { return strconv.FormatUint(r.ID, 10) }, order: func(r *Row) export.Int { return unsigned(r.ID) }, head: "id", width: 5},
	{name: "start_ns", text: (*Row).start, order: (*Row).startOrder, head: "start_ns", width: 19},
	ofMetric(answer.TTFT, func(r *Row) export.Int { return r.TTFT }, column{head: "ttft_ms", width: 8, cell: func(r *Row) string { return millis(r.TTFT) }}),
	ofMetric(answer.E2EL, func(r *Row) export.Int { return r.E2EL }, column{head: "e2el_ms", width: 9, cell: func(r *Row) string { return millis(r.E2EL) }}),
	{name: "responses", text: func(r *Row) string { return strconv.Itoa(r.Responses) }},
	{name: "token_events", text: func(r *Row) string { return strconv.Itoa(r.Events) }, order: func(r *Row) export.Int { return export.IntOf(int64(r.Events)) }},
	ofMetric(answer.InputTokens, func(r *Row) export.Int { return r.Input }, column{}),
	ofMetric(answer.OutputTokens, func(r *Row) export.Int { return r.Tokens }, column{head: "tokens", width: 6}),
	{name: "status", text: func(r *Row) string { return r.Status }, quote: true, head: "status", width: -6, cell: (*Row).outcome},
	{name: "excluded", text: func(r *Row) string { return r.Excluded }, quote: true},
	{name: "message", text: func(r *Row) string { return r.Message }, quote: true, head: "message", width: -1},
	{name: "model", text: func(r *Row) string { return r.Model }, quote: true, head: "model", width: -12, rare: true},
}

// ofMetric returns the column c with the values of a metric.
func ofMetric(m answer.Metric, value func(*Row) export.Int, c column) column {
	c.name, c.order = m.Key(), value
	c.text = func(r *Row) string { return whole(value(r)) }
	return c
}

// start returns the start of the request; "" if it cannot be true.
func (r *Row) start() string {
	if r.StartWrong {
		return ""
	}
	return strconv.FormatUint(r.StartNS, 10)
}

// startOrder returns the sort key of the start.
func (r *Row) startOrder() export.Int {
	if r.StartWrong {
		return export.Int{}
	}
	return unsigned(r.StartNS)
}

// LevelWords names a load level in words, "concurrency 4"; "load not known" if the file does not
// state it.
func LevelWords(e *export.Experiment) string {
	x := analyze.Experiment{Mode: e.Mode, Value: e.Value}
	if e.Meta != nil {
		x.Load = e.Meta.Load
	}
	return LevelName(&x)
}

// outcome returns the status, and the reason why the request does not count if the status
// does not say it: "ok (warmup)".
func (r *Row) outcome() string {
	if r.Excluded == "" || r.Excluded == "failed" {
		return r.Status
	}
	return r.Status + " (" + r.Excluded + ")"
}

// columns returns the columns of a list, in the order of CSV.
func (g Groups) columns() []column {
	all := columns
	for _, x := range [...]struct {
		shown   bool
		columns []column
	}{{g.Quality, qualityColumns}, {g.Economics, economicsColumns}, {g.Prefix, prefixColumns}, {g.Phases, phasesColumns}, {g.Audio, audioColumns}, {g.Sessions, sessionsColumns}} {
		if x.shown {
			all = slices.Concat(all, x.columns)
		}
	}
	return all
}

// SortKeys returns the names of the columns that RowOrder sorts by, in a list with groups.
func SortKeys(groups Groups) []string {
	var keys []string
	columns := groups.columns()
	for i := range columns {
		if columns[i].order != nil {
			keys = append(keys, columns[i].name)
		}
	}
	return keys
}

// RowOrder returns a comparison of rows by a column, absent values last. descending
// reverses the order of the others. name is the column's name or its head in the table,
// in small or capital letters; a time needs no unit: "TTFT". ok is false for a name that
// is not in SortKeys(groups).
func RowOrder(name string, descending bool, groups Groups) (compare func(a, b *Row) int, ok bool) {
	name = strings.ToLower(name)
	columns := groups.columns()
	i := slices.IndexFunc(columns, func(c column) bool {
		return c.order != nil && (name == c.name || name == c.head || name == strings.TrimSuffix(c.name, "_ns"))
	})
	if i < 0 {
		return nil, false
	}
	key := columns[i].order
	return func(a, b *Row) int {
		x, y := key(a), key(b)
		switch {
		case !x.OK || !y.OK:
			return btoi(!x.OK) - btoi(!y.OK)
		case x.V == y.V:
			return 0
		case x.V < y.V != descending:
			return -1
		}
		return 1
	}, true
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// unsigned returns an Int for v; the order of such Ints is the order of the numbers.
func unsigned(v uint64) export.Int { return export.IntOf(int64(v - 1<<63)) }

// RowsTable writes rows for people. Columns have fixed widths, so that rows
// need not be kept. A message that reaches beyond width columns is cut, but keeps at
// least leastMessage characters; width 0 is no limit.
func RowsTable(w io.Writer, width int, groups Groups) RowWriter {
	return &rowTable{w: bufio.NewWriter(w), width: width, all: groups.columns()}
}

// leastMessage is the number of characters that a message keeps in any table.
const leastMessage = 8

type rowTable struct {
	w       *bufio.Writer
	width   int // of a line; 0 is no limit
	all     []column
	columns []*column // nil before the first row
	level   int       // width of the level's column
}

func (t *rowTable) Write(r *Row) error {
	if t.columns == nil {
		for i := range t.all {
			if c := &t.all[i]; c.head != "" && (!c.rare || c.text(r) != "") {
				t.columns = append(t.columns, c)
			}
		}
		// A message can be long, so it is last.
		message := slices.IndexFunc(t.columns, func(c *column) bool { return c.name == "message" })
		last := t.columns[message]
		t.columns = append(slices.Delete(t.columns, message, message+1), last)
		t.level = utf8.RuneCountInString(plain(r.Load))
		if err := t.line(func(c *column) string { return c.head }); err != nil {
			return err
		}
	}
	return t.line(func(c *column) string {
		text := c.text(r)
		if c.cell != nil {
			text = c.cell(r)
		}
		if text == "" {
			text = "-"
		}
		return plain(text)
	})
}

func (t *rowTable) line(cell func(*column) string) error {
	var b []byte
	for i, c := range t.columns {
		if len(b) > 0 {
			b = append(b, ' ')
		}
		text := cell(c)
		if t.width > 0 && i == len(t.columns)-1 {
			text = sanitize.Fit(text, max(t.width-utf8.RuneCount(b), leastMessage))
		}
		width := c.width
		if c.first {
			width = -max(len(c.head), t.level)
		}
		b = fmt.Appendf(b, "%*s", width, text)
	}
	for len(b) > 0 && b[len(b)-1] == ' ' {
		b = b[:len(b)-1]
	}
	_, err := t.w.Write(append(b, '\n'))
	return err
}

func (t *rowTable) Flush() error { return t.w.Flush() }

// RowsCSV writes rows as CSV with a header; absent values are empty. The columns of groups are at the
// end.
func RowsCSV(w io.Writer, groups Groups) RowWriter {
	return &rowCSV{w: csv.NewWriter(w), columns: groups.columns()}
}

type rowCSV struct {
	w       *csv.Writer
	columns []column
	record  []string
	started bool
}

func (c *rowCSV) Write(r *Row) error {
	if err := c.head(); err != nil {
		return err
	}
	c.record = c.record[:0]
	for i := range c.columns {
		c.record = append(c.record, sanitize.CSVCell(c.columns[i].text(r)))
	}
	return c.w.Write(c.record)
}

func (c *rowCSV) head() error {
	if c.started {
		return nil
	}
	c.started = true
	c.record = c.record[:0]
	for i := range c.columns {
		c.record = append(c.record, c.columns[i].name)
	}
	return c.w.Write(c.record)
}

func (c *rowCSV) Flush() error {
	if err := c.head(); err != nil {
		return err
	}
	c.w.Flush()
	return c.w.Error()
}

// RowsJSON writes one JSON object per line; absent values are left out.
func RowsJSON(w io.Writer, groups Groups) RowWriter {
	return &rowJSON{w: bufio.NewWriter(w), columns: groups.columns()}
}

type rowJSON struct {
	w       *bufio.Writer
	columns []column
}

func (j *rowJSON) Write(r *Row) error {
	sep := byte('{')
	for i := range j.columns {
		c := &j.columns[i]
		text := c.text(r)
		if text == "" {
			continue
		}
		if c.quote {
			b, err := json.Marshal(text)
			if err != nil {
				return err
			}
			text = string(sanitize.JSON(b))
		}
		if err := j.w.WriteByte(sep); err != nil {
			return err
		}
		sep = ','
		if _, err := fmt.Fprintf(j.w, "%q:%s", c.name, text); err != nil {
			return err
		}
	}
	_, err := j.w.WriteString("}\n")
	return err
}

func (j *rowJSON) Flush() error { return j.w.Flush() }

func whole(v export.Int) string {
	if !v.OK {
		return ""
	}
	return strconv.FormatInt(v.V, 10)
}

// millis formats nanoseconds as milliseconds with three decimals.
func millis(v export.Int) string {
	if !v.OK {
		return ""
	}
	return strconv.FormatFloat(float64(v.V)/1e6, 'f', 3, 64)
}

// The columns of lists with --metrics economics, prefix, phases, audio and sessions. A request has no energy and no price
// of its own: both belong to the level.
var (
	economicsColumns = []column{
		ofFloat(answer.TPOT.Key(), func(r *Row) float64 { return r.TPOT }, column{head: "tpot_ms", width: 8, cell: func(r *Row) string { return threeDecimals(r.TPOT / 1e6) }}),
		ofFloat(figure.KeyUserRate, func(r *Row) float64 { return rateOf(1, r.TPOT) }, column{}),
		ofFloat(figure.KeyUserRateE2E, (*Row).wholeRate, column{head: "tok/s", width: 8, cell: func(r *Row) string { return threeDecimals(r.wholeRate()) }}),
	}
	prefixColumns = []column{
		ofMetric(answer.CachedTokens, func(r *Row) export.Int { return r.Cached }, column{head: "cached", width: 6}),
		{
			name: "uncached_input_tokens", text: func(r *Row) string { return whole(r.Uncached) }, order: func(r *Row) export.Int { return r.Uncached },
			head: "uncached", width: 8,
		},
		ofFloat(figure.KeyHitRate, (*Row).hitRate, column{}),
	}
	phasesColumns = append(
		serverColumns(map[string]string{answer.ServerQueue.Key(): "queue_ms", answer.ServerPrefill.Key(): "prefill_ms", answer.ServerDecode.Key(): "decode_ms"}),
		column{name: "prefill_worker", text: func(r *Row) string { return r.Server.PrefillWorker }, quote: true},
		column{name: "decode_worker", text: func(r *Row) string { return r.Server.DecodeWorker }, quote: true},
		ofPart(answer.TTFTWait, answer.WaitPart, ""),
		ofPart(answer.TTFTConnect, answer.ConnectPart, ""),
		ofPart(answer.TTFTSend, answer.SendPart, ""),
		ofPart(answer.ServerFirstDecode, answer.FirstDecodePart, ""),
		ofPart(answer.TTFTRest, answer.RestPart, "rest_ms"),
		ofFloat(answer.AcceptanceLength.Key(), (*Row).acceptanceLength, column{}),
	)
	audioColumns = []column{
		ofMetric(answer.FirstAudio, func(r *Row) export.Int { return r.Audio.First }, column{head: "first_audio_ms", width: 14, cell: func(r *Row) string { return millis(r.Audio.First) }}),
		ofMetric(answer.AudioLength, func(r *Row) export.Int { return r.Audio.Length }, column{head: "audio_ms", width: 10, cell: func(r *Row) string { return millis(r.Audio.Length) }}),
		ofFloat(answer.RealTimeFactor.Key(), (*Row).realTimeFactor, column{head: "rtf", width: 6, cell: func(r *Row) string { return threeDecimals(r.realTimeFactor()) }}),
		ofMetric(answer.Underruns, func(r *Row) export.Int { return r.Audio.Underruns }, column{head: "underruns", width: 9}),
		ofMetric(answer.UnderrunTime, func(r *Row) export.Int { return r.Audio.UnderrunNS }, column{}),
	}
	sessionsColumns = []column{
		{name: "session_id", text: func(r *Row) string { return r.Session }, quote: true, head: "session", width: -12},
		{name: "turn", text: func(r *Row) string { return ofSession(r, r.Turn) }, order: func(r *Row) export.Int { return export.Int{V: int64(r.Turn), OK: r.Session != ""} }, head: "turn", width: 4},
		{name: "agent", text: func(r *Row) string { return r.Agent }, quote: true, head: "agent", width: -8},
		{name: "parent_agent", text: func(r *Row) string { return r.ParentAgent }, quote: true},
		{name: "depth", text: func(r *Row) string { return ofSession(r, r.Depth) }, order: func(r *Row) export.Int { return export.Int{V: int64(r.Depth), OK: r.Session != ""} }},
		ofPossible("prompt_tokens", func(h *figure.PossibleHit) export.Int { return h.Prompt }, column{}),
		ofPossible("possible_cached_tokens", func(h *figure.PossibleHit) export.Int { return h.Longest }, column{head: "possible", width: 8, rare: true}),
		ofPossible("possible_cached_tokens_in_blocks", func(h *figure.PossibleHit) export.Int { return h.Blocks }, column{}),
		ofPossible("possible_cached_tokens_limited", func(h *figure.PossibleHit) export.Int { return h.Limited }, column{}),
	}
)

// serverColumns returns a column for each number that servers state. heads has the column heads of the times that the table
// shows.
func serverColumns(heads map[string]string) (all []column) {
	for _, n := range export.ServerNumbers {
		value := func(r *Row) export.Int { return *n.Of(&r.Server) }
		all = append(all, column{
			name: n.Column, text: func(r *Row) string { return whole(value(r)) }, order: value,
			head: heads[n.Column], width: 10, cell: func(r *Row) string { return millis(value(r)) },
		})
	}
	return all
}

// acceptanceLength returns the acceptance length; NaN if there is none.
func (r *Row) acceptanceLength() float64 {
	if n, ok := (&answer.Measures{Server: r.Server}).DraftRatio(answer.AcceptanceLength); ok {
		return n
	}
	return math.NaN()
}

// ofPart returns the column of a part of the TTFT, with its head in the table.
func ofPart(m answer.Metric, p answer.WaterfallPart, head string) column {
	value := func(r *Row) export.Int { return r.Waterfall.Parts[p] }
	return ofMetric(m, value, column{head: head, width: 9, cell: func(r *Row) string { return millis(value(r)) }})
}

// ofPossible returns the column c with a value of the possible hit.
func ofPossible(name string, value func(*figure.PossibleHit) export.Int, c column) column {
	c.name, c.order = name, func(r *Row) export.Int { return value(&r.Possible) }
	c.text = func(r *Row) string { return whole(value(&r.Possible)) }
	return c
}

// ofSession formats a number of a request of a session; "" for other requests.
func ofSession(r *Row, n int) string {
	if r.Session == "" {
		return ""
	}
	return strconv.Itoa(n)
}

// rateOf returns n per ns nanoseconds as a rate per second; NaN if there is no time.
func rateOf(n, ns float64) float64 {
	if !(ns > 0) {
		return math.NaN()
	}
	return n / (ns / 1e9)
}

// realTimeFactor returns E2EL / length of the audio; NaN if one of them is missing.
func (r *Row) realTimeFactor() float64 { return r.Audio.RealTimeFactor(r.E2EL) }

// wholeRate returns output tokens / E2EL, per second; NaN if one of them is missing.
func (r *Row) wholeRate() float64 {
	if !r.Tokens.OK || !r.E2EL.OK {
		return math.NaN()
	}
	return rateOf(float64(r.Tokens.V), float64(r.E2EL.V))
}

// hitRate returns cached / input tokens; NaN if one of them is missing.
func (r *Row) hitRate() float64 {
	if !r.Uncached.OK {
		return math.NaN()
	}
	return float64(r.Cached.V) / float64(r.Input.V)
}

// threeDecimals formats a number for a table with three decimals; "" for NaN.
func threeDecimals(v float64) string {
	if math.IsNaN(v) {
		return ""
	}
	return strconv.FormatFloat(v, 'f', 3, 64)
}
