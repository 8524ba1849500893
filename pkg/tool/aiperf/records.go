package aiperf

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/internal/py"
	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// omits lists the parts of a run that profile_export.jsonl does not hold.
const omits = "texts, prompts, responses without text, reasoning or a call, where a time was taken, telemetry, and what AIPerf says of HTTP exchanges that this run does not (bytes, chunks, waiting for a connection)"

// companions returns the path of AIPerf's statistics: a name of their own beside
// profile_export.jsonl, else the same name.
func companions(out string, _ *export.Run) []string {
	stem := strings.TrimSuffix(out, ".jsonl")
	if filepath.Base(stem) == "profile_export" {
		stem += "_aiperf"
	}
	return []string{stem + ".json"}
}

// writeResult writes the records, and returns the statistics as their companion.
func (r *release) writeResult(ctx context.Context, t *dialect.Tool, in export.Reader, cfg dialect.Config, out string, w io.Writer) (*dialect.Written, error) {
	written := &dialect.Written{}
	if cfg.Tokenizer != nil {
		cfg.Tokenizer = dialect.Shared(cfg.Tokenizer)
	}
	var rep dialect.Report
	errs := dialect.Tee(in, []func(export.Reader) error{
		func(in export.Reader) (err error) {
			written.Warnings, err = r.writeRecords(ctx, in, cfg, w)
			return err
		},
		func(in export.Reader) error {
			rep, _ = dialect.Analyze(ctx, t, in, cfg) // writeRecords returns the same error
			return nil
		},
	})
	if rep != nil && errs[0] == nil {
		written.Warnings = append(written.Warnings, rep.Warnings()...)
		written.Companions = []dialect.Companion{{Path: companions(out, nil)[0], Write: rep.JSON}}
	}
	return written, errs[0]
}

// writeRecords writes profile_export.jsonl: a line for each request of one level, in
// the order of in, like AIPerf, which writes them as they end. It keeps no request.
//
// Members and metrics that the run does not tell are left out, as AIPerf leaves out
// members that are None. Ids of workers are slots of the closed loop. The metrics of a
// line are in the order of one run of AIPerf, which changes from run to run.
//
// It returns the errors of [dialect.Analyze], except for the error of in itself: see
// in.Err. A run without the starts of its requests is an error, since every line has one.
func (r *release) writeRecords(ctx context.Context, in export.Reader, cfg dialect.Config, w io.Writer) (warnings []error, err error) {
	run := in.Run()
	if why, lacks := run.Lacks(export.PartStarts); lacks {
		return nil, fmt.Errorf("AIPerf states when each request was sent, which this file does not: %s", why)
	}
	levels, err := levelRule.Choose(run, cfg.Level)
	if err != nil {
		return nil, err
	}
	a, err := r.newAnalysis(dialect.Input{Config: cfg, Run: run, Levels: levels, Values: stat.NewStore(0, "")})
	if err != nil {
		return nil, err
	}
	x := &recordWriter{analysis: a, sessions: map[string]uint64{}}
	x.prepare()
	out := bufio.NewWriterSize(w, 1<<16) // keeps its first error
	var line []byte
	if err := dialect.Requests(ctx, in, func(level int, q *export.Request) error {
		if level != x.level {
			return nil
		}
		o, err := x.record(q)
		if err != nil || o == nil {
			return err
		}
		line = append(py.AppendORJSON(line[:0], o), '\n')
		_, err = out.Write(sanitize.JSON(line))
		return err
	}); err != nil {
		return nil, err
	}
	if x.startless > 0 {
		warnings = append(warnings, fmt.Errorf("left out: %s whose time of sending is not known", plural.Of(x.startless, "request")))
	}
	if x.skipped > 0 {
		warnings = append(warnings, fmt.Errorf("left out: %s that ended after the measurement", plural.Of(x.skipped, "request")))
	}
	if why, lacks := run.Lacks(export.PartEpoch); lacks {
		warnings = append(warnings, fmt.Errorf("AIPerf writes Unix times, and the times of this file begin elsewhere: %s", why))
	}
	return warnings, out.Flush()
}

// A recordWriter turns requests into lines.
type recordWriter struct {
	*analysis
	sessions  map[string]uint64 // their numbers in our own recordings
	imported  bool
	warmedUp  bool     // a warm-up phase precedes the phase that counts
	without   []string // tags as in needs that the file has no data for
	startless int
}

func (x *recordWriter) prepare() {
	m := x.run.Meta
	x.imported = m != nil && m.Import != nil
	if e := x.run.Experiments[x.level].Meta; e != nil {
		x.warmedUp = e.Warmup > 0
	}
	for _, n := range needs {
		if _, lacks := x.run.Lacks(n.part); lacks {
			x.without = append(x.without, n.tags...)
		}
	}
}

// record returns the line of a request; nil if AIPerf would not have the request.
func (x *recordWriter) record(q *export.Request) (py.Object, error) {
	if q.StartNS == 0 {
		x.startless++
		return nil, nil
	}
	if q.Phase == export.PhaseCooldown {
		x.skipped++
		return nil, nil
	}
	m := x.meter.Measure(q)
	r := &x.one
	var failure py.Object
	metrics := py.Object{}
	switch {
	case q.Status > export.StatusOK || m.Class != "":
		failure = x.failure(q, m)
	case !r.read(q, m):
		failure = py.Object{{Name: "type", Value: "no_content"}, {Name: "message", Value: "no response holds text, reasoning or a call"}}
	default:
		if err := x.count(r, q, m); err != nil {
			return nil, withoutCounts(err)
		}
		metrics = x.metrics(r, q, m)
	}
	o := py.Object{{Name: "metadata", Value: x.metadata(q)}, {Name: "metrics", Value: metrics}}
	if failure != nil {
		o = append(o, py.Member{Name: "error", Value: failure})
	}
	return o, nil
}

// metadata returns the identity of a request and its times.
func (x *recordWriter) metadata(q *export.Request) py.Object {
	var o py.Object
	set := func(name string, v any) { o = append(o, py.Member{Name: name, Value: v}) }
	text := func(name, v string) {
		if v != "" {
			set(name, v)
		}
	}
	instant := func(name string, ns uint64) {
		if ns != 0 {
			set(name, ns)
		}
	}
	set("session_num", x.session(q))
	text("x_correlation_id", cmp.Or(q.Agent, q.SessionID))
	set("turn_index", q.Turn)
	instant("credit_issued_ns", q.IssuedNS)
	set("request_start_ns", q.StartNS)
	instant("request_ack_ns", q.FirstByteNS)
	set("request_end_ns", dialect.EndNS(q))
	set("worker_id", fmt.Sprintf("worker_%08x", q.Worker))
	set("record_processor_id", "pa-analyze")
	phase, index := "profiling", 0
	if q.Phase == export.PhaseWarmup {
		phase = "warmup"
	} else if x.warmedUp {
		index = 1
	}
	set("benchmark_phase", phase)
	set("phase_index", index)
	if phase == "profiling" {
		set("profiling_index", 0)
	}
	set("phase_name", phase)
	set("phase_kind", phase)
	set("was_cancelled", q.Status == export.StatusCancelled)
	if q.Status == export.StatusCancelled && !x.imported {
		instant("cancellation_time_ns", q.FailedNS)
	}
	set("context_overflow_skip", false)
	if q.Agent != "" {
		text("parent_correlation_id", cmp.Or(q.ParentAgent, q.SessionID))
	}
	set("agent_depth", q.Depth)
	text("root_correlation_id", q.SessionID)
	return o
}

// session returns the number of a request's session. Without a session, and in a run read
// from AIPerf's own records, it returns the request's number.
func (x *recordWriter) session(q *export.Request) uint64 {
	if x.imported || q.SessionID == "" {
		return q.ID
	}
	n, ok := x.sessions[q.SessionID]
	if !ok {
		n = uint64(len(x.sessions))
		x.sessions[q.SessionID] = n
	}
	return n
}

// failure returns the error of a failed request.
func (x *recordWriter) failure(q *export.Request, m *answer.Measured) py.Object {
	var o py.Object
	if q.Code != 0 {
		o = append(o, py.Member{Name: "code", Value: q.Code})
	}
	kind := q.Status.String()
	switch {
	case q.Stated != nil && q.Stated.ErrorType != "":
		kind = q.Stated.ErrorType
	case m.Class != "":
		kind = m.Class
	}
	text := q.Message
	if text == "" {
		text = m.Message
	}
	return append(o, py.Member{Name: "type", Value: kind}, py.Member{Name: "message", Value: text})
}

// metrics returns the metrics that AIPerf shows for a single successful request, in the
// order of the release, without the metrics that the file has no data for.
func (x *recordWriter) metrics(r *record, q *export.Request, measured *answer.Measured) py.Object {
	// AIPerf counts no time before the request.
	timed := r.ttft >= 0 && r.latency >= 0
	streamed := x.streamed(q) && timed
	r.usage, r.hasUsage = serverUsage(q, measured)
	found := map[string]any{}
	set := func(ok bool, tag string, value any) {
		if ok {
			found[tag] = value
		}
	}
	for i := range measures {
		m := &measures[i]
		v, ok := m.valueOf(r, streamed)
		switch unit := x.release.column(m.tag).unit; {
		case !ok || m.tag == requestLatency && !timed:
		case unit == "ms":
			found[m.tag] = v * 1e-6
		case m.whole:
			found[m.tag] = int64(v)
		default:
			found[m.tag] = v
		}
	}
	found[outputLength], found["output_token_count"] = r.output, r.output-r.reasoning
	set(r.latency > 0, "e2e_output_token_throughput", float64(r.output)/(float64(r.latency)*1e-9))
	set(streamed && len(r.gaps) > 0, chunkGap, milliseconds(r.gaps))
	set(r.reasoning > 0, "reasoning_token_count", r.reasoning)
	set(r.hasUsage && measured.ReasoningTokens.OK, "usage_reasoning_tokens", measured.ReasoningTokens.V)
	set(r.hasUsage && measured.CachedTokens.OK, cacheRead, measured.CachedTokens.V)
	connected := q.Connect > 0 || q.DNS > 0 || q.Reused
	set(connected, "http_req_connecting", float64(q.Connect+q.TLS)*1e-6)
	set(connected, "http_req_dns_lookup", float64(q.DNS)*1e-6)
	set(connected, "http_req_connection_reused", zeroOrOne(q.Reused))
	if asked, ok := requestedTokens(dialect.Payload(q)); ok {
		found["osl_mismatch_diff_pct"] = float64(r.output-asked) / float64(asked) * 100
	}
	o := py.Object{}
	for _, tag := range x.release.recordTags {
		v, ok := found[tag]
		if !ok || slices.ContainsFunc(x.without, func(pattern string) bool { return matches(tag, pattern) }) {
			continue
		}
		o = append(o, py.Member{Name: tag, Value: py.Object{{Name: "value", Value: v}, {Name: "unit", Value: x.release.column(tag).unit}}})
	}
	return o
}

// serverUsage returns the server's counts of input and output; ok is false if it stated
// none.
func serverUsage(q *export.Request, m *answer.Measured) (usage [2]int64, ok bool) {
	if !m.InputTokens.OK || !m.OutputTokens.OK {
		return usage, false
	}
	usage = [2]int64{m.InputTokens.V, m.OutputTokens.V}
	switch s := q.Stated; m.TokenSource {
	case answer.TokenUsage:
		return usage, true
	case answer.TokenStated: // not the server's if the file states them as the client's own
		own := s.CountedOutput != nil && *s.CountedOutput == usage[1] || s.CountedInput != nil && *s.CountedInput == usage[0]
		return usage, !own
	}
	return usage, false
}

func first(all []int64) int64 {
	if len(all) == 0 {
		return 0
	}
	return all[0]
}

func zeroOrOne(b bool) int {
	if b {
		return 1
	}
	return 0
}

func milliseconds(ns []int64) []float64 {
	all := make([]float64, len(ns))
	for i := range ns {
		all[i] = float64(ns[i]) * 1e-6
	}
	return all
}
