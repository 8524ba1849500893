package analyze

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/analyze/inference"
	"github.com/pa-tools/pa/pkg/analyze/summary"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// finish returns the analysis of the experiment. sel is the collected part of the level
// and f the flow in this part; both are nil for the whole level.
func (c *collector) finish(run *export.Run, e *export.Experiment, cfg Config, sel *Selected, f *flow) Experiment {
	for _, g := range c.figures {
		c.err = errors.Join(c.err, g.End())
	}
	if sel == nil && !c.startsUnknown {
		c.spanWrong = c.wrongSpan(run, e)
	}
	if c.certified && !c.startsUnknown {
		c.setEffective()
	}
	x := Experiment{
		Mode: e.Mode, Value: e.Value,
		Load: loadOf(e),
		OK:   c.ok, Unreadable: c.unreadable, Failed: c.failed.Counts(), Excluded: c.excluded.Counts(),
		TokenSource: c.source(),
		TokenEvents: c.events, SharedStamps: c.shared, Backward: c.anomalies.backward,
		Stamps: c.stamps, Starts: c.starts, Resent: c.resent,
		Level: figure.Level{Metrics: c.metrics()}, Selected: sel, Hidden: c.hidden.summary(),
	}
	if sel != nil {
		x.DurationNS = int64(sel.Counting())
		x.Throughput = f.throughput(sel.Counting().Seconds(), concurrency(e))
	} else {
		switch v := answer.Elapsed(c.firstStart, c.lastEnd); {
		case c.startsUnknown:
			why, _ := run.LevelLacks(e.Mode, e.Value, export.PartStarts)
			x.Unavailable = append(x.Unavailable, figure.Unavailable{Key: "throughput", Name: "rates", Why: why})
		case c.spanWrong != "":
			x.Unavailable = append(x.Unavailable, figure.Unavailable{Key: "throughput", Name: "rates", Why: c.spanWrong})
		case v.OK && v.V > 0 && c.firstStart != 0:
			x.DurationNS = int64(c.lost.counting(c.firstStart, c.lastEnd))
		}
		x.Throughput = c.throughput(x.DurationNS, e)
	}
	x.Span = c.ratesSpan(sel)
	x.Unavailable = append(x.Unavailable, c.streams.unavailable(x.Metrics, run, cfg.Streaming != nil)...)
	x.Unavailable = append(x.Unavailable, c.hidden.unavailable(x.Metrics)...)
	x.Unavailable = append(x.Unavailable, c.uncountable(x.Metrics)...)
	x.Unavailable = append(x.Unavailable, c.unstatedTokens(x.Metrics, run, cfg)...)
	x.Unavailable = append(x.Unavailable, c.wrong.unavailable(x.Metrics, x.Unavailable, c.ok)...)
	for _, g := range c.figures {
		g.Set(&x.Level, run)
	}
	if x.Economics != nil {
		x.Economics.Span = x.Span
	}
	if sel != nil {
		x.Unsteady = sel.warnings()
	}
	differs := drift(c.latencies)
	if differs != nil && !c.startsUnknown {
		x.Unsteady = append(x.Unsteady, differs)
	}
	if cfg.Settling && !c.startsUnknown {
		x.Unsettled = unsettled(c.latencies, differs != nil)
	}
	if cfg.Observer != nil {
		x.FirstTokens = firstTokens(c.latencies)
	}
	x.Warnings = c.warnings(cfg, &x)
	if e.Meta != nil {
		var wrong []string
		if x.Client, wrong = e.Meta.Client.Possible(); wrong != nil {
			x.Warnings = append(x.Warnings, impossibleFigures(SubClient, "the client's measurements of itself", wrong))
		}
		if x.Client != nil && sel == nil {
			c.sent.perSecond = x.Client.AchievedPerSecond
		}
		for _, w := range e.Meta.Warnings {
			if r := RecorderWarning(w); r.Kind != KindDropped || c.anomalies.dropped == 0 { // else a warning of our own says it
				x.Warnings = append(x.Warnings, r)
			}
		}
	}
	if named := namedRate(run, e); named > 0 && !c.startsUnknown {
		x.Sent = c.sent.rate()
		if w := c.sent.warning(named, &x); w != nil {
			x.Warnings = append(x.Warnings, w)
		}
	}
	return x
}

// wrongSpan returns why the duration of the level is not known although requests have times; "" if it is known.
func (c *collector) wrongSpan(run *export.Run, e *export.Experiment) string {
	if t := c.wrong[answer.Times]; t.requests > 0 {
		return ofRequests([]int64{int64(t.requests), int64(c.ok)}) + " started or ended at an impossible time"
	}
	span := answer.Elapsed(c.firstStart, c.lastEnd)
	switch {
	case !span.OK || c.firstStart == 0:
	case span.V > export.LongestNS:
		return "the requests lie more than a year apart"
	case !withinLevel(run, e, c.firstStart, c.lastEnd):
		return fmt.Sprintf("the requests, from %d to %d, lie outside of the level, from %d to %d", c.firstStart, c.lastEnd, e.Meta.StartNS, e.Meta.EndNS)
	}
	return ""
}

// uncountable returns the metrics and rates that have no value because the tokenizer
// could not count a text. Metrics keep the values of the other requests.
func (c *collector) uncountable(metrics []summary.Metric) []figure.Unavailable {
	if c.anomalies.notCounted == 0 {
		return nil
	}
	return withoutTokens(metrics, "the tokenizer could not count a text: "+c.refusal)
}

// withoutTokens returns the metrics and rates that have no value because of the number of output tokens.
func withoutTokens(metrics []summary.Metric, why string) []figure.Unavailable {
	var all []figure.Unavailable
	for _, m := range []answer.Metric{answer.TPOT, answer.OutputTokens} {
		if summary.Find(metrics, m) == nil {
			all = append(all, figure.Unavailable{Key: m.Key(), Name: m.Label(), Why: why})
		}
	}
	return append(all, figure.Unavailable{Key: "output_tokens_per_s", Name: "token rates", Why: why})
}

// unstatedTokens returns the metrics and rates that have no value because the file of another tool states no
// output tokens.
func (c *collector) unstatedTokens(metrics []summary.Metric, run *export.Run, cfg Config) []figure.Unavailable {
	m := run.Meta
	others := c.streams.not + c.streams.unknown + c.anomalies.dropped + c.anomalies.notCounted + c.wrong.tokens() // other functions give their reasons
	if m == nil || m.Import == nil || c.ok == 0 || c.sources[answer.TokenAuto] < c.ok || others > 0 {
		return nil
	}
	if figure.WhyLacking(run, answer.OutputTokens.Key(), "") != "" { // the report gives this reason once for the run
		return nil
	}
	why := cmp.Or(m.Import.Format, "the file") + " states no output tokens"
	if cfg.Counter == nil {
		why += "; --tokenizer counts the text"
	}
	return withoutTokens(metrics, why)
}

// source returns the one source of all output tokens, or TokenMixed.
func (c *collector) source() answer.TokenSource {
	found := answer.TokenAuto
	for s, n := range c.sources {
		switch {
		case n == 0 || answer.TokenSource(s) == answer.TokenAuto:
		case found == answer.TokenAuto:
			found = answer.TokenSource(s)
		default:
			return answer.TokenMixed
		}
	}
	return found
}

// ratesSpan returns the measured time: the selected part, or from the first start to the last
// response.
func (c *collector) ratesSpan(sel *Selected) figure.Span {
	if sel != nil {
		return sel.Span
	}
	if c.startsUnknown {
		return figure.Span{}
	}
	return figure.Span{FromNS: c.firstStart, ToNS: c.lastEnd}
}

// setEffective computes how many independent values the latencies of the requests are worth, from their
// order in time, for their certified percentiles.
func (c *collector) setEffective() {
	worth := func(values []float64) float64 {
		if len(values) == 0 {
			return 0
		}
		return inference.NewSeries(values).Effective()
	}
	slices.SortFunc(c.latencies, func(a, b requestLatencies) int { return cmp.Compare(a.start, b.start) })
	c.whole[answer.TTFT].Effective = worth(latencies(c.latencies, func(t *requestLatencies) int64 { return t.ttft }))
	c.whole[answer.E2EL].Effective = worth(latencies(c.latencies, func(t *requestLatencies) int64 { return t.e2el }))
	slices.SortFunc(c.tpots, func(a, b timedTPOT) int { return cmp.Compare(a.start, b.start) })
	values := make([]float64, len(c.tpots))
	for i, t := range c.tpots {
		values[i] = t.ns
	}
	c.tpot.Effective = worth(values)
}

// warnings returns the warnings about a level whose analysis is x.
func (c *collector) warnings(cfg Config, x *Experiment) []error {
	var w []error
	o, ok := &c.anomalies, int64(c.ok)
	// say adds a warning about n[0] things, if there are any.
	say := func(kind WarningKind, text func(n []int64) string, n ...int64) {
		if n[0] > 0 {
			w = append(w, counted(kind, text(make([]int64, len(n))), text, n...))
		}
	}
	// requests adds a warning about n of the successful requests.
	requests := func(kind WarningKind, n int, rest string) {
		say(kind, func(n []int64) string { return ofRequests(n) + rest }, int64(n), ok)
	}
	if c.ok == 0 {
		w = append(w, newWarning(KindNothing, "no measured request succeeded, so there are no figures"))
	}
	for _, f := range x.Failed {
		class, first := f.Name, ""
		if m := c.messages[class]; m.text != "" {
			first = fmt.Sprintf("; the first message: %q", sanitize.Clip(m.text, maxQuotedBytes))
		}
		w = append(w, counted(KindFailed, class, func(n []int64) string {
			return ofRequests(n) + " failed: " + class + first
		}, int64(f.N), ok+int64(x.FailedRequests())))
	}
	requests(KindMissingTimes, o.noToken, " had no output in any response: an E2EL and no TTFT")
	say(KindTokenCount, func(n []int64) string {
		return "the file holds no outputs of " + plural.GroupedOf(n[0], "request") + ": each response counts as a token, an empty last one too"
	}, int64(o.assumed))
	requests(KindUnreadable, o.damaged, " had damaged derived columns in a file without outputs: an E2EL only, and token rates are n/a; pa-analyze convert makes the columns from the original file")
	requests(KindDropped, o.dropped-o.damaged, " lost outputs because the recorder's disk was too slow: an E2EL only, and token rates are n/a; record to a faster disk")
	say(KindUnreadable, func(n []int64) string {
		what := " events or bodies"
		if n[0] == 1 {
			what = " event or body"
		}
		return plural.Grouped(n[0]) + what + " broke the protocol and " + plural.Form(n[0], "does", "do") + " not count as tokens"
	}, int64(o.unreadable))
	requests(KindMissingTimes, o.noFrom, fmt.Sprintf(" had no %q time recorded: no TTFT and no E2EL; choose another --from", cfg.From))
	requests(KindClock, o.unsent, fmt.Sprintf(" got a response before the last byte was sent, so times from %q are negative and left out; use --from start", cfg.From))
	requests(KindClock, o.early-o.unsent, fmt.Sprintf(" got a response before the %s: the clock was set back, or the times come from different clocks", cfg.From))
	say(KindClock, func(n []int64) string {
		return plural.Grouped(n[0]) + " of " + plural.GroupedOf(n[1], "gap") + " between tokens " + plural.Form(n[0], "was below 0 and is", "were below 0 and are") + " left out: the clock was set back during the run"
	}, int64(o.backward), int64(o.gaps))
	say(KindClock, func(n []int64) string {
		return plural.GroupedOf(n[0], "time") + " of more than 292 years left out: the file is damaged"
	}, int64(o.impossible))
	if c.spanWrong != "" && c.wrong[answer.Times].requests == 0 {
		w = append(w, newWarning(KindImpossible, "%s: rates are n/a", c.spanWrong))
	}
	w = append(w, c.wrong.warnings(c.ok)...)
	say(KindNotStreamed, func(n []int64) string {
		return ofRequests(n) + " asked for a streamed answer and got a whole one, which has an E2EL and no TTFT, TTST, ITL or TPOT; check that the server and each proxy before it stream"
	}, int64(c.streams.ignored), ok)
	say(KindOther, func(n []int64) string {
		return ofRequests(n) + " got a streamed answer without asking for it; it is read as a stream"
	}, int64(c.streams.unasked), ok)
	if n := c.streams.not - c.streams.ignored; n < c.ok {
		requests(KindMissingTimes, n, " had an answer that was not streamed: an E2EL and no TTFT, TTST, ITL or TPOT")
	}
	if cfg.TokenSource != answer.TokenAuto {
		requests(KindTokenCount, o.noTokens, fmt.Sprintf(" had no number of tokens from %s: not in the token metrics; choose another --token-source", cfg.TokenSource))
	}
	if o.notCounted > 0 {
		w = append(w, counted(KindTokenCount, "not counted", func(n []int64) string {
			return ofRequests(n) + " had an output that the tokenizer could not count: no output tokens and no TPOT, and token rates are n/a: " + c.refusal + "; check the tokenizer file"
		}, int64(o.notCounted), ok))
	}
	if x.TokenSource == answer.TokenMixed {
		w = append(w, c.mixture())
	}
	w = append(w, c.hidden.warnings(ok)...)
	say(KindTokenCount, func(n []int64) string {
		return fmt.Sprintf("the server counts more tokens than it sent chunks in %s (%s tokens in %s chunks), so ITL is the time between chunks", ofRequests(n), plural.Grouped(n[2]), plural.Grouped(n[3]))
	}, int64(c.above.requests), ok, wholeOf(c.above.tokens), wholeOf(c.above.events))
	say(KindTokenCount, func(n []int64) string {
		return fmt.Sprintf("the server counts fewer tokens than it sent chunks of output in %s (%s tokens in %s chunks); --token-source responses counts chunks", ofRequests(n), plural.Grouped(n[2]), plural.Grouped(n[3]))
	}, int64(c.below.requests), ok, wholeOf(c.below.tokens), wholeOf(c.below.events))
	w = append(w, c.lengths.warnings()...)
	for _, u := range x.Unsteady {
		w = append(w, u)
	}
	if x.SLO != nil {
		w = append(w, sloWarnings(x.SLO)...)
	}
	return w
}

// mixture returns the warning that counts the requests by the source of their output
// tokens.
func (c *collector) mixture() error {
	return counted(KindTokenCount, "sources", func(n []int64) string {
		text := fmt.Sprintf("output tokens are counted in several ways: by the server's usage in %s, by the tokenizer in %s, by responses in %s", plural.GroupedOf(n[0], "request"), plural.Grouped(n[1]), plural.Grouped(n[2]))
		if n[3] > 0 {
			text += ", by what the file states in " + plural.Grouped(n[3])
		}
		if n[4] > 0 {
			text += ", by token ids in " + plural.Grouped(n[4])
		}
		return text + "; --token-source chooses one"
	}, int64(c.sources[answer.TokenUsage]), int64(c.sources[answer.TokenTokenizer]), int64(c.sources[answer.TokenResponses]), int64(c.sources[answer.TokenStated]), int64(c.sources[answer.TokenIDs]))
}

// sloWarnings returns the warning about requests for which nothing decides whether they met the objective.
func sloWarnings(x *figure.Attainment) []error {
	if x.Unknown == 0 {
		return nil
	}
	n := x.Met + x.Missed + x.Failed + x.Unknown
	lacking := x.Lacking[0].Name
	return []error{counted(KindSLO, lacking, func(n []int64) string {
		return ofRequests(n) + " had no " + lacking + ": whether " + plural.Form(n[0], "it meets", "they meet") + " the SLO is unknown, so the share leaves " + plural.Form(n[0], "it", "them") + " out"
	}, int64(x.Unknown), int64(n))}
}

// firstTokens returns the first tokens of x in the order of their starts. It reorders x.
func firstTokens(x []requestLatencies) []FirstToken {
	slices.SortFunc(x, func(a, b requestLatencies) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.ttft, b.ttft))
	})
	var all []FirstToken
	for i := range x {
		if x[i].ttft != export.Missing && x[i].start != 0 {
			all = append(all, FirstToken{x[i].start, x[i].ttft})
		}
	}
	return all
}

// withinLevel reports whether requests from a start to an end are within the level as the recorder states it.
// Other tools do not state it.
func withinLevel(run *export.Run, e *export.Experiment, fromNS, toNS uint64) bool {
	if e.Meta == nil || e.Meta.StartNS == 0 || e.Meta.EndNS == 0 || run.Meta == nil || run.Meta.Import != nil {
		return true
	}
	b := answer.BoundsOf(&export.Run{Meta: &export.RunMeta{StartNS: e.Meta.StartNS, EndNS: e.Meta.EndNS}})
	return b.Time(fromNS) && b.Time(toNS)
}
