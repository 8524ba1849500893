package serving

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/internal/jsonscan"
	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/internal/resultfile"
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

// ResultFile describes the files of the serving benchmarks.
func ResultFile() resultfile.Kind {
	return resultfile.Kind{Name: "the result of vllm bench serve, TensorRT-LLM's benchmark_serving or SGLang's bench_serving", Sniff: sniff, Open: open, Stated: statements()}
}

func sniff(o *resultfile.Outline) bool {
	return o.Has("duration", "completed", "total_input_tokens") ||
		o.Has("backend", "dataset_name", "request_rate") || o.Has("backend", "tokenizer_id", "num_prompts")
}

// A fileTool describes the files of one tool.
type fileTool struct {
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
	vllmTool = fileTool{
		name: "vllm bench serve", latency: "e2el", lastCounts: true,
		caveat: "a request ends with its last chunk that has text: usage and [DONE] are not in a result of vllm bench serve",
	}
	vllmRustTool = fileTool{
		name: "vllm-bench", latency: "e2el", roleChunk: true, lastCounts: true, late: []int{colLatency, colStart},
		caveat: "a request ends with its last chunk that has choices: usage and [DONE] are not in a result of vllm-bench",
	}
	trtllmTool = fileTool{
		name: "TensorRT-LLM benchmark_serving", latency: "e2el", roleChunk: true, lastCounts: true,
		caveat: "a request ends with its last chunk that has choices, in chat with its usage: [DONE] is not in a result of benchmark_serving",
	}
	// Before there was a column of latencies.
	trtllmOldTool = fileTool{
		name: "TensorRT-LLM benchmark_serving", latency: "e2el", roleChunk: true, lastCounts: true,
		ends: "benchmark_serving of this release writes no latencies, and in chat measures them to the usage chunk, whose time is not in the file",
	}
	sglangTool = fileTool{
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

var columnNames = map[string]int{
	"ttfts": colTTFT, "itls": colITL, "output_lens": colOutput, "errors": colError, "input_lens": colInput,
	"generated_texts": colText, "latencies": colLatency, "e2els": colLatency, "start_times": colStart, "queue_times": colQueue,
}

// open reads the file up to its first request.
func open(f *resultfile.File) (*export.Run, resultfile.Source, error) {
	c, err := f.Start()
	if err != nil {
		return nil, nil, err
	}
	s := &source{file: f}
	run := &export.Run{Meta: &export.RunMeta{Schema: export.Schema}}
	results, err := resultsIn(c)
	if err != nil {
		return nil, nil, err
	}
	var bad []*leftOutResult
	for {
		more, err := results.next()
		if !more && err == nil {
			break
		}
		var x *fileRun
		if err == nil {
			x, err = s.outline(c)
		}
		if left := new(leftOutResult); errors.As(err, &left) {
			left.index = results.n - 1
			bad = append(bad, left)
			continue
		}
		partial := resultfile.IsCut(err) && x != nil && x.rowsBeforeCut()
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
	if len(s.all) == 0 {
		err := results.nothing(f.Name, bad)
		if len(bad) > 0 {
			err = resultfile.NoRequests(err)
		}
		return nil, nil, err
	}
	if err := s.header(run); err != nil {
		return nil, nil, err
	}
	const most = 8
	for i, err := range bad {
		if i == most {
			run.Meta.Warnings = append(run.Meta.Warnings, plural.Of(len(bad)-most, "more result")+" left out")
			break
		}
		run.Meta.Warnings = append(run.Meta.Warnings, err.Error())
	}
	return run, s, nil
}

// fileResults goes through the results of a file: appended to each other, or in an array as
// vllm bench sweep writes them.
type fileResults struct {
	c     *jsonscan.Cursor
	array bool
	n     int // results so far
}

func resultsIn(c *jsonscan.Cursor) (*fileResults, error) {
	b, err := c.Peek()
	if err == nil && b == '[' {
		c.Pos++
		return &fileResults{c: c, array: true}, nil
	}
	return &fileResults{c: c}, err
}

// next goes to the next result; more is false after the last one.
func (x *fileResults) next() (more bool, err error) {
	if x.array {
		more, err = x.c.Elem(x.n == 0)
	} else if _, err = x.c.Peek(); err == nil {
		more = true
	} else if resultfile.IsCut(err) && x.n > 0 {
		return false, nil
	}
	x.n++
	return more, err
}

// nothing returns why none of the results can be read.
func (x *fileResults) nothing(file string, bad []*leftOutResult) error {
	switch {
	case len(bad) == 0:
		return fmt.Errorf("%s: is an array without results: nothing was measured", file)
	case len(bad) == 1 && !x.array:
		return fmt.Errorf("%s: %s", file, bad[0].whole)
	case x.array && !slices.ContainsFunc(bad, func(e *leftOutResult) bool { return !e.figures }):
		return fmt.Errorf("%s: holds %s of vllm bench sweep: figures only, no requests; run it with --save-detailed among the options of the benchmark to keep them", file, plural.Of(len(bad), "result"))
	}
	return fmt.Errorf("%s: holds %s and no requests: %s", file, plural.Of(len(bad), "result"), bad[0].why)
}

// A leftOutResult is the error of a result that cannot be read. The other results of the file can.
type leftOutResult struct {
	index int
	level export.Experiment // empty if it is not known
	why   string            // after "result 3 of the file is left out: "
	whole string            // the error of a file that holds only this result
	// figures reports that the result has figures only.
	figures bool
}

func (e *leftOutResult) Error() string {
	level := ""
	if e.level.Mode != "" {
		level = " (" + export.LoadName(e.level.Mode, e.level.Value) + ")"
	}
	return fmt.Sprintf("result %d of the file%s is left out: %s", e.index, level, e.why)
}

// source is the source of a file of results.
type source struct {
	file *resultfile.File
	all  []*fileRun
	tail error // the error that ended the file early
	// partial reports that the file ended within its last result. The rows of that
	// result are the rows that every column has.
	partial bool

	at      int  // index in all
	index   int  // of the next request
	broken  bool // the rest of the current result cannot be read
	ended   bool // tail was delivered after the last request
	id      uint64
	cursors [numCols]*jsonscan.Cursor // nil for a column that is not there
}

func (s *source) Where() string {
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
func (s *source) outline(c *jsonscan.Cursor) (*fileRun, error) {
	switch b, err := c.Peek(); {
	case err != nil:
		return nil, err
	case b != '{':
		if err := resultfile.Skip(c); err != nil {
			return nil, err
		}
		why := fmt.Sprintf("expected an object, found %q", b)
		return nil, &leftOutResult{why: why, whole: why}
	}
	x := &fileRun{scalars: map[string]string{}}
	for i := range x.columns {
		x.columns[i] = -1
	}
	const most = 4 << 10 // of members that are kept
	err := resultfile.EachMember(c, "a result", func(name string) error {
		b, err := c.Peek()
		if err != nil {
			return err
		}
		if i, known := columnNames[name]; known && b == '[' {
			x.columns[i], x.names[i] = c.Pos, name
		}
		if b == '[' || b == '{' {
			if _, there := x.scalars[name]; !there {
				x.note(name, "")
			}
			if columnNames[name] == colTTFT && b == '[' {
				x.rows, err = resultfile.CountElements(c)
				return err
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
	return x, x.identify()
}

// header fills in the run. A part that one of the results lacks is missing in the run.
func (s *source) header(run *export.Run) error {
	first := s.all[0]
	m := run.Meta
	m.Tool = first.tool.name
	m.Model = first.text("model_id")
	m.Streaming = new(true)
	m.Import = &export.Import{Format: "the result of " + first.tool.name}
	lack := func(p export.Part, why string) {
		if _, there := run.Lacks(p); !there {
			m.Import.Lacks = append(m.Import.Lacks, export.Lack{Part: p, Why: why})
		}
	}
	run.ServiceKind = new("openai")
	if backend := first.text("backend"); strings.Contains(backend, "chat") {
		run.Endpoint = new("v1/chat/completions")
	} else if strings.HasPrefix(backend, "openai") || backend == "vllm" || strings.HasSuffix(backend, "-oai") {
		run.Endpoint = new("v1/completions")
	}
	for _, x := range s.all {
		if x.tool != first.tool {
			return fmt.Errorf("%s: holds results of both %s and %s; give them in files of their own", s.file.Name, first.tool.name, x.tool.name)
		}
		if x.columns[colStart] < 0 {
			lack(export.PartStarts, "a result of "+x.tool.name+" does not say when requests were sent")
		} else {
			lack(export.PartEpoch, "a result of "+x.tool.name+" counts the start of requests from no known time")
		}
		if x.lacksEnds() {
			lack(export.PartEnds, x.tool.ends)
		}
	}
	var kept []resultfile.KeptLevel
	var totals []export.StatedTotals
	for _, x := range s.all {
		m.Import.Results = append(m.Import.Results, x.result())
		kept, totals = append(kept, x.kept()), append(totals, x.totals())
	}
	resultfile.LackRequests(run, kept)
	resultfile.StateTotals(run, totals)
	lack(export.PartTexts, "a result of "+first.tool.name+" keeps the text of an answer as a whole")
	lack(export.PartInputs, "a result of "+first.tool.name+" does not keep what was sent")
	if c := first.tool.caveat; c != "" {
		m.Warnings = append(m.Warnings, c)
	}
	return nil
}

// open sets a cursor after the bracket of each column of the current result.
func (s *source) open() {
	for i, at := range s.all[s.at].columns {
		if at < 0 {
			s.cursors[i] = nil
			continue
		}
		if s.cursors[i] == nil {
			s.cursors[i] = s.file.Cursor(at, resultfile.ColumnChunk)
		}
		s.cursors[i].Pos = at + 1
	}
}

// Next implements resultfile.Source.
func (s *source) Next(r *export.Request) (int, error) {
	if s.broken {
		s.broken = false
		s.at, s.index = s.at+1, 0
	}
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
			return s.at, s.leaveResult(err)
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
		return s.at, s.leaveResult(err)
	}
	r.ID = s.id
	s.id++
	return s.at, s.request(r, x, row)
}

// leaveResult returns the error to report for err. A syntax error leaves out the rest of its
// result if another result follows, because the places of the columns of that one are known.
func (s *source) leaveResult(err error) error {
	var syntax *export.SyntaxError
	if !errors.As(err, &syntax) || s.at == len(s.all)-1 {
		return err
	}
	s.broken = true
	return &resultfile.BadEntry{At: syntax.Offset, Msg: syntax.Msg + "; the rest of this result is left out"}
}

// advance goes to the next element of each column. more is false at the end of all
// columns.
func (s *source) advance(x *fileRun) (more bool, err error) {
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
			Name: s.file.Name, Offset: s.cursors[ended].Pos,
			Msg: fmt.Sprintf("column %q ends after %d requests, but %q goes on", x.names[ended], s.index, x.names[first]),
		}
	}
	return first >= 0, nil
}

// withoutErrors continues without the column of errors if err says that the file was
// cut within that very column.
func (s *source) withoutErrors(col int, err error) bool {
	if col != colError || !resultfile.IsCut(err) || !s.partial || s.at != len(s.all)-1 {
		return false
	}
	s.cursors[col] = nil
	return true
}
