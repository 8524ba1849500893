package aiperf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/analyze/explain"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// A report holds the metrics of one load level. It is a [dialect.Report].
type report struct {
	Level dialect.Level
	// Metrics holds the metrics that have values, in the order of the console.
	Metrics []metric
	// Errors holds the kinds of failures, in the order of their first occurrence.
	Errors []failure

	kinds     map[failureKind]int // indices in Errors
	release   *release
	cancelled bool
	// startNS and endNS bound the phase; 0: not known.
	startNS, endNS uint64

	hint      bool   // the server reports token usage without cached tokens
	uncounted bool   // there was no tokenizer
	fromUsage bool   // token counts are the server's
	lacks     string // why the file has no data for some metrics; "" if it has
	explainer *explain.Explainer
	warnings  []error
}

// A failure is a kind of failure.
type failure struct {
	Code          int // 0: none
	Type, Message string
	// Cause and Chain say what led to the failure, in AIPerf's words.
	Cause string
	Chain []string
	Count int
}

// A failureKind identifies failures that are counted as one kind.
type failureKind struct {
	code                       int
	typ, message, cause, chain string
}

var _ dialect.Report = (*report)(nil)

// Metric returns the metric of that tag; nil if it has no values.
func (r *report) Metric(tag string) *metric {
	for i := range r.Metrics {
		if r.Metrics[i].Tag == tag {
			return &r.Metrics[i]
		}
	}
	return nil
}

// Warnings implements [dialect.Report].
func (r *report) Warnings() []error { return r.warnings }

// An analysis measures the requests of one load level.
type analysis struct {
	release *release
	cfg     dialect.Config
	run     *export.Run
	rep     *report
	level   int
	meter   explain.Meter
	parts   *dialect.Parts
	texts   dialect.Texts
	// fromUsage takes the server's token counts (--use-server-token-count).
	fromUsage bool
	// startNS and endNS bound the phase; 0: not known.
	startNS, endNS uint64

	c          collector
	sweeps     sweeps
	one        record
	cachedSeen bool
	skipped    int
}

// Tools returns the dialects of the releases: "aiperf" for the last one, and names with
// the version for any earlier ones.
func Tools() []*dialect.Tool {
	var all []*dialect.Tool
	for i, release := range releases {
		all = append(all, release.tool(dialect.ReleaseName(family, release.version, i, len(releases))))
	}
	return all
}

// tool returns the dialect of the release under a name. Its arguments (Config.Args) are
// use_server_token_count ("true"), was_cancelled ("true"), start_time and end_time, the
// times as in profile_export_aiperf.json or in Unix nanoseconds.
func (r *release) tool(name string) *dialect.Tool {
	t := &dialect.Tool{
		Name: name, Family: family, Listed: name, Options: dialect.LanguageOptions(), Compared: 1,
		Levels: levelRule,
		New:    func(in dialect.Input) (dialect.Analysis, error) { return r.newAnalysis(in) },
	}
	t.Result = &dialect.ResultFile{
		Omits: omits, Listed: name, Ending: ".jsonl", Companions: companions,
		Write: func(ctx context.Context, in export.Reader, cfg dialect.Config, out string, w io.Writer) (*dialect.Written, error) {
			return r.writeResult(ctx, t, in, cfg, out, w)
		},
	}
	return t
}

// levelRule chooses the only level of a run, or the last one that was asked for.
var levelRule = dialect.LevelRule{One: true, Several: "AIPerf reports each by itself"}

// family is the name of the tool.
const family = "aiperf"

func (r *release) newAnalysis(in dialect.Input) (*analysis, error) {
	a := &analysis{
		release: r, cfg: in.Config, run: in.Run, level: in.Levels[0], meter: in.Meter(), parts: in.Parts, c: newCollector(r, in.Values, in.Brief),
		rep:   &report{release: r, explainer: in.Explainer, uncounted: in.Uncounted},
		texts: dialect.Texts{Calls: true},
	}
	e := &a.run.Experiments[a.level]
	a.rep.Level = dialect.Level{Mode: e.Mode, Value: e.Value}
	if err := a.arguments(); err != nil {
		return nil, err
	}
	return a, r.checkGoodput(in.Goodput)
}

// arguments reads Config.Args.
func (a *analysis) arguments() error {
	setters := map[string]dialect.Setter{
		"use_server_token_count": dialect.Assign(&a.fromUsage, strconv.ParseBool),
		"was_cancelled":          dialect.Assign(&a.rep.cancelled, strconv.ParseBool),
		"start_time":             dialect.Assign(&a.startNS, instant),
		"end_time":               dialect.Assign(&a.endNS, instant),
	}
	for key, value := range a.cfg.Args {
		set := setters[key]
		if set == nil {
			return fmt.Errorf("AIPerf's report does not depend on the argument %q; expected use_server_token_count, was_cancelled, start_time or end_time", key)
		}
		if set(value) != nil {
			return fmt.Errorf("argument %s=%q: expected true or false, or a time such as 2026-11-21T11:59:16.222704", key, value)
		}
	}
	if a.startNS == 0 && a.endNS == 0 && a.imported() { // the summary of its folder, if it was read
		a.startNS, a.endNS = a.run.Meta.StartNS, a.run.Meta.EndNS
	}
	return nil
}

// imported reports whether the run was read from AIPerf's own records.
func (a *analysis) imported() bool {
	m := a.run.Meta
	return m != nil && m.Import != nil && strings.HasPrefix(m.Tool, "AIPerf")
}

// instant reads a time as AIPerf writes it, in UTC, or Unix nanoseconds.
func instant(text string) (uint64, error) {
	if ns, err := strconv.ParseUint(text, 10, 64); err == nil {
		return ns, nil
	}
	t, err := time.Parse("2006-01-02T15:04:05.999999999", text)
	if err != nil || t.UnixNano() < 0 {
		return 0, errors.New("no time")
	}
	return uint64(t.UnixNano()), nil
}

// Begin starts the level.
func (*analysis) Begin(int) {}

// End finishes the level.
func (*analysis) End() {}

// Report returns the report.
func (a *analysis) Report() dialect.Report {
	a.finish()
	return a.rep
}

// Request measures one request of the level.
func (a *analysis) Request(q *export.Request) error {
	switch q.Excluded() {
	case export.NotExcluded:
	case export.ExcludedFailed:
		a.addFailed(q, nil)
		return nil
	default:
		a.skipped++
		return nil
	}
	m := a.meter.Measure(q)
	if m.Answer.Failure != "" && !a.imported() && failedInStream(q) {
		a.addFailed(q, nil)
		return nil
	}
	a.rep.explainer.Request(q)
	r := &a.one
	if !r.read(q, m) {
		a.rep.explainer.Empty()
		a.addFailed(q, m)
		return nil
	}
	if err := a.count(r, q, m); err != nil {
		return withoutCounts(err)
	}
	a.addFigures(r, q, m)
	a.cachedSeen = a.cachedSeen || r.cached
	a.c.streamed = a.streamed(q)
	a.c.add(r)
	if len(a.cfg.Goodput) > 0 {
		good, known := a.good(r)
		a.c.judged = a.c.judged || known
		if good {
			a.c.good++
		}
	}
	if !a.c.brief {
		a.sweeps.add(r, a.c.streamed, a.c.chunks.Len())
	}
	a.explain(r, q)
	return nil
}

// failedInStream reports whether AIPerf takes an answer with an error in the stream for failed: it looks at the event's name
// only, so that an error in its data is an event without content.
func failedInStream(q *export.Request) bool {
	for i := range q.Responses {
		p := &q.Responses[i]
		v, _ := p.Outputs.Get("response")
		lines := append([]byte{'\n'}, v.Bytes()...)
		if p.Error || bytes.Contains(lines, []byte("\nevent: error")) || bytes.Contains(lines, []byte("\nevent:error")) {
			return true
		}
	}
	return false
}

// streamed reports whether a request asked for a stream, or got one.
func (a *analysis) streamed(q *export.Request) bool {
	if a.cfg.Streaming != nil {
		return *a.cfg.Streaming
	}
	if s := q.Stated; s != nil && s.Streamed != nil && *s.Streamed { // the first record may have failed, and not tell
		return true
	}
	return a.c.streamed || len(q.Responses) > 1 || a.run.Meta != nil && a.run.Meta.Streaming != nil && *a.run.Meta.Streaming
}

// withoutCounts adds AIPerf's way to do without a tokenizer to the error that it is
// missing.
func withoutCounts(err error) error {
	return fmt.Errorf("%w; AIPerf's --use-server-token-count is --arg use_server_token_count=true", err)
}

// finish computes the metrics after the last request.
func (a *analysis) finish() {
	c := &a.c
	from, to := float64(a.startNS), float64(a.endNS)
	phase := (to - from) * 1e-9
	if a.startNS == 0 || a.endNS <= a.startNS || a.rep.cancelled {
		phase = 0
	}
	if a.startNS == 0 {
		from = c.firstIssued
	}
	if a.endNS == 0 || a.rep.cancelled {
		to = c.lastFinished
	}
	all := append(c.metrics(), c.rates(phase, len(a.cfg.Goodput) > 0)...)
	if !math.IsInf(from, 0) && to > from {
		all = append(all, a.stepMetrics(from, to)...)
	}
	switch {
	case c.brief && c.hasChunks:
		all = append(all, none(chunkGap))
	case c.hasChunks:
		all = append(all, spread(chunkGap, c.chunks, 1e-6))
	}
	r := a.rep
	r.startNS, r.endNS = a.startNS, a.endNS
	slices.SortFunc(all, func(x, y metric) int { return a.release.places[x.Tag] - a.release.places[y.Tag] })
	r.Metrics = all
	r.dropLacking(a.run)
	r.hint = c.values["usage_prompt_tokens"] != nil && !a.cachedSeen
	a.explainLevel(phase)
	if phase == 0 && !r.cancelled && c.ok > 0 {
		add := "give --arg start_time=… and end_time=…"
		if a.imported() {
			add = "add --beside to take it from profile_export_aiperf.json of the same folder, or " + add
		}
		r.warnings = append(r.warnings, errors.New("the file does not state the start and end of the phase, by which AIPerf divides; rates and effective metrics use the first start and the last end of the requests; "+add))
	}
	if a.skipped > 0 {
		r.warnings = append(r.warnings, fmt.Errorf("left out: %s that AIPerf does not count (cancelled, or not measured)", plural.Of(a.skipped, "request")))
	}
}

// stepMetrics returns the effective and active metrics from one instant to another. No definition shows
// them, so that the report of definitions has them without values.
func (a *analysis) stepMetrics(from, to float64) []metric {
	if !a.c.brief {
		return a.sweeps.metrics(a.release.steps, from, to, a.c.chunks)
	}
	var all []metric
	for i := range a.release.steps {
		all = append(all, none(a.release.steps[i].tag))
	}
	return all
}

// needs lists the metrics that have no values if the run lacks a part. A tag that ends in
// "*" names all metrics that begin with the text before it.
var needs = []struct {
	part export.Part
	tags []string
}{
	{export.PartGaps, []string{
		secondToken, chunkGap, "effective_decode_throughput*", "active_decode_throughput*", "tokens_in_flight",
	}},
	{export.PartLast, []string{
		requestLatency, "decode_duration", interToken, perUser, "e2e_output_token_throughput", "adj_request_latency",
		"adj_decode_duration", "adj_inter_token_latency", "effective_*", "active_*", "tokens_in_flight", "benchmark_duration",
		requestRate, outputRate, totalRate, "input_token_throughput",
	}},
	{export.PartStarts, []string{
		"credit_to_start_latency", "effective_*", "active_*", "tokens_in_flight", "benchmark_duration", requestRate, outputRate,
		totalRate, "input_token_throughput",
	}},
}

// dropLacking removes the metrics that the file lacks data for, with a warning.
func (r *report) dropLacking(run *export.Run) {
	for _, n := range needs {
		why, lacks := run.Lacks(n.part)
		if !lacks {
			continue
		}
		before := len(r.Metrics)
		r.Metrics = slices.DeleteFunc(r.Metrics, func(m metric) bool {
			return slices.ContainsFunc(n.tags, func(tag string) bool { return matches(m.Tag, tag) })
		})
		if len(r.Metrics) < before {
			r.warnings = append(r.warnings, fmt.Errorf("%s left out: %s", plural.Of(before-len(r.Metrics), "metric"), why))
			r.lacks = why
		}
	}
}

func matches(tag, pattern string) bool {
	if front, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(tag, front)
	}
	return tag == pattern
}

// checkGoodput returns an error if a limit is on an unknown metric.
func (r *release) checkGoodput(limits []dialect.Limit) error {
	for _, l := range limits {
		if r.column(l.Metric) == nil {
			return fmt.Errorf("AIPerf stops with: Unknown metric tag(s) in --goodput: %s.; it takes the names in its JSON report, such as %s", l.Metric, firstToken)
		}
	}
	return nil
}

// good reports whether a request keeps all limits. A request without a value for a
// metric fails its limit; known is false for such a request.
func (a *analysis) good(r *record) (good, known bool) {
	good, known = true, true
	for _, l := range a.cfg.Goodput {
		v, ok := r.value(l.Metric, a.c.streamed)
		limit := l.Value
		switch a.release.column(l.Metric).unit {
		case "ms":
			limit *= 1e6
		case "KB":
			limit *= 1024
		}
		least := slices.Contains(a.release.largerIsBetter, l.Metric)
		known = known && ok
		good = good && ok && !(least && v < limit || !least && v > limit)
	}
	return good, known
}
