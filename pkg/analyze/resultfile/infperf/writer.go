package infperf

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/internal/pyjson"
	"github.com/pa-tools/pa/pkg/analyze/dialect"
	"github.com/pa-tools/pa/pkg/export"
)

// omits lists the parts of a run that the file of requests does not hold.
const omits = "the level and the session of a request, when it was due and issued, chunks without text of the first choice but in the body, warmup, telemetry, and where a time was taken"

// Tools returns inference-perf as a tool that prints no report.
func Tools() []*dialect.Tool {
	return []*dialect.Tool{{
		Name: "inference-perf", Family: "inference-perf", Options: dialect.LanguageOptions(), Transformers: 5,
		Result: &dialect.ResultFile{Omits: omits, Listed: "inference-perf", Ending: ".json", Companions: companions, Write: writeResult},
	}}
}

// companions returns the paths of the summaries: of all levels, and of each.
func companions(out string, run *export.Run) []string {
	paths := []string{besidePath(out, summaryName)}
	for i := range run.Experiments {
		paths = append(paths, besidePath(out, StageName(i)))
	}
	return paths
}

// besidePath gives the name of a summary the prefix that the file of requests has
// (storage.local_storage.report_file_prefix).
func besidePath(out, name string) string {
	const requests = "per_request_lifecycle_metrics.json"
	prefix, ok := strings.CutSuffix(filepath.Base(out), requests)
	if !ok {
		prefix = strings.TrimSuffix(filepath.Base(out), ".json") + "_"
	}
	return filepath.Join(filepath.Dir(out), prefix+name)
}

func writeResult(ctx context.Context, r export.Reader, cfg dialect.Config, out string, w io.Writer) (*dialect.Written, error) {
	if len(cfg.Args) > 0 {
		return nil, &dialect.ArgError{Msg: "inference-perf has no argument that matters here"}
	}
	x := NewWriter(r.Run(), cfg, w)
	if err := x.WriteAll(ctx, r); err != nil {
		return nil, err
	}
	written := &dialect.Written{Warnings: x.Warnings()}
	for _, s := range x.Summaries() {
		written.Companions = append(written.Companions, dialect.Companion{Path: besidePath(out, s.Name), Write: s.Write})
	}
	return written, nil
}

// A Writer writes the requests of a run, and keeps what its summaries are made
// of.
type Writer struct {
	run       *export.Run
	cfg       dialect.Config
	out       *bufio.Writer // keeps its first error
	n         int           // requests written
	skipped   int
	startless int
	untimed   int // requests whose tokens are more than their chunks, and uncounted
	all       sums
	stages    []sums
	one       answer
	buf       []byte
}

// NewWriter returns a Writer to w. Of the Config it needs the Tokenizer, unless
// the file states what the tool counted.
func NewWriter(run *export.Run, cfg dialect.Config, w io.Writer) *Writer {
	return &Writer{run: run, cfg: cfg, out: bufio.NewWriterSize(w, 1<<16), stages: make([]sums, len(run.Experiments))}
}

// WriteAll writes all requests of r that were measured, in its order. Without
// one there is an empty list.
//
// An error is of writing, or says what is missing: dialect.ErrNoTokenizer, or
// that the file does not say when requests were sent. That of r itself is to be
// asked for: what was read until then is written.
func (w *Writer) WriteAll(ctx context.Context, r export.Reader) error {
	if why, lacks := w.run.Lacks(export.PartStarts); lacks {
		return fmt.Errorf("inference-perf says of each request when it was sent, which is not known here: %s", why)
	}
	if why, lacks := w.run.Lacks(export.PartGaps); lacks {
		return fmt.Errorf("inference-perf says when each chunk came, which is not known here: %s", why)
	}
	if err := dialect.Requests(ctx, r, func(level int, q *export.Request) error {
		switch {
		case q.StartNS == 0:
			w.startless++
		case q.Phase == export.PhaseWarmup || q.Phase == export.PhaseCooldown:
			w.skipped++
		default:
			return w.request(level, q)
		}
		return nil
	}); err != nil {
		return err
	}
	if w.n > 0 {
		w.text("\n")
	} else {
		w.text("[")
	}
	w.text("]")
	return w.out.Flush()
}

// Warnings are what a reader must know to trust the files.
func (w *Writer) Warnings() []error {
	var all []error
	if w.startless > 0 {
		all = append(all, fmt.Errorf("left out: %s whose time of sending is not known", plural.Of(w.startless, "request")))
	}
	if w.skipped > 0 {
		all = append(all, fmt.Errorf("left out: %s of the warmup or after the measurement; inference-perf has no such phases", plural.Of(w.skipped, "request")))
	}
	if w.untimed > 0 {
		all = append(all, fmt.Errorf("no output_token_times and no latencies of tokens for %s with more tokens than chunks, whose texts are not known", plural.Of(w.untimed, "request")))
	}
	if why, lacks := w.run.Lacks(export.PartEnds); lacks {
		all = append(all, fmt.Errorf("end_time is the time of the last token: %s", why))
	}
	return all
}

// Summaries are the files beside that of the requests, of what was written so
// far: of all, and of each stage that has requests.
func (w *Writer) Summaries() []Summary {
	if w.n == 0 {
		return nil
	}
	all := []Summary{{Name: summaryName, sums: &w.all}}
	for i := range w.stages {
		if w.stages[i].n > 0 {
			all = append(all, Summary{Name: StageName(i), sums: &w.stages[i], level: &w.run.Experiments[i]})
		}
	}
	return all
}

// summaryName is the name of the summary of all levels.
const summaryName = "summary_lifecycle_metrics.json"

// StageName is the name of the summary of load level i.
func StageName(i int) string { return fmt.Sprintf("stage_%d_lifecycle_metrics.json", i) }

// text writes what cannot fail before Flush says so.
func (w *Writer) text(s string) { fmt.Fprint(w.out, s) }

// request writes one request, and adds it to the sums.
func (w *Writer) request(level int, q *export.Request) error {
	o, err := w.entry(level, q)
	if err != nil {
		return err
	}
	w.text([2]string{"[\n  ", ",\n  "}[min(w.n, 1)])
	w.n++
	w.buf = pyjson.Append(w.buf[:0], o, 2)
	for i, line := 0, 0; i < len(w.buf); i = line { // two blanks deeper
		for line = i; line < len(w.buf) && w.buf[line] != '\n'; {
			line++
		}
		if line < len(w.buf) {
			line++
		}
		w.text(string(w.buf[i:line]))
		if w.buf[line-1] == '\n' {
			w.text("  ")
		}
	}
	return nil
}

// entry is the object of a request.
func (w *Writer) entry(level int, q *export.Request) (pyjson.Object, error) {
	start := seconds(q.StartNS)
	end := seconds(endNS(q))
	var body, response, failure any
	if v, ok := q.Inputs.Get("payload"); ok {
		body = string(v.Data)
	}
	w.one.read(q)
	if !q.NoOutputs && (q.Stated == nil || len(w.one.chunks) == 0) { // an import has the chunks with text only
		response = string(w.one.raw)
	}
	info, metrics := 0.0, any(nil)
	each := []*sums{&w.all, &w.stages[level]}
	if q.Status > export.StatusOK {
		kind := kindOf(q)
		failure = pyjson.Object{{Name: "error_type", Value: kind}, {Name: "error_msg", Value: q.Message}}
		for _, s := range each {
			s.time(start, end)
			s.failedLatency = append(s.failedLatency, end-start)
			s.failures.add(kind, q.Message, q.SessionID)
		}
	} else {
		m, err := w.measure(q)
		if err != nil {
			return nil, err
		}
		info, metrics = m.prompt, m.object()
		for _, s := range each {
			s.time(start, end)
			s.add(m, start, end, body)
		}
	}
	for _, s := range each {
		if q.ScheduledNS != 0 {
			s.delays = append(s.delays, start-seconds(q.ScheduledNS))
		}
	}
	return pyjson.Object{
		{Name: "start_time", Value: start},
		{Name: "end_time", Value: end},
		{Name: "request", Value: body},
		{Name: "response", Value: response},
		{Name: "info", Value: pyjson.Object{
			{Name: "request_metrics", Value: pyjson.Object{
				{Name: "text", Value: pyjson.Object{{Name: "input_tokens", Value: int64(info)}}},
				{Name: "image", Value: nil},
				{Name: "video", Value: nil},
				{Name: "audio", Value: nil},
			}},
			{Name: "response_metrics", Value: metrics},
			{Name: "extra_info", Value: pyjson.Object{}},
			{Name: "lora_adapter", Value: nil},
			{Name: "graph_event_id", Value: nil},
			{Name: "labels", Value: pyjson.Object{}},
			{Name: "input_tokens", Value: int64(info)},
		}},
		{Name: "error", Value: failure},
	}, nil
}

// seconds turns nanoseconds into the float that Python's clocks give for them.
func seconds(ns uint64) float64 { return float64(ns) / 1e9 }

// endNS is when a request was over.
func endNS(q *export.Request) uint64 {
	end, _ := q.EndNS()
	end = max(q.StartNS, end, q.EndedNS)
	if q.Stated != nil && q.Stated.EndNS != nil {
		end = max(end, *q.Stated.EndNS)
	}
	return end
}

// toFloat returns a number that pyjson holds.
func toFloat(v any) (float64, bool) {
	switch v := v.(type) {
	case pyjson.Raw:
		f, err := strconv.ParseFloat(string(v), 64)
		return f, err == nil
	case int64:
		return float64(v), true
	}
	return 0, false
}
