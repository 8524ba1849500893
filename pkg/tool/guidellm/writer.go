package guidellm

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/pa-tools/pa/internal/py"
	"github.com/pa-tools/pa/internal/spool"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// A writer collects the requests of a run and writes the file.
type writer struct {
	release *release
	run     *export.Run
	meter   *answer.Meter
	texts   dialect.Texts
	levels  []level
	model   string
	leftOut dialect.LeftOut
	buf     []byte
}

// maxEvents bounds the token events of a level. Its metrics take some 3 GB of memory for
// so many.
const maxEvents = 1 << 26

// A level holds the requests of a load level, which is a benchmark of the file.
type level struct {
	requests    groups
	tokenEvents float64
	text        [numGroups]spool.Buffer // the requests in JSON
}

func newWriter(r *release, run *export.Run) *writer {
	w := &writer{release: r, run: run, meter: answer.NewMeter(run, answer.Config{}), levels: make([]level, len(run.Experiments))}
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

// close deletes the temporary files.
func (w *writer) close() error {
	var errs []error
	for i := range w.levels {
		for k := range w.levels[i].text {
			errs = append(errs, w.levels[i].text[k].Close())
		}
	}
	return errors.Join(errs...)
}

// readAll reads all measured requests of in. It fails if temporary files cannot be
// written, if the export lacks the starts of requests, or if a level is too large. Errors
// of in stay with in.
func (w *writer) readAll(ctx context.Context, in export.Reader) error {
	if why, lacks := w.run.Lacks(export.PartStarts); lacks {
		return fmt.Errorf("GuideLLM states when each request was sent, which this file does not: %s", why)
	}
	return dialect.Requests(ctx, in, func(level int, q *export.Request) error {
		if w.leftOut.Skip(q) {
			return nil
		}
		return w.request(&w.levels[level], level, q)
	})
}

// warnings lists the requests that were left out, and times that are no Unix times.
func (w *writer) warnings() []error {
	all := w.leftOut.Warnings("")
	if why, lacks := w.run.Lacks(export.PartEpoch); lacks {
		all = append(all, fmt.Errorf("GuideLLM writes Unix times, and the times of this file begin elsewhere: %s", why))
	}
	return all
}

// request adds a request to its level.
func (w *writer) request(l *level, index int, q *export.Request) error {
	m := w.meter.Measure(q)
	x := newRequest(q, m, &w.texts)
	if w.model == "" {
		if body, err := py.ParseJSON(x.body, py.JSON); err == nil {
			v, _ := body.Member("model")
			w.model = v.Text()
		}
	}
	if l.tokenEvents += x.tokenIterations; l.tokenEvents > maxEvents {
		return fmt.Errorf("level %d has more than %d token events, and GuideLLM computes rates from all of them at once; convert a part of the level", index, maxEvents)
	}
	var startNS uint64
	if e := w.run.Experiments[index].Meta; e != nil {
		startNS = e.StartNS
	}
	b := w.buf[:0]
	if len(l.requests[x.group]) > 0 {
		b = append(b, ", "...)
	}
	w.buf = py.AppendJSON(b, x.object(w.release, startNS), 0)
	l.requests[x.group] = append(l.requests[x.group], x.requestStat)
	_, err := l.text[x.group].Write(w.buf)
	return err
}

// write writes the file. It empties the temporary files, so it can be called once.
func (w *writer) write(to io.Writer) error {
	out := bufio.NewWriterSize(to, 1<<16) // keeps its first error
	put := func(text string) { fmt.Fprint(out, text) }
	value := func(v any) {
		w.buf = py.AppendJSON(w.buf[:0], v, 0)
		put(string(w.buf))
	}
	put(`{"metadata": `)
	value(py.Object{{Name: "version", Value: w.release.report}, {Name: "guidellm_version", Value: w.release.version}, {Name: "python_version", Value: ""}, {Name: "platform", Value: ""}})
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

// benchmark writes load level i.
func (w *writer) benchmark(i int, out io.Writer, put func(string), value func(any)) error {
	l, e := &w.levels[i], &w.run.Experiments[i]
	b := &benchmark{release: w.release, groups: &l.requests, window: l.requests.window(), scheduled: e.Mode == export.ModeRequestRate}
	put(`{"type_": "generative_benchmark", "config": `)
	value(w.benchmarkConfig(i))
	put(`, "scheduler_state": `)
	value(b.schedulerState(e))
	put(`, "scheduler_metrics": `)
	value(b.schedulerMetrics(e))
	put(`, "metrics": `)
	value(b.object(w.release.metrics))
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
	value(b.window.from)
	put(`, "end_time": `)
	value(b.window.to)
	put(`, "duration": `)
	value(b.window.to - b.window.from)
	put(`, "warmup_duration": 0.0, "cooldown_duration": 0.0}`)
	return nil
}

// window returns the time from the first start to the last end; -1 to -1, GuideLLM's
// value of an unknown time, without requests.
func (g *groups) window() window {
	w := window{bounded: true, from: math.Inf(1), to: math.Inf(-1)}
	for i := range g {
		for k := range g[i] {
			w.from, w.to = min(w.from, g[i][k].start), max(w.to, g[i][k].end)
		}
	}
	if math.IsInf(w.from, 1) {
		w.from, w.to = -1, -1
	}
	return w
}
