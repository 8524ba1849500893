package guidellm

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/internal/pyjson"
	"github.com/pa-tools/pa/internal/spool"
	"github.com/pa-tools/pa/pkg/analyze/dialect"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// Version is the release of GuideLLM whose file is written.
const Version = "0.8.1"

// omits lists the parts of a run that the file does not hold.
const omits = "the times between the first and the last token, what the single events held, warmup, telemetry, where a time was taken, and how a request failed beside the message"

// Tools returns GuideLLM as a tool that prints no report.
func Tools() []*dialect.Tool {
	return []*dialect.Tool{{
		Name: "guidellm", Family: "guidellm", Options: dialect.LanguageOptions(),
		Result: &dialect.ResultFile{Omits: omits, Listed: "guidellm", Ending: ".json", Write: writeResult},
	}}
}

func writeResult(ctx context.Context, r export.Reader, cfg dialect.Config, _ string, w io.Writer) (_ *dialect.Written, err error) {
	if len(cfg.Args) > 0 {
		return nil, &dialect.ArgError{Msg: "GuideLLM has no argument that matters here"}
	}
	x := NewWriter(r.Run())
	defer func() { err = errors.Join(err, x.Close()) }()
	if err := x.ReadAll(ctx, r); err != nil {
		return nil, err
	}
	return &dialect.Written{Warnings: x.Warnings()}, x.Write(w)
}

// A Writer keeps what the file is made of.
type Writer struct {
	run       *export.Run
	meter     *answer.Meter
	texts     texts
	levels    []level
	model     string
	skipped   int
	startless int
	buf       []byte
}

// mostEvents bounds the token events of a level: some 3 GB while its figures are
// made.
const mostEvents = 1 << 26

// A level is a benchmark.
type level struct {
	requests groups
	events   float64
	text     [numGroups]spool.Buffer // the requests in JSON
}

// NewWriter returns a Writer of a run.
func NewWriter(run *export.Run) *Writer {
	w := &Writer{run: run, meter: dialect.Meter(run), levels: make([]level, len(run.Experiments))}
	for i := range w.levels {
		for k := range w.levels[i].text {
			w.levels[i].text[k].What = "the requests of benchmarks.json"
		}
	}
	if run.Meta != nil {
		w.model = run.Meta.Model
	}
	return w
}

// Close deletes temporary files.
func (w *Writer) Close() error {
	var errs []error
	for i := range w.levels {
		for k := range w.levels[i].text {
			errs = append(errs, w.levels[i].text[k].Close())
		}
	}
	return errors.Join(errs...)
}

// ReadAll reads all requests of r that were measured. An error is of the
// temporary files, or says that the file does not say when requests were sent or
// that a level is too large; that of r itself is to be asked for.
func (w *Writer) ReadAll(ctx context.Context, r export.Reader) error {
	if why, lacks := w.run.Lacks(export.PartStarts); lacks {
		return fmt.Errorf("GuideLLM says of each request when it was sent, which is not known here: %s", why)
	}
	return dialect.Requests(ctx, r, func(level int, q *export.Request) error {
		switch {
		case q.StartNS == 0:
			w.startless++
		case q.Phase == export.PhaseWarmup || q.Phase == export.PhaseCooldown:
			w.skipped++
		default:
			return w.request(&w.levels[level], level, q)
		}
		return nil
	})
}

// Warnings are what a reader must know to trust the file.
func (w *Writer) Warnings() []error {
	var all []error
	if w.startless > 0 {
		all = append(all, fmt.Errorf("left out: %s whose time of sending is not known", plural.Of(w.startless, "request")))
	}
	if w.skipped > 0 {
		all = append(all, fmt.Errorf("left out: %s of the warmup or after the measurement", plural.Of(w.skipped, "request")))
	}
	if why, lacks := w.run.Lacks(export.PartEpoch); lacks {
		all = append(all, fmt.Errorf("times are Unix times for GuideLLM, and count from elsewhere here: %s", why))
	}
	return all
}

func (w *Writer) request(l *level, index int, q *export.Request) error {
	m := w.meter.Measure(q)
	x := read(q, m, &w.texts)
	if w.model == "" {
		if body, err := pyjson.Parse(x.body, pyjson.JSON); err == nil {
			v, _ := body.Member("model")
			w.model = v.Text()
		}
	}
	if l.events += x.tokenIterations; l.events > mostEvents {
		return fmt.Errorf("level %d has more than %d token events, of which GuideLLM makes rates all at once; convert a part of it", index, mostEvents)
	}
	var startNS uint64
	if e := w.run.Experiments[index].Meta; e != nil {
		startNS = e.StartNS
	}
	b := w.buf[:0]
	if len(l.requests[x.group]) > 0 {
		b = append(b, ", "...)
	}
	w.buf = pyjson.Append(b, x.object(startNS), 0)
	l.requests[x.group] = append(l.requests[x.group], x.stat)
	_, err := l.text[x.group].Write(w.buf)
	return err
}

// Write writes the file, once.
func (w *Writer) Write(to io.Writer) error {
	out := bufio.NewWriterSize(to, 1<<16) // keeps its first error
	put := func(text string) { fmt.Fprint(out, text) }
	value := func(v any) {
		w.buf = pyjson.Append(w.buf[:0], v, 0)
		put(string(w.buf))
	}
	put(`{"metadata": `)
	value(pyjson.Object{{Name: "version", Value: 2}, {Name: "guidellm_version", Value: Version}, {Name: "python_version", Value: ""}, {Name: "platform", Value: ""}})
	put(`, "config": `)
	value(w.config())
	put(`, "benchmarks": [`)
	for i := range w.levels {
		if i > 0 {
			put(", ")
		}
		if err := w.benchmark(i, out, put, value); err != nil {
			return err
		}
	}
	put(`], "conclusions": []}`)
	return out.Flush()
}

// benchmark writes a level.
func (w *Writer) benchmark(i int, out io.Writer, put func(string), value func(any)) error {
	l, e := &w.levels[i], &w.run.Experiments[i]
	in := l.requests.window()
	put(`{"type_": "generative_benchmark", "config": `)
	value(w.benchmarkConfig(i))
	put(`, "scheduler_state": `)
	value(schedulerState(l, e, in))
	put(`, "scheduler_metrics": `)
	value(schedulerMetrics(l, e, in))
	put(`, "metrics": `)
	value(l.requests.metrics(in, e.Mode == export.ModeRequestRate))
	put(`, "requests": {`)
	for k, group := range [...]struct {
		name string
		at   int
	}{{"successful", successful}, {"errored", errored}, {"incomplete", incomplete}} {
		if k > 0 {
			put(", ")
		}
		put(`"` + group.name + `": [`)
		if err := l.text[group.at].MoveTo(out); err != nil {
			return err
		}
		put("]")
	}
	put(`, "total": null}, "warnings": [], "start_time": `)
	value(in.from)
	put(`, "end_time": `)
	value(in.to)
	put(`, "duration": `)
	value(in.to - in.from)
	put(`, "warmup_duration": 0.0, "cooldown_duration": 0.0}`)
	return nil
}

// window is from the first start to the last end.
func (g *groups) window() window {
	in := window{bounded: true, from: math.Inf(1), to: math.Inf(-1)}
	for i := range g {
		for k := range g[i] {
			in.from, in.to = min(in.from, g[i][k].start), max(in.to, g[i][k].end)
		}
	}
	if math.IsInf(in.from, 1) { // no requests; the tool writes -1 for what never came
		in.from, in.to = -1, -1
	}
	return in
}
