package serving

import (
	"fmt"
	"math"
	"strings"

	"github.com/pa-tools/pa/internal/jsonscan"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/internal/resultfile"
)

// A fileRow holds the columns' values for a request. NaN means a null or a missing
// column.
type fileRow struct {
	at                              int64 // offset of its time to first token
	ttft, latency, start, queue     float64
	itl                             []float64
	input, output                   float64
	text, problem                   string
	hasText, succeeded, notStreamed bool
}

// row reads an element of each column. The error is a syntax error, an I/O error or a
// *resultfile.BadEntry.
func (s *source) row(x *fileRun) (row *fileRow, err error) {
	row = &fileRow{at: s.cursors[colTTFT].Pos}
	var bad error
	number := func(col int) float64 {
		if s.cursors[col] == nil || err != nil {
			return math.NaN()
		}
		at := s.cursors[col].Pos
		var v []byte
		if v, err = s.cursors[col].Value(x.names[col]); err != nil {
			return math.NaN()
		}
		n, problem := resultfile.ParseFloat(v)
		if problem != nil && bad == nil {
			bad = &resultfile.BadEntry{At: at, Msg: fmt.Sprintf("%s: expected a number, found %s", x.names[col], jsonscan.Excerpt(v))}
		}
		return n
	}
	str := func(col int) (string, bool) {
		if s.cursors[col] == nil || err != nil {
			return "", false
		}
		var v []byte
		if v, err = s.cursors[col].Value(x.names[col]); err != nil || v[0] != '"' {
			if s.withoutErrors(col, err) {
				err = nil
			}
			return "", false
		}
		return strings.ToValidUTF8(string(jsonscan.DecodeText(v)), "\ufffd"), true
	}
	row.ttft, row.latency = number(colTTFT), number(colLatency)
	row.start, row.queue = number(colStart), number(colQueue)
	row.input, row.output = number(colInput), number(colOutput)
	row.text, row.hasText = str(colText)
	row.problem, _ = str(colError)
	if err == nil {
		err = s.gaps(x, row, &bad)
	}
	if err != nil {
		return nil, err
	}
	row.notStreamed = row.ttft < 0
	// Tools other than SGLang can give an empty reason for a failure.
	if s.cursors[colError] == nil && !(row.output > 0) && bad == nil {
		bad = &resultfile.BadEntry{At: row.at, Msg: "the file was cut before it says how a request without output ended"}
	}
	row.succeeded = row.problem == "" && (row.output > 0 || row.ttft > 0 || row.notStreamed || row.latency > 0 || x.tool == &sglangTool)
	return row, bad
}

// gaps reads an element of the column of gaps.
func (s *source) gaps(x *fileRun, row *fileRow, bad *error) error {
	c := s.cursors[colITL]
	at := c.Pos
	v, err := c.Value(x.names[colITL])
	if err != nil {
		return err
	}
	wrong := func(v []byte) {
		if *bad == nil {
			*bad = &resultfile.BadEntry{At: at, Msg: fmt.Sprintf("%s: expected an array of numbers, found %s", x.names[colITL], jsonscan.Excerpt(v))}
		}
	}
	if v[0] != '[' {
		wrong(v)
		return nil
	}
	for i, first := 1, true; ; first = false {
		next, more, err := jsonscan.NextElem(v, i, first)
		if err != nil || !more {
			return err
		}
		end, _, err := jsonscan.PythonValue(v, next)
		if err != nil {
			return err
		}
		gap, problem := resultfile.ParseFloat(v[next:end])
		if problem != nil {
			wrong(v[next:end])
		}
		row.itl = append(row.itl, gap)
		i = end
	}
}

// request fills in r.
func (s *source) request(r *export.Request, x *fileRun, row *fileRow) error {
	wrong := func(name string, v float64) error {
		bad := resultfile.BadTime(row.at, name, v)
		bad.Excluded = !row.succeeded
		return bad
	}
	r.StartNS = resultfile.SyntheticStart
	if !math.IsNaN(row.start) {
		ns, ok := resultfile.Nanoseconds(row.start)
		if !ok {
			return wrong("start_times", row.start)
		}
		r.StartNS, r.StartSource = ns, export.SourceUser
		if x.tool == &vllmRustTool { // since the run began: 0 would mean not recorded
			r.StartNS += resultfile.SyntheticStart
		}
		if wait, ok := resultfile.Nanoseconds(row.queue); ok && wait < r.StartNS {
			r.IssuedNS = r.StartNS - wait
			if x.scalars["request_rate"] != "" && !math.IsInf(x.number("request_rate"), 0) {
				r.ScheduledNS = r.IssuedNS
			}
		}
	}
	r.Status, r.Phase = export.StatusOK, export.PhaseMeasured
	if !row.succeeded {
		resultfile.Fail(r, 0, row.problem)
		if row.problem == "" {
			r.Message = "nothing came, and the file does not say why"
		}
	}
	if err := row.responses(r, x, wrong); err != nil {
		return err
	}
	r.Stated = &export.Stated{InputTokens: tokenCount(row.input), OutputTokens: tokenCount(row.output)}
	if !row.succeeded {
		r.Stated.OutputTokens = nil // 0 means unknown
	}
	if row.notStreamed {
		r.Stated.Streamed = new(false)
	}
	if row.hasText {
		r.Stated.Text = &row.text
	}
	r.Stated.Silent = row.silent(x, len(row.itl)+1)
	if n := len(r.Stated.Silent); n > 0 && r.Stated.Silent[n-1] == len(row.itl) && len(row.itl) > 0 {
		r.Responses[len(row.itl)].Final = true
	}
	x.values.add(x, row)
	return nil
}

// tokenCount returns v as a number of tokens; nil if it is not one.
func tokenCount(v float64) *int64 {
	if !(v >= 0 && v <= 1<<53) {
		return nil
	}
	return new(int64(v))
}

// responses adds a response for each chunk, and one for the end if the tool measured an end
// after the last chunk.
func (row *fileRow) responses(r *export.Request, x *fileRun, wrong func(string, float64) error) error {
	if row.notStreamed {
		ns, ok := resultfile.Nanoseconds(row.latency)
		switch {
		case !ok && x.names[colLatency] == "":
			return &resultfile.BadEntry{
				At: row.at, Excluded: !row.succeeded,
				Msg: fmt.Sprintf("%s: %v says that the answer was not streamed, and no column says how long it took", x.names[colTTFT], row.ttft),
			}
		case !ok:
			return wrong(x.names[colLatency], row.latency)
		}
		resultfile.Respond(r, r.StartNS+ns, nil)
		return nil
	}
	if !(row.ttft > 0) { // nothing came
		return nil
	}
	ns, ok := resultfile.Nanoseconds(row.ttft)
	if !ok {
		return wrong(x.names[colTTFT], row.ttft)
	}
	at := r.StartNS + ns
	resultfile.Respond(r, at, nil)
	for _, gap := range row.itl {
		if ns, ok = resultfile.Nanoseconds(gap); !ok {
			return wrong(x.names[colITL], gap)
		}
		if at += ns; at-r.StartNS > math.MaxInt64 { // before it is past the end of uint64
			return &resultfile.BadEntry{
				At: row.at, Excluded: !row.succeeded,
				Msg: fmt.Sprintf("%s: the gaps of the request add up to more than 292 years", x.names[colITL]),
			}
		}
		resultfile.Respond(r, at, nil)
	}
	// Less than a microsecond is rounding: of the sum, or of the start.
	if ns, ok = resultfile.Nanoseconds(row.latency); ok && r.StartNS+ns > at+1000 {
		resultfile.Respond(r, r.StartNS+ns, nil)
		r.Responses[len(r.Responses)-1].Final = true
	}
	return nil
}

// silent returns the indices of the chunks, out of n, that are known to add no output. In
// chat, some clients count the role chunk as the first token, and the chunk with the
// reason of the end as the last. Two chunks more than tokens show that both were counted.
func (row *fileRow) silent(x *fileRun, n int) []int {
	if !x.chat || row.notStreamed || !(row.ttft > 0) || n < 2 {
		return nil
	}
	switch both := row.succeeded && float64(n) == row.output+2; {
	case both && x.tool.lastCounts:
		return []int{0, n - 1}
	case x.tool.roleChunk:
		return []int{0}
	}
	return nil
}
