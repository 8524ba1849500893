package aiperf

import (
	"fmt"
	"math"

	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// A collector gathers the values of the level.
type collector struct {
	release    *release
	store      *stat.Store
	values     map[string]*series // by tag
	chunks     *stat.List         // gaps between chunks, in nanoseconds; empty if brief is set
	hasChunks  bool               // there are such gaps
	brief      bool               // dialect.Input.Brief
	toStart    *stat.List         // from issue to start, in milliseconds
	effective  *stat.List         // from issue to end, in milliseconds
	good       int                // requests within all limits
	judged     bool               // some request has a value for each limit
	mismatched tally
	discrepant tally
	ok, failed int
	streamed   bool

	// The extremes of instants, as float64 has them.
	firstStart, lastEnd       float64 // of start and of the last content
	firstIssued, lastFinished float64
}

func newCollector(r *release, store *stat.Store, brief bool) collector {
	return collector{
		release: r, brief: brief, store: store, values: map[string]*series{}, chunks: store.NewList(stat.Whole),
		toStart: store.NewList(stat.Float), effective: store.NewList(stat.Float),
		firstStart: math.Inf(1), firstIssued: math.Inf(1),
	}
}

// keep adds a value of a metric. whole says that the values of the metric are integers.
func (c *collector) keep(tag string, v float64, whole bool) {
	s := c.values[tag]
	if s == nil {
		s = &series{list: c.store.NewList(stat.Float)}
		if whole {
			s.list = c.store.NewList(stat.Whole)
		}
		c.values[tag] = s
	}
	if whole {
		s.list.Add(int64(v))
		s.whole += int64(v)
	} else {
		s.list.AddFloat(v)
		s.fraction += v
	}
}

// add adds a successful request.
func (c *collector) add(r *record) {
	c.ok++
	for i := range measures {
		m := &measures[i]
		if v, ok := m.valueOf(r, c.streamed); ok {
			c.keep(m.tag, v, m.whole)
		}
	}
	for tag, v := range r.figures {
		c.keep(tag, v, false)
	}
	if c.streamed && len(r.gaps) > 0 {
		c.hasChunks = true
		if !c.brief {
			c.chunks.Add(r.gaps...)
		}
	}
	c.mismatched.add(r.mismatched(c.release))
	c.discrepant.add(r.discrepant(c.release))
	c.firstStart = min(c.firstStart, float64(r.startNS))
	c.lastEnd = max(c.lastEnd, float64(r.startNS)+float64(r.latency))
	c.addTimes(r.issuedNS, r.startNS, r.endNS)
}

// addTimes adds the times at which a request, successful or not, was issued, started and
// ended.
func (c *collector) addTimes(issuedNS, startNS, endNS uint64) {
	issued := float64(issuedNS)
	if issuedNS == 0 {
		issued = float64(startNS)
	} else {
		c.toStart.AddFloat((float64(startNS) - issued) / 1e6)
		c.effective.AddFloat((float64(endNS) - issued) / 1e6)
	}
	c.firstIssued = min(c.firstIssued, issued)
	c.lastFinished = max(c.lastFinished, float64(endNS))
}

// noContent is AIPerf's name for the failure of a request whose answer has no content.
const noContent = "InvalidInferenceResultError"

// addFailed adds a request that failed. m is nil if the failure is not that its answer has no content.
func (a *analysis) addFailed(q *export.Request, m *answer.Measured) {
	f := failure{Code: q.Code, Type: q.Status.String(), Message: q.Message}
	if s := q.Stated; s != nil && s.ErrorType != "" {
		f.Type, f.Cause, f.Chain = s.ErrorType, s.ErrorCause, s.ErrorChain
		if s.ErrorType == noContent && a.fromUsage {
			m = a.meter.Measure(q)
		}
	}
	a.rep.addFailure(f)
	if n, ok := a.failedInput(q, m); ok {
		a.c.keep("error_isl", float64(n), false)
	}
	a.c.failed++
	end, ok := q.FinalResponseNS()
	if q.FailedNS > end {
		end, ok = q.FailedNS, true
	}
	if !ok || q.StartNS == 0 {
		return
	}
	a.c.addTimes(q.IssuedNS, q.StartNS, end)
	if !a.c.brief {
		a.sweeps.failed(q.StartNS, end)
	}
}

// failedInput returns the number of prompt tokens of a failed request. ok is false if
// AIPerf has no count: it counts with the tokenizer. If the server's counts are used, it has the server's of an answer
// without content.
func (a *analysis) failedInput(q *export.Request, m *answer.Measured) (n int, ok bool) {
	if s := q.Stated; s != nil && s.Figures != nil {
		v, ok := s.Figures["error_isl"]
		return int(v), ok
	}
	if a.fromUsage && m != nil {
		u := usageOf(m)
		return int(u.Input.V), u.Input.OK
	}
	if a.fromUsage || a.cfg.Tokenizer == nil {
		return 0, false
	}
	prompt, ok := promptOf(q)
	if !ok {
		return 0, false
	}
	return a.cfg.Tokenizer.Count(prompt), true
}

// addFailure counts a failure.
func (r *report) addFailure(f failure) {
	kind := failureKind{f.Code, f.Type, f.Message, f.Cause, ""}
	if len(f.Chain) > 0 {
		kind.chain = fmt.Sprintf("%q", f.Chain)
	}
	if i, ok := r.kinds[kind]; ok {
		r.Errors[i].Count++
		return
	}
	if r.kinds == nil {
		r.kinds = map[failureKind]int{}
	}
	r.kinds[kind] = len(r.Errors)
	f.Count = 1
	r.Errors = append(r.Errors, f)
}

// totals maps metrics of requests to the metrics that add them up.
var totals = map[string]string{
	"usage_prompt_tokens":     "total_usage_prompt_tokens",
	"usage_completion_tokens": "total_usage_completion_tokens",
	usageTotal:                "total_usage_total_tokens",
	"usage_reasoning_tokens":  "total_usage_reasoning_tokens",
	cacheRead:                 "total_usage_prompt_cache_read_tokens",
	"reasoning_token_count":   "total_reasoning_tokens",
	"output_token_count":      "total_output_tokens",
	outputLength:              "total_osl",
	inputLength:               "total_isl",
	"error_isl":               "total_error_isl",
}

// adjusted maps metrics of requests to the metrics in which failures are infinitely late.
var adjusted = map[string]string{
	requestLatency:    "adj_request_latency",
	firstToken:        "adj_time_to_first_token",
	"decode_duration": "adj_decode_duration",
	interToken:        "adj_inter_token_latency",
}

// metrics returns the metrics of requests and their sums, in no order.
func (c *collector) metrics() []metric {
	var all []metric
	prompts := c.total("usage_prompt_tokens")
	for tag, s := range c.values {
		scale := c.release.column(tag).scale()
		if total := totals[tag]; total != "" {
			all = append(all, single(total, s.total()))
		}
		if tag == cacheRead && prompts > 0 {
			all = append(all, single("overall_usage_prompt_cache_read_pct", s.total()/prompts*100))
		}
		all = append(all, spread(tag, s.list, scale))
		if tag := adjusted[tag]; tag != "" && c.failed > 0 && c.ok > 0 {
			all = append(all, s.adjusted(tag, c.failed, scale))
		}
	}
	if c.mismatched.known > 0 {
		all = append(all, single("osl_mismatch_count", float64(c.mismatched.yes)))
	}
	if c.discrepant.known > 0 {
		all = append(all, single("usage_discrepancy_count", float64(c.discrepant.yes)))
	}
	for i, x := range [...]*stat.List{c.toStart, c.effective} {
		if x.Len() > 0 { // the deviation adds up in the order of the requests, and percentiles are numpy's
			m := spread([...]string{"credit_to_start_latency", "effective_latency"}[i], x, 1)
			_, m.Std = x.MeanStd(stat.NumpyCurrent)
			for k, pct := range dialect.Percentiles {
				m.Pct[k] = x.Percentiles(float64(pct))[0]
			}
			all = append(all, m)
		}
	}
	return all
}

// total returns the sum of a metric; 0 if no request has it.
func (c *collector) total(tag string) float64 {
	if s := c.values[tag]; s != nil {
		return s.total()
	}
	return 0
}

// rates returns the metrics of the whole run. phase is the measured time in seconds;
// 0 means the time of the requests. limited says that there are limits for good requests.
func (c *collector) rates(phase float64, limited bool) []metric {
	all := []metric{
		single("completed_request_count", float64(c.ok+c.failed)),
		single("request_error_rate", 100*float64(c.failed)/float64(max(1, c.ok+c.failed))),
		single(requestCount, float64(c.ok)),
	}
	if c.failed > 0 {
		all = append(all, single("error_request_count", float64(c.failed)), single("context_overflow_count", 0))
	}
	if limited {
		all = append(all, single("good_request_fraction", float64(c.good)/float64(max(1, c.ok+c.failed))))
	}
	if c.judged {
		all = append(all, single(goodCount, float64(c.good)))
	}
	duration := (c.lastEnd - c.firstStart) * 1e-9
	if c.ok == 0 || !(duration > 0) {
		return all
	}
	all = append(all, single("benchmark_duration", duration))
	if phase > 0 {
		duration = phase
	}
	in, out := c.total(inputLength), c.total(outputLength)
	if c.values[outputLength] != nil {
		all = append(all, single(outputRate, out/duration))
	}
	if c.judged {
		all = append(all, single(goodput, float64(c.good)/duration))
	}
	all = append(all, single(requestRate, float64(c.ok)/duration))
	if c.values[inputLength] != nil {
		all = append(all, single("input_token_throughput", in/duration), single(totalRate, (in+out)/duration))
	}
	return all
}
