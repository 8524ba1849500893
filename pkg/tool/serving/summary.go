package serving

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// A levelReport has a tool's figures of one load level. Times of requests are in
// milliseconds, as the tools report them.
type levelReport struct {
	dialect.Level
	// Requests is the number of requests that were sent. Completed is the number of
	// requests that succeeded by the tool's rules.
	Requests, Completed int
	// Duration is the time from the first clock read of the run to the last, in
	// seconds. If the file of another tool has no start times, Duration and all
	// figures per second are NaN.
	Duration                               float64
	InputTokens, OutputTokens, Retokenized int64
	// Rates are per second of Duration. Goodput is NaN without an objective.
	RequestRate, InputRate, OutputRate, TotalRate, Goodput float64
	// UserRate is the mean of output tokens over latency (TensorRT-LLM).
	UserRate float64
	// TTFT, TPOT, ITL and E2EL are of the completed requests; ITL is of all gaps
	// together.
	TTFT, TPOT, ITL, E2EL stats
	// AR is the "request acceptance rate" of TensorRT-LLM 1.0, of all requests;
	// Decoded is the server's number of tokens per iteration.
	AR, Decoded stats
	// Queue is the time that requests waited in the client, and E2ELQueue the
	// latency with it (vLLM); nil if the tool has none.
	Queue, E2ELQueue *stats
	// PeakTokens is the highest number of token events in a second, counted from the
	// first start; PeakRequests is the highest number of requests that touch a second.
	PeakTokens, PeakRequests float64
	// Concurrency is the sum of latencies over Duration (SGLang).
	Concurrency float64

	noGaps         bool   // the file has no gaps
	noLast         string // why the latencies of some requests are not known; "" if all are
	met            []int  // number of requests that meet each objective (SGLang)
	good           int
	requestRate    float64
	maxConcurrency *int64
	numPrompts     int64
	backend, model string
	tokenizer      string
	date           any
	rows           *outcomes  // nil if the result file shows none
	queue          *stat.List // the queue time of each row
	crashes        []string
	notes          []string
}

// stats are the statistics of a metric. Without values they are 0, as in the tools;
// SGLang's latency is then NaN.
type stats struct {
	N                                int
	Mean, Median, Std, Min, Max, P99 float64
	percentiles                      []float64 // of metric_percentiles
}

// stats summarizes values, multiplied by scale. It leaves out what no definition shows if the
// report is brief.
func (l *level) stats(x *stat.List, percentiles []float64, scale float64) stats {
	n := x.Len()
	if n == 0 {
		return stats{percentiles: make([]float64, len(percentiles))}
	}
	var mean, std float64
	if l.brief {
		mean, percentiles = x.Mean(stat.NumpyCurrent), nil
	} else {
		mean, std = x.MeanStd(stat.NumpyCurrent)
	}
	least, most := x.Bounds()
	s := stats{N: n, Mean: mean * scale, Std: std * scale, Min: least * scale, Max: most * scale}
	all := append([]float64{99}, percentiles...)
	ranks := []int{(n - 1) / 2, n / 2}
	for _, p := range all {
		k := stat.NumpyRank(n, p)
		ranks = append(ranks, k, min(k+1, n-1))
	}
	at := x.Ranked(ranks...)
	s.Median = stat.NumpyMedian(at[:2]) * scale
	for i, p := range all {
		all[i] = stat.NumpyInterpolate(n, p, at[2+2*i], at[3+2*i]) * scale
	}
	s.P99, s.percentiles = all[0], all[1:]
	return s
}

// undefined returns the Stats of an empty list if the tool computes NaN for it.
func undefined(percentiles []float64) stats {
	nan := math.NaN()
	s := stats{Mean: nan, Median: nan, Std: nan, Min: nan, Max: nan, P99: nan}
	for range percentiles {
		s.percentiles = append(s.percentiles, nan)
	}
	return s
}

// percentiles returns the percentiles that the tool reports.
func (l *level) percentiles() []float64 {
	if p := l.tool.rules.percentiles; p != nil {
		return p
	}
	return l.args.percentiles
}

// summarize returns the tool's figures of a level after its last request.
func (l *level) summarize(run *export.Run, experiment int) *levelReport {
	l.all.sort()
	a, e := l.args, &run.Experiments[experiment]
	result := run.Result(experiment)
	out := &levelReport{
		Level: dialect.Level{Mode: e.Mode, Value: e.Value}, Requests: l.all.n, Goodput: math.NaN(),
		backend: a.backend, model: cmp.Or(l.model, result["model_id"]), tokenizer: cmp.Or(a.tokenizer, result["tokenizer_id"]),
	}
	if out.backend == "" {
		out.backend = l.tool.rules.defaultBackend(l.isChat)
	}
	if out.tokenizer == "" {
		out.tokenizer = out.model
	}
	out.numPrompts = int64(out.Requests)
	if a.numPrompts != nil {
		out.numPrompts = *a.numPrompts
	}
	out.load(a, e)
	startNS, endNS := l.window(e)
	out.Duration = dialect.Seconds(startNS, endNS)
	_, l.noStarts = run.LevelLacks(e.Mode, e.Value, export.PartStarts)
	duration, problem := strconv.ParseFloat(result["duration"], 64)
	stated := problem == nil && duration >= 0 && !math.IsInf(duration, 0) && a.durationNS == nil && a.startNS == nil
	why, partial := run.LevelLacks(e.Mode, e.Value, export.PartRequests)
	if stated = stated && !partial; stated {
		out.Duration = duration
	}
	if partial && a.durationNS == nil {
		out.Duration = math.NaN()
		out.notes = append(out.notes, why+", so there are no rates")
	} else if l.noStarts && a.durationNS == nil && !stated {
		out.Duration = math.NaN()
		out.notes = append(out.notes, "the file does not say when requests were sent, so there are no rates; --arg benchmark_duration_ns=… gives the run's duration")
	}
	_, l.noGaps = run.Lacks(export.PartGaps)
	if out.noGaps = l.noGaps; l.noGaps {
		out.notes = append(out.notes, naGaps+", so there are no gaps and no counts of token events")
	}
	out.dated(a, run, endNS)
	if a.date == nil && result["date"] != "" {
		out.date = result["date"]
	}
	if out.Duration == 0 {
		out.crash("ZeroDivisionError: division by zero (the run takes no time)")
	}
	l.collect(out, startNS)
	l.noteEnds(out, run, result)
	l.keep(out)
	return out
}

// noteEnds warns that latencies end too early if the file has no ends of answers, and
// adds the file's own figures of them.
func (l *level) noteEnds(out *levelReport, run *export.Run, result map[string]string) {
	why, lacks := run.Lacks(export.PartEnds)
	if !lacks || out.E2EL.N == 0 {
		return
	}
	note := "end-to-end latencies, and the figures computed from them, end with the last token: " + why
	if ms, err := strconv.ParseFloat(result["mean_e2e_latency_ms"], 64); err == nil {
		note += fmt.Sprintf("; their mean is %.3f ms here, and %.3f ms in the file", out.E2EL.Mean, ms)
	}
	out.notes = append(out.notes, note)
}

func (out *levelReport) crash(text string) { out.crashes = append(out.crashes, text) }

// load sets the requested load: from the command line, else from the name of the level.
func (out *levelReport) load(a *arguments, e *export.Experiment) {
	out.requestRate = math.Inf(1)
	if a.requestRate != nil {
		out.requestRate = *a.requestRate
	} else if rate, ok := levelNumber(e, export.ModeRequestRate); ok {
		out.requestRate = rate
	}
	out.maxConcurrency = a.maxConcurrency
	if n, ok := levelNumber(e, export.ModeConcurrency); ok && a.maxConcurrency == nil && !a.noConcurrency {
		out.maxConcurrency = new(int64(n))
	}
}

// window returns the first and the last clock read of the run: from the command line,
// else from the windows, else the first start and the last response.
func (l *level) window(e *export.Experiment) (startNS, endNS uint64) {
	if w := e.WindowBoundaries; len(w) > 1 {
		startNS, endNS = w[0], w[len(w)-1]
	} else if l.all.n > 0 {
		startNS = l.all.at(0, false).startNS
		for o := range l.all.each(false) {
			startNS, endNS = min(startNS, o.startNS), max(endNS, o.startNS, o.endNS)
		}
	}
	if s := l.args.startNS; s != nil {
		startNS = *s
	}
	if d := l.args.durationNS; d != nil {
		endNS = startNS + *d
	}
	return startNS, endNS
}

// dated sets the date of the result: the end of the run in UTC, if it is known.
func (out *levelReport) dated(a *arguments, run *export.Run, endNS uint64) {
	if run.Meta != nil && run.Meta.EndNS != 0 {
		endNS = run.Meta.EndNS
	}
	const year2000 = 946_684_800e9 // an earlier time is not from a wall clock
	switch {
	case a.date != nil:
		out.date = *a.date
	case endNS >= year2000 && endNS <= math.MaxInt64:
		out.date = time.Unix(0, int64(endNS)).UTC().Format("20060102-150405")
	}
}

// collect computes the figures of all requests.
func (l *level) collect(out *levelReport, startNS uint64) {
	list := func() *stat.List { return l.store.NewList(stat.Float) }
	ttft, tpot, e2el, user, ar, decoded, queue, withQueue := list(), list(), list(), list(), list(), list(), list(), list()
	out.queue = list()
	l.peaks(out)
	timeless, firstTimeless := 0, uint64(0)
	for o := range l.all.each(false) {
		rate := 0.0
		if o.success {
			out.Completed++
			out.InputTokens += o.input
			out.OutputTokens += o.output
			out.Retokenized += o.retokenized
			ttft.AddFloat(o.ttft)
			e2el.AddFloat(o.latency)
			if o.output > 1 {
				tpot.AddFloat(o.tpot())
			}
			switch {
			case math.IsNaN(o.latency):
				out.noLast = l.noLast
			case o.latency != 0:
				user.AddFloat(float64(o.output) / o.latency)
			case l.tool.rules.userRate:
				if timeless++; timeless == 1 {
					firstTimeless = o.id
				}
			}
			if !o.noDecoded {
				decoded.AddFloat(o.decoded)
			}
			rate = o.acceptance()
		}
		wait := l.queueTime(out, o, startNS)
		if l.brief {
			continue
		}
		ar.AddFloat(rate)
		out.queue.AddFloat(wait)
		if o.success {
			queue.AddFloat(wait)
			withQueue.AddFloat(o.latency + wait)
		}
	}
	if timeless > 0 {
		out.crash(fmt.Sprintf("ZeroDivisionError: float division by zero (request %d takes no time, the first of %s; the user throughput leaves such requests out)", firstTimeless, plural.Grouped(timeless)))
	}
	d := out.Duration
	out.RequestRate = ratio(float64(out.Completed), d)
	out.InputRate = ratio(float64(out.InputTokens), d)
	out.OutputRate = ratio(float64(out.OutputTokens), d)
	out.TotalRate = ratio(float64(out.InputTokens+out.OutputTokens), d)
	out.Concurrency = ratio(e2el.Sum(stat.NumpyCurrent), d)
	l.goodput(out)

	p := l.percentiles()
	out.TTFT, out.TPOT, out.ITL = l.stats(ttft, p, 1000), l.stats(tpot, p, 1000), l.gapStats(out, p)
	if l.noGaps {
		out.ITL = undefined(p)
	}
	out.E2EL = l.stats(e2el, p, 1000)
	if out.noLast != "" {
		out.TPOT, out.E2EL = undefined(p), undefined(p)
		out.notes = append(out.notes, "TPOT, end-to-end latencies and the figures computed from them are n/a: "+out.noLast)
	}
	if l.tool.rules.needsSuccess && e2el.Len() == 0 {
		out.E2EL = undefined(p)
		out.crash("IndexError: index -1 is out of bounds for axis 0 with size 0 (no request succeeded)")
	}
	if l.tool.rules.userRate {
		out.UserRate = l.stats(user, nil, 1).Mean
		if out.noLast != "" {
			out.UserRate = math.NaN()
		}
		out.AR, out.Decoded = l.stats(ar, p, 1), l.stats(decoded, p, 1)
		if l.noGaps {
			out.AR = undefined(p)
		}
	}
	if l.tool.rules.queueTimes && out.maxConcurrency != nil {
		s := l.stats(queue, p, 1000)
		out.Queue = &s
		if !math.IsInf(out.requestRate, 1) {
			out.E2ELQueue = new(l.stats(withQueue, p, 1000))
			if out.noLast != "" {
				*out.E2ELQueue = undefined(p)
			}
		}
	}
	for _, x := range [...]*stat.List{ttft, tpot, e2el, user, ar, decoded, queue, withQueue} {
		x.Release()
	}
}

// gapStats returns the statistics of the gaps of all completed requests together.
func (l *level) gapStats(out *levelReport, percentiles []float64) stats {
	kind := stat.Seconds
	if l.spreads() {
		kind = stat.Float
	}
	if kind == stat.Seconds && out.Completed == l.all.n && l.all.order == nil {
		return l.stats(l.all.gaps, percentiles, 1000)
	}
	all := l.store.NewList(kind)
	for o := range l.all.each(true) {
		switch {
		case !o.success:
		case kind == stat.Seconds:
			all.Add(o.itl...)
		default:
			o.spread(all)
		}
	}
	s := l.stats(all, percentiles, 1000)
	all.Release()
	return s
}

// spread adds the gaps of a request, in seconds, each spread over the tokens behind it.
func (o *outcome) spread(all *stat.List) {
	for i, gap := range o.seconds() {
		n := 1
		if i < len(o.gapTokens) {
			n = int(o.gapTokens[i])
		}
		for range n {
			all.AddFloat(gap / float64(n))
		}
	}
}

// seconds returns the gaps of a request in seconds.
func (o *outcome) seconds() []float64 {
	all := make([]float64, 0, len(o.itl))
	for _, ns := range o.itl {
		all = append(all, float64(ns)/1e9)
	}
	return all
}

// tpot returns the time per output token after the first; 0 for a single token.
func (o *outcome) tpot() float64 {
	if o.output <= 1 {
		return 0
	}
	return (o.latency - o.ttft) / float64(o.output-1)
}

// acceptance returns the acceptance rate of a request in TensorRT-LLM 1.0.
func (o *outcome) acceptance() float64 {
	n := o.output
	if n > 1 {
		n--
	}
	return float64(n) / float64(o.iterations+1)
}

// queueTime returns the time that a request waited in vLLM's client: since its instant in
// the schedule or, if all requests are sent at once, since the begin of the run.
func (l *level) queueTime(out *levelReport, o *outcome, startNS uint64) float64 {
	switch {
	case !l.tool.rules.queueTimes:
		return 0
	case o.scheduledNS != 0:
		return dialect.Seconds(o.scheduledNS, o.startNS)
	case math.IsInf(out.requestRate, 1):
		return dialect.Seconds(startNS, o.startNS)
	case out.maxConcurrency != nil && o.issuedNS != 0:
		return dialect.Seconds(o.issuedNS, o.startNS)
	case out.maxConcurrency != nil && !l.noStarts && len(out.notes) == 0:
		out.notes = append(out.notes, "the file does not say when requests were due: the client's queue times are 0")
	}
	return 0
}

// goodput counts the requests that meet all objectives.
func (l *level) goodput(out *levelReport) {
	limits := l.args.goodput
	ofLast := func(x dialect.Limit) bool { return x.Metric != "ttft" }
	if len(limits) == 0 || out.noLast != "" && slices.ContainsFunc(limits, ofLast) {
		return
	}
	out.met = make([]int, len(limits))
	for o := range l.all.each(false) {
		if !o.success {
			continue
		}
		kept := 0
		for i, x := range limits {
			observed := o.observed(x.Metric)
			ok := x.Value/1000 >= observed
			if l.tool.rules.goodputInMS {
				ok = observed*1000 <= x.Value
			}
			if ok {
				kept++
				out.met[i]++
			}
		}
		if kept == len(limits) {
			out.good++
		}
	}
	out.Goodput = ratio(float64(out.good), out.Duration)
}

// keep keeps the requests if the result file shows parts of them.
func (l *level) keep(out *levelReport) {
	if l.args.detailed || l.tool.rules.keepsLatencies && !l.brief {
		out.rows = l.all
	} else {
		l.all.release()
	}
	l.all = nil
}

// peaks sets the highest numbers of token events and of requests in a second. Seconds
// count from the first start of a successful request. A request counts in each second
// that it touches, so the number can be higher than were ever in flight.
func (l *level) peaks(out *levelReport) {
	if !l.tool.rules.peaks || l.brief {
		return
	}
	if l.noStarts {
		out.PeakTokens, out.PeakRequests = math.NaN(), math.NaN()
		return
	}
	first := math.Inf(1)
	for o := range l.all.each(false) {
		if o.success {
			first = min(first, o.start())
		}
	}
	// A second is a float, because a clock that was set can give any value.
	tokens := map[float64]int{}
	var edges []edge
	most := 0
	for o := range l.all.each(true) {
		if !o.success {
			continue
		}
		at := o.start() + o.ttft
		for i := 0; ; i++ {
			s := math.Trunc(at - first)
			tokens[s]++
			most = max(most, tokens[s])
			if i == len(o.itl) {
				break
			}
			at += float64(o.itl[i]) / 1e9
		}
		edges = append(edges, edge{math.Trunc(o.start() - first), 1}, edge{math.Trunc(o.start()+o.latency-first) + 1, -1})
	}
	out.PeakTokens = float64(most)
	if l.noGaps {
		out.PeakTokens = math.NaN()
	}
	slices.SortFunc(edges, func(a, b edge) int {
		switch {
		case a.second < b.second:
			return -1
		case a.second > b.second:
			return 1
		}
		return a.delta - b.delta // requests that end first
	})
	now := 0
	for _, e := range edges {
		now += e.delta
		out.PeakRequests = max(out.PeakRequests, float64(now))
	}
}

// An edge is a time at which the number of requests changes.
type edge struct {
	second float64
	delta  int
}

// start returns the tool's clock at the start of a request.
func (o *outcome) start() float64 { return float64(o.startNS) / 1e9 }
