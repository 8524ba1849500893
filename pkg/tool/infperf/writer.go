package infperf

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/internal/py"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// A writer writes the requests of a run and collects the values of its summaries.
type writer struct {
	release *release
	run     *export.Run
	cfg     dialect.Config
	out     *bufio.Writer // keeps its first error
	n       int           // requests written
	leftOut dialect.LeftOut
	// untimed counts the requests whose tokens have no known times: they have more tokens
	// than chunks, and unknown texts.
	untimed int
	all     sums
	stages  []sums
	one     answer
	buf     []byte
}

// newWriter returns a writer to out. It needs the Tokenizer of cfg, unless the export
// states the tool's own counts.
func newWriter(r *release, run *export.Run, cfg dialect.Config, out io.Writer) *writer {
	return &writer{release: r, run: run, cfg: cfg, out: bufio.NewWriterSize(out, 1<<16), stages: make([]sums, len(run.Experiments))}
}

// writeAll writes all measured requests of in, in its order; an empty list without one.
// It fails if out cannot be written, with dialect.ErrNoTokenizer, or if the export lacks
// the starts of requests or the times between tokens. Errors of in stay with in; the
// requests before one are written.
func (w *writer) writeAll(ctx context.Context, in export.Reader) error {
	if why, lacks := w.run.Lacks(export.PartStarts); lacks {
		return fmt.Errorf("inference-perf states when each request was sent, which this file does not: %s", why)
	}
	if why, lacks := w.run.Lacks(export.PartGaps); lacks {
		return fmt.Errorf("inference-perf states when each chunk came, which this file does not: %s", why)
	}
	if err := dialect.Requests(ctx, in, func(level int, q *export.Request) error {
		if w.leftOut.Skip(q) {
			return nil
		}
		return w.request(level, q)
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

// warnings lists the requests that were left out, and the times that are unknown.
func (w *writer) warnings() []error {
	all := w.leftOut.Warnings("; inference-perf has no such phases")
	if w.untimed > 0 {
		all = append(all, fmt.Errorf("no output_token_times and no latencies of tokens for %s with more tokens than chunks, whose texts are not known", plural.Of(w.untimed, "request")))
	}
	if why, lacks := w.run.Lacks(export.PartEnds); lacks {
		all = append(all, fmt.Errorf("end_time is the time of the last token: %s", why))
	}
	return all
}

// summaries returns the summaries of the requests written so far: of all requests, and of
// each stage that has some; none without requests.
func (w *writer) summaries() []summary {
	if w.n == 0 {
		return nil
	}
	all := []summary{{release: w.release, name: w.release.summary, sums: &w.all}}
	for i := range w.stages {
		if w.stages[i].n > 0 {
			all = append(all, summary{release: w.release, name: w.release.stageName(i), sums: &w.stages[i], level: &w.run.Experiments[i]})
		}
	}
	return all
}

// stageName returns the name of the summary of load level i.
func (r *release) stageName(i int) string { return fmt.Sprintf(r.stage, i) }

// text writes s; Flush returns the error.
func (w *writer) text(s string) { fmt.Fprint(w.out, s) }

// request writes a request and adds it to the sums.
func (w *writer) request(level int, q *export.Request) error {
	o, err := w.entry(level, q)
	if err != nil {
		return err
	}
	w.text([2]string{"[\n  ", ",\n  "}[min(w.n, 1)])
	w.n++
	w.buf = py.AppendJSONWithin(w.buf[:0], o, 2, 1)
	_, err = w.out.Write(w.buf)
	return err
}

// entry returns the object of a request.
func (w *writer) entry(level int, q *export.Request) (py.Object, error) {
	start := seconds(q.StartNS)
	end := seconds(dialect.EndNS(q))
	var body, response, failure any
	if v, ok := q.Inputs.Get("payload"); ok {
		body = string(v.Data)
	}
	w.one.read(q)
	if !q.NoOutputs && (q.Stated == nil || len(w.one.chunks) == 0) { // an import lacks chunks without text
		response = string(w.one.raw)
	}
	info, metrics := 0.0, any(nil)
	each := []*sums{&w.all, &w.stages[level]}
	if q.Status > export.StatusOK {
		kind := kindOf(q)
		failure = py.Object{{Name: "error_type", Value: kind}, {Name: "error_msg", Value: q.Message}}
		for _, s := range each {
			s.time(start, end)
			s.failedLatency = append(s.failedLatency, end-start)
			s.failures.add(w.release, kind, q.Message, q.SessionID)
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
	return py.Object{
		{Name: "start_time", Value: start},
		{Name: "end_time", Value: end},
		{Name: "request", Value: body},
		{Name: "response", Value: response},
		{Name: "info", Value: py.Object{
			{Name: "request_metrics", Value: py.Object{
				{Name: "text", Value: py.Object{{Name: "input_tokens", Value: int64(info)}}},
				{Name: "image", Value: nil},
				{Name: "video", Value: nil},
				{Name: "audio", Value: nil},
			}},
			{Name: "response_metrics", Value: metrics},
			{Name: "extra_info", Value: py.Object{}},
			{Name: "lora_adapter", Value: nil},
			{Name: "graph_event_id", Value: nil},
			{Name: "labels", Value: py.Object{}},
			{Name: "input_tokens", Value: int64(info)},
		}},
		{Name: "error", Value: failure},
	}, nil
}

// seconds converts nanoseconds to the float that Python's clocks return.
func seconds(ns uint64) float64 { return float64(ns) / 1e9 }

// toFloat returns the value of a JSON number; ok is false for anything else.
func toFloat(v any) (f float64, ok bool) {
	switch v := v.(type) {
	case py.Raw:
		f, err := strconv.ParseFloat(string(v), 64)
		return f, err == nil
	case int64:
		return float64(v), true
	}
	return 0, false
}
