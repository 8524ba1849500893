package foreign

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/internal/jsonscan"
	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/internal/jsonfile"
)

// The serving benchmarks of vLLM, TensorRT-LLM and SGLang have a common
// ancestor and write one object for each run, with figures about all requests
// and, if they were asked to, with a column for each thing they know of a
// request:
//
//	{"date":S,"backend":S,…,"duration":T,"completed":N,…,
//	 "input_lens":[N,…],"output_lens":[N,…],"ttfts":[T,…],"itls":[[T,…],…],
//	 "generated_texts":[S,…],"errors":[S,…],…,"mean_ttft_ms":T,…}
//
// T are seconds, in the figures milliseconds. Objects that were appended to a
// file, and the lines that SGLang appends, are load levels of one run. Columns
// are in the order of submission and hold failed requests too. A chunk's time is
// start + ttft + the sum of the gaps up to it.

func sniffServing(o *outline) bool {
	return !o.array && (o.has("duration", "completed", "total_input_tokens") ||
		o.has("backend", "dataset_name", "request_rate") || o.has("backend", "tokenizer_id", "num_prompts"))
}

// A servingTool describes the files of one tool.
type servingTool struct {
	name string
	// roleChunk says that in answers of the chat endpoint the first chunk has a
	// role and no text, and counts as the first token.
	roleChunk bool
	// lastCounts reports that the numbers of chunks include a chunk that has only
	// the reason why the answer ended.
	lastCounts bool
	// ends explains why a request may have gone on after its last chunk for a time
	// that the file lacks; "" if requests end with their last chunk.
	ends string
	// caveat is the warning about the end of a request; "" for none.
	caveat string
	// latency names the end-to-end latency in the names of figures.
	latency string
	// late lists the columns after the column of errors.
	late []int
}

var (
	vllmTool = servingTool{
		name: "vllm bench serve", latency: "e2el", lastCounts: true,
		caveat: "a request ends with its last chunk that has text: usage and [DONE] are not in a result of vllm bench serve",
	}
	vllmRustTool = servingTool{
		name: "vllm-bench", latency: "e2el", roleChunk: true, lastCounts: true, late: []int{colLatency, colStart},
		caveat: "a request ends with its last chunk that has choices: usage and [DONE] are not in a result of vllm-bench",
	}
	trtllmTool = servingTool{
		name: "TensorRT-LLM benchmark_serving", latency: "e2el", roleChunk: true, lastCounts: true,
		caveat: "a request ends with its last chunk that has choices, in chat with its usage: [DONE] is not in a result of benchmark_serving",
	}
	// Before there was a column of latencies.
	trtllmOldTool = servingTool{
		name: "TensorRT-LLM benchmark_serving", latency: "e2el", roleChunk: true, lastCounts: true,
		ends: "benchmark_serving of this release writes no latencies, and in chat measures them to the usage chunk, whose time is not in the file",
	}
	sglangTool = servingTool{
		name: "SGLang bench_serving", latency: "e2e_latency",
		ends: "bench_serving measures latencies to [DONE], whose time is not in the file",
	}
)

// The columns of a result, in the order in which they are read. A result without one of
// the first four is refused.
const (
	colTTFT = iota
	colITL
	colOutput
	colError
	colInput
	colText
	colLatency
	colStart
	colQueue
	numCols
)

var servingColumns = map[string]int{
	"ttfts": colTTFT, "itls": colITL, "output_lens": colOutput, "errors": colError, "input_lens": colInput,
	"generated_texts": colText, "latencies": colLatency, "e2els": colLatency, "start_times": colStart, "queue_times": colQueue,
}

// A servingRun is one object of the file.
type servingRun struct {
	tool    *servingTool
	columns [numCols]int64 // offset of the '[', −1 for none
	names   [numCols]string
	// scalars are the texts of the members; "" for an array or an object.
	scalars map[string]string
	// order lists the names in scalars in the order of the file.
	order  []string
	chat   bool
	values servingValues
}

func openServing(f *file) (*export.Run, source, error) {
	c, err := f.start()
	if err != nil {
		return nil, nil, err
	}
	s := &serving{file: f}
	run := &export.Run{Meta: &export.RunMeta{Schema: export.Schema}}
	for {
		if _, err := c.Peek(); err != nil {
			if len(s.all) > 0 && isCut(err) {
				break
			}
			return nil, nil, err
		}
		x, err := s.outline(c)
		partial := isCut(err) && x.rowsBeforeCut()
		if err != nil && !partial && len(s.all) == 0 {
			return nil, nil, err
		}
		if err == nil || partial {
			s.all = append(s.all, x)
			run.Experiments = append(run.Experiments, x.experiment())
		}
		if err != nil { // what comes before it can be read
			s.tail, s.partial = err, partial
			break
		}
	}
	c.Release()
	return run, s, s.header(run)
}

// serving is the source of a file of results.
type serving struct {
	file *file
	all  []*servingRun
	tail error // the error that ended the file early
	// partial reports that the file ended within its last result. The rows of that
	// result are the rows that every column has.
	partial bool

	at      int  // index in all
	index   int  // of the next request
	ended   bool // tail was delivered after the last request
	id      uint64
	cursors [numCols]*jsonfile.Cursor // nil for a column that is not there
}

func (s *serving) where() string {
	if s.ended {
		return fmt.Sprintf("what follows the requests of result %d", s.at)
	}
	if len(s.all) == 1 {
		return fmt.Sprintf("request %d", max(s.index-1, 0))
	}
	return fmt.Sprintf("result %d, request %d", s.at, max(s.index-1, 0))
}

// outline goes through an object and stores the positions of its columns. With a syntax
// error it also returns the part before the error.
func (s *serving) outline(c *jsonfile.Cursor) (*servingRun, error) {
	x := &servingRun{scalars: map[string]string{}}
	for i := range x.columns {
		x.columns[i] = -1
	}
	const most = 4 << 10 // of members that are kept
	err := eachMember(c, "a result", func(name string) error {
		b, err := c.Peek()
		if err != nil {
			return err
		}
		if i, known := servingColumns[name]; known && b == '[' {
			x.columns[i], x.names[i] = c.Pos, name
		}
		if b == '[' || b == '{' {
			if _, there := x.scalars[name]; !there {
				x.note(name, "")
			}
			return c.Skip()
		}
		v, err := c.Value("member " + strconv.Quote(name))
		if err == nil && len(x.scalars) < most {
			x.note(name, string(v))
		}
		return err
	})
	if err != nil {
		return x, err
	}
	return x, x.identify(s.file.name)
}

// rowsBeforeCut reports whether an object has whole rows although the file was cut in
// it: each column begins before the cut. The column of errors may be missing, because
// no failed request has output in a result of any of the tools.
func (x *servingRun) rowsBeforeCut() bool {
	x.setTool()
	for _, col := range append([]int{colTTFT, colITL, colOutput, colText}, x.tool.late...) {
		if x.columns[col] < 0 {
			return false
		}
	}
	return true
}

func (x *servingRun) note(name, text string) {
	x.scalars[name] = text
	x.order = append(x.order, name)
}

// has reports whether the object has a member of that name.
func (x *servingRun) has(name string) bool {
	_, ok := x.scalars[name]
	return ok
}

// text returns the content of a member that is a string, else "".
func (x *servingRun) text(name string) string {
	v := x.scalars[name]
	if v == "" || v[0] != '"' {
		return ""
	}
	return string(jsonscan.DecodeText([]byte(v)))
}

// number returns a member that is a number, and NaN for any other. An unlimited rate is
// written as "inf" or Infinity.
func (x *servingRun) number(name string) float64 {
	v := x.scalars[name]
	if x.text(name) == "inf" {
		return math.Inf(1)
	}
	n, err := parseFloat([]byte(v))
	if err != nil {
		return math.NaN()
	}
	return n
}

// resultMembers names the members of a result file that the tool's own report repeats,
// and that its requests do not give, or not to the last digit.
var resultMembers = []string{"date", "model_id", "tokenizer_id", "duration", "mean_e2e_latency_ms"}

// result returns the resultMembers as text: strings without quotes, numbers unchanged.
func (x *servingRun) result() map[string]string {
	const longest = 1000 // bytes; a name that is longer is none
	all := map[string]string{}
	for _, name := range resultMembers {
		v := x.scalars[name]
		if s := x.text(name); s != "" {
			v = strings.ToValidUTF8(s, "\ufffd")
		} else if math.IsNaN(x.number(name)) {
			continue
		}
		if len(v) <= longest {
			all[name] = v
		}
	}
	return all
}

// setTool finds out which tool wrote the result.
func (x *servingRun) setTool() {
	switch {
	case x.has("max_model_len") || x.has("steady_state"):
		x.tool = &vllmRustTool
	case x.has("server_info") || x.has("mean_e2e_latency_ms"):
		x.tool = &sglangTool
	case (x.has("user_throughput") || x.has("mean_request_ar")) && x.columns[colLatency] < 0:
		x.tool = &trtllmOldTool
	case x.has("user_throughput") || x.has("mean_request_ar"):
		x.tool = &trtllmTool
	default:
		x.tool = &vllmTool
	}
	x.chat = strings.HasSuffix(x.text("backend"), "chat") || strings.HasSuffix(x.text("endpoint_type"), "chat")
}

// identify finds out which tool wrote the result. It returns an error if the result
// holds no requests.
func (x *servingRun) identify(file string) error {
	x.setTool()
	if x.has("total_input_sequences") || x.has("input_sequence_throughput") {
		return fmt.Errorf("%s: is a result of %s for a model that gives no tokens (backend %q), which holds latencies only", file, x.tool.name, x.text("backend"))
	}
	for _, col := range []int{colTTFT, colITL, colOutput, colError} {
		if x.columns[col] >= 0 {
			continue
		}
		how := "--save-detailed"
		if x.tool == &sglangTool {
			how = "--output-details"
		}
		return fmt.Errorf("%s: is a result of %s of %s that holds figures and no requests; run it with %s to keep them", file, x.tool.name, sanitize.Cut(x.when(), 40), how)
	}
	return nil
}

// when returns the date of a result, for messages.
func (x *servingRun) when() string {
	if d := x.text("date"); d != "" {
		return d
	}
	return "unknown date"
}

// experiment returns the load level of a result.
func (x *servingRun) experiment() export.Experiment {
	rate, most := x.number("request_rate"), x.number("max_concurrency")
	switch {
	case !math.IsNaN(rate) && !math.IsInf(rate, 0):
		return export.Experiment{Mode: export.ModeRequestRate, Value: strings.Trim(x.scalars["request_rate"], `"`)}
	case !math.IsNaN(most):
		return export.Experiment{Mode: export.ModeConcurrency, Value: x.scalars["max_concurrency"]}
	case math.IsInf(rate, 1) && !math.IsNaN(x.number("num_prompts")):
		// All requests are sent at once.
		return export.Experiment{Mode: export.ModeConcurrency, Value: x.scalars["num_prompts"]}
	}
	return export.Experiment{}
}

// header fills in the run. A part that one of the results lacks is missing in the run.
func (s *serving) header(run *export.Run) error {
	first := s.all[0]
	m := run.Meta
	m.Tool = first.tool.name
	m.Model = first.text("model_id")
	m.Streaming = boolean(true)
	m.Import = &export.Import{Format: "the result of " + first.tool.name}
	lack := func(p export.Part, why string) {
		if _, there := run.Lacks(p); !there {
			m.Import.Lacks = append(m.Import.Lacks, export.Lack{Part: p, Why: why})
		}
	}
	run.ServiceKind = text("openai")
	if backend := first.text("backend"); strings.Contains(backend, "chat") {
		run.Endpoint = text("v1/chat/completions")
	} else if strings.HasPrefix(backend, "openai") || backend == "vllm" || strings.HasSuffix(backend, "-oai") {
		run.Endpoint = text("v1/completions")
	}
	for _, x := range s.all {
		if x.tool != first.tool {
			return fmt.Errorf("%s: holds results of both %s and %s; give them in files of their own", s.file.name, first.tool.name, x.tool.name)
		}
		if x.columns[colStart] < 0 {
			lack(export.PartStarts, "a result of "+x.tool.name+" does not say when requests were sent")
		} else {
			lack(export.PartEpoch, "a result of "+x.tool.name+" counts the start of requests from no known time")
		}
		if x.tool.ends != "" && (x.chat || x.tool != &trtllmOldTool) {
			lack(export.PartEnds, x.tool.ends)
		}
	}
	for _, x := range s.all {
		m.Import.Results = append(m.Import.Results, x.result())
	}
	lack(export.PartTexts, "a result of "+first.tool.name+" keeps the text of an answer as a whole")
	lack(export.PartInputs, "a result of "+first.tool.name+" does not keep what was sent")
	if c := first.tool.caveat; c != "" {
		m.Warnings = append(m.Warnings, c)
	}
	return nil
}

// open sets a cursor after the bracket of each column of the current result.
func (s *serving) open() {
	for i, at := range s.all[s.at].columns {
		if at < 0 {
			s.cursors[i] = nil
			continue
		}
		if s.cursors[i] == nil {
			s.cursors[i] = s.file.cursor(at, columnChunk)
		}
		s.cursors[i].Pos = at + 1
	}
}

func (s *serving) next(r *export.Request) (int, error) {
	for {
		if s.at == len(s.all) {
			s.at = len(s.all) - 1
			if s.tail != nil {
				s.ended = true
				return s.at, s.tail
			}
			return s.at, io.EOF
		}
		x := s.all[s.at]
		if s.index == 0 {
			s.open()
		}
		more, err := s.advance(x)
		if err != nil {
			return s.at, err
		}
		if more {
			break
		}
		s.at++
		s.index = 0
	}
	x := s.all[s.at]
	s.index++
	row, err := s.row(x)
	if err != nil {
		return s.at, err
	}
	r.ID = s.id
	s.id++
	return s.at, s.request(r, x, row)
}

// advance goes to the next element of each column. more is false at the end of all
// columns.
func (s *serving) advance(x *servingRun) (more bool, err error) {
	ended, first := -1, -1
	for i, c := range s.cursors {
		if c == nil {
			continue
		}
		has, err := c.Elem(s.index == 0)
		if err != nil && !s.withoutErrors(i, err) {
			return false, err
		}
		if s.cursors[i] == nil {
			continue
		}
		switch {
		case has && first < 0:
			first = i
		case !has && ended < 0:
			ended = i
		}
	}
	if first >= 0 && ended >= 0 {
		return false, &export.SyntaxError{
			Name: s.file.name, Offset: s.cursors[ended].Pos,
			Msg: fmt.Sprintf("column %q ends after %d requests, but %q goes on", x.names[ended], s.index, x.names[first]),
		}
	}
	return first >= 0, nil
}

// withoutErrors continues without the column of errors if err says that the file was
// cut within that very column.
func (s *serving) withoutErrors(col int, err error) bool {
	if col != colError || !isCut(err) || !s.partial || s.at != len(s.all)-1 {
		return false
	}
	s.cursors[col] = nil
	return true
}

// A servingRow holds the columns' values for a request. NaN means a null or a missing
// column.
type servingRow struct {
	at                              int64 // offset of its time to first token
	ttft, latency, start, queue     float64
	itl                             []float64
	input, output                   float64
	text, problem                   string
	hasText, succeeded, notStreamed bool
}

// row reads an element of each column. The error is a syntax error, an I/O error or a
// *badEntry.
func (s *serving) row(x *servingRun) (row *servingRow, err error) {
	row = &servingRow{at: s.cursors[colTTFT].Pos}
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
		n, problem := parseFloat(v)
		if problem != nil && bad == nil {
			bad = &badEntry{at: at, msg: fmt.Sprintf("%s: expected a number, found %s", x.names[col], jsonfile.Excerpt(v))}
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
		bad = &badEntry{at: row.at, msg: "the file was cut before it says how a request without output ended"}
	}
	row.succeeded = row.problem == "" && (row.output > 0 || row.ttft > 0 || row.notStreamed || row.latency > 0 || x.tool == &sglangTool)
	return row, bad
}

// gaps reads an element of the column of gaps.
func (s *serving) gaps(x *servingRun, row *servingRow, bad *error) error {
	c := s.cursors[colITL]
	at := c.Pos
	v, err := c.Value(x.names[colITL])
	if err != nil {
		return err
	}
	wrong := func(v []byte) {
		if *bad == nil {
			*bad = &badEntry{at: at, msg: fmt.Sprintf("%s: expected an array of numbers, found %s", x.names[colITL], jsonfile.Excerpt(v))}
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
		gap, problem := parseFloat(v[next:end])
		if problem != nil {
			wrong(v[next:end])
		}
		row.itl = append(row.itl, gap)
		i = end
	}
}

// parseFloat reads a number as Python writes it, also NaN and infinities. null is NaN.
func parseFloat(v []byte) (float64, error) {
	switch string(v) {
	case "NaN", "null":
		return math.NaN(), nil
	case "Infinity":
		return math.Inf(1), nil
	case "-Infinity":
		return math.Inf(-1), nil
	}
	return strconv.ParseFloat(string(v), 64)
}

// request fills in r.
func (s *serving) request(r *export.Request, x *servingRun, row *servingRow) error {
	wrong := func(name string, v float64) error {
		bad := badTime(row.at, name, v)
		bad.excluded = !row.succeeded
		return bad
	}
	r.StartNS = syntheticStart
	if !math.IsNaN(row.start) {
		ns, ok := nanoseconds(row.start)
		if !ok {
			return wrong("start_times", row.start)
		}
		r.StartNS, r.StartSource = ns, export.SourceUser
		if x.tool == &vllmRustTool { // since the run began: 0 would mean not recorded
			r.StartNS += syntheticStart
		}
		if wait, ok := nanoseconds(row.queue); ok && wait < r.StartNS {
			r.IssuedNS = r.StartNS - wait
			if x.scalars["request_rate"] != "" && !math.IsInf(x.number("request_rate"), 0) {
				r.ScheduledNS = r.IssuedNS
			}
		}
	}
	r.Status, r.Phase = export.StatusOK, export.PhaseMeasured
	if !row.succeeded {
		fail(r, 0, row.problem)
		if row.problem == "" {
			r.Message = "nothing came, and the file does not say why"
		}
	}
	if err := row.responses(r, x, wrong); err != nil {
		return err
	}
	r.Stated = &export.Stated{InputTokens: count(row.input), OutputTokens: count(row.output)}
	if !row.succeeded {
		r.Stated.OutputTokens = nil // 0 means unknown
	}
	if row.notStreamed {
		r.Stated.Streamed = boolean(false)
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

// count returns v as a number of tokens; nil if it is not one.
func count(v float64) *int64 {
	if !(v >= 0 && v <= 1<<53) {
		return nil
	}
	return number(int64(v))
}

// responses adds a response for each chunk, and one for the end if the tool measured an end
// after the last chunk.
func (row *servingRow) responses(r *export.Request, x *servingRun, wrong func(string, float64) error) error {
	if row.notStreamed {
		ns, ok := nanoseconds(row.latency)
		switch {
		case !ok && x.names[colLatency] == "":
			return &badEntry{
				at: row.at, excluded: !row.succeeded,
				msg: fmt.Sprintf("%s: %v says that the answer was not streamed, and no column says how long it took", x.names[colTTFT], row.ttft),
			}
		case !ok:
			return wrong(x.names[colLatency], row.latency)
		}
		respond(r, r.StartNS+ns, nil)
		return nil
	}
	if !(row.ttft > 0) { // nothing came
		return nil
	}
	ns, ok := nanoseconds(row.ttft)
	if !ok {
		return wrong(x.names[colTTFT], row.ttft)
	}
	at := r.StartNS + ns
	respond(r, at, nil)
	for _, gap := range row.itl {
		if ns, ok = nanoseconds(gap); !ok {
			return wrong(x.names[colITL], gap)
		}
		if at += ns; at-r.StartNS > math.MaxInt64 { // before it is past the end of uint64
			return &badEntry{
				at: row.at, excluded: !row.succeeded,
				msg: fmt.Sprintf("%s: the gaps of the request add up to more than 292 years", x.names[colITL]),
			}
		}
		respond(r, at, nil)
	}
	// Less than a microsecond is rounding: of the sum, or of the start.
	if ns, ok = nanoseconds(row.latency); ok && r.StartNS+ns > at+1000 {
		respond(r, r.StartNS+ns, nil)
		r.Responses[len(r.Responses)-1].Final = true
	}
	return nil
}

// silent returns the indices of the chunks, out of n, that are known to add no output. In
// chat, some clients count the role chunk as the first token, and the chunk with the
// reason of the end as the last. Two chunks more than tokens show that both were counted.
func (row *servingRow) silent(x *servingRun, n int) []int {
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

// check computes the figures of each result and compares them.
func (s *serving) check(c *selfCheck) {
	for i, x := range s.all {
		if len(s.all) > 1 {
			c.at = fmt.Sprintf("result %d", i)
		}
		x.values.compare(c, x)
	}
}

// servingValues are the values of the successful requests, in the unit of the file.
type servingValues struct {
	failed, completed      int
	ttft, tpot, itl, e2el  sample
	input, output          float64
	inputKnown, latencyOK  bool
	perUser                sample
	notStreamed, anyValues bool
}

func (v *servingValues) add(x *servingRun, row *servingRow) {
	if !v.anyValues {
		v.anyValues, v.inputKnown, v.latencyOK = true, true, true
	}
	if !row.succeeded {
		v.failed++
		return
	}
	v.completed++
	v.output += row.output
	v.input += row.input
	// SGLang's total is the sum of the lengths in the data set, but the column has the
	// server's counts.
	v.inputKnown = v.inputKnown && !math.IsNaN(row.input) && x.tool != &sglangTool
	v.notStreamed = v.notStreamed || row.notStreamed
	v.ttft = append(v.ttft, row.ttft)
	v.itl = append(v.itl, row.itl...)
	latency := row.latency
	if math.IsNaN(latency) {
		latency = row.ttft + sample(row.itl).sum()
		// In chat the measured latency may be longer.
		v.latencyOK = v.latencyOK && x.tool.ends == "" || x.tool == &trtllmOldTool && !x.chat
	}
	v.e2el = append(v.e2el, latency)
	if row.output > 1 {
		v.tpot = append(v.tpot, (latency-row.ttft)/(row.output-1))
	}
	v.perUser = append(v.perUser, row.output/latency)
}

// compare computes the figures of x that follow from its columns, and compares them.
func (v *servingValues) compare(c *selfCheck, x *servingRun) {
	duration := x.number("duration")
	figure := func(name string, computed float64) {
		if stored, ok := x.scalars[name]; ok && stored != "" && stored != "null" && !math.IsNaN(computed) {
			c.figure(name, x.number(name), computed)
		}
	}
	n := float64(v.completed)
	figure("completed", n)
	figure("failed", float64(v.failed))
	figure("total_output_tokens", v.output)
	figure("request_throughput", n/duration)
	figure("output_throughput", v.output/duration)
	if v.inputKnown && v.anyValues {
		figure("total_input_tokens", v.input)
		figure("input_throughput", v.input/duration)
		figure("total_token_throughput", (v.input+v.output)/duration)
		figure("total_throughput", (v.input+v.output)/duration)
	}
	metrics := map[string]sample{"ttft": v.ttft.sorted(), "itl": v.itl.sorted()}
	if v.latencyOK {
		metrics["tpot"], metrics[x.tool.latency] = v.tpot.sorted(), v.e2el.sorted()
		if v.completed > 0 {
			figure("user_throughput", v.perUser.mean())
		}
	}
	for _, name := range x.order {
		stat, metric, ok := splitFigure(name)
		values, known := metrics[metric]
		if !ok || !known {
			continue
		}
		if len(values) == 0 {
			values = sample{0} // as the tools do
		}
		figure(name, 1e3*values.stat(stat))
	}
}

// splitFigure splits "p99_ttft_ms" into "p99" and "ttft".
func splitFigure(name string) (stat, metric string, ok bool) {
	name, ok = strings.CutSuffix(name, "_ms")
	if !ok {
		return "", "", false
	}
	return strings.Cut(name, "_")
}

// stat returns the mean, the median, the std or a percentile such as p99.9. s has to be
// sorted. It returns NaN for another name.
func (s sample) stat(name string) float64 {
	switch name {
	case "mean":
		return s.mean()
	case "std":
		return s.std()
	case "median":
		return s.percentile(50)
	}
	pct, ok := strings.CutPrefix(name, "p")
	p, err := strconv.ParseFloat(pct, 64)
	if !ok || err != nil {
		return math.NaN()
	}
	return s.percentile(p)
}
