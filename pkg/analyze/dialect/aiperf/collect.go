package aiperf

import (
	"math"
	"slices"

	"github.com/pa-tools/pa/internal/numpy"
	"github.com/pa-tools/pa/pkg/export"
)

// A collector gathers the values of the level: 8 bytes for each.
type collector struct {
	latency, first, second, firstOutput, decode, chunks []int64
	inter, perUser, endToEnd, prefill                   []float64
	output, answers, input                              []int64
	prompt, completion, total                           []int64 // of the server's usage
	toStart, effective                                  []float64
	series                                              []series // the others
	good                                                int      // requests within all limits
	mismatched, discrepant                              tally
	ok, failed                                          int
	streamed                                            bool

	// The extremes of instants, as float64 has them.
	firstStart, lastEnd       float64 // of start and of the last content
	firstIssued, lastFinished float64
}

func newCollector() collector {
	return collector{firstStart: math.Inf(1), firstIssued: math.Inf(1)}
}

// add takes a successful request.
func (c *collector) add(r *record) {
	c.ok++
	c.latency = append(c.latency, r.latency)
	if r.hasOutput {
		c.output = append(c.output, r.output)
	}
	if answer := r.output - r.reasoning; answer > 0 {
		c.answers = append(c.answers, answer)
	}
	c.keep(r.figures)
	c.mismatched.add(r.mismatched())
	c.discrepant.add(r.discrepant())
	if r.hasInput {
		c.input = append(c.input, r.input)
	}
	if r.hasUsage {
		c.prompt = append(c.prompt, r.usage[0])
		c.completion = append(c.completion, r.usage[1])
		c.total = append(c.total, r.usage[0]+r.usage[1])
	}
	if v, ok := r.endToEnd(); ok {
		c.endToEnd = append(c.endToEnd, v)
	}
	c.firstStart = min(c.firstStart, float64(r.startNS))
	c.lastEnd = max(c.lastEnd, float64(r.startNS)+float64(r.latency))
	c.timed(r.issuedNS, r.startNS, r.endNS)
	if c.streamed {
		c.stream(r)
	}
}

// stream takes what only streamed answers have.
func (c *collector) stream(r *record) {
	c.first = append(c.first, r.ttft)
	if r.ttfo >= 0 {
		c.firstOutput = append(c.firstOutput, r.ttfo)
	}
	if len(r.gaps) > 0 {
		c.second = append(c.second, r.gaps[0])
	}
	c.chunks = append(c.chunks, r.gaps...)
	c.decode = append(c.decode, r.latency-r.ttft)
	if v, ok := r.prefillRate(); ok {
		c.prefill = append(c.prefill, v)
	}
	if v, ok := r.interToken(); ok {
		c.inter = append(c.inter, v)
	}
	if v, ok := r.userRate(); ok {
		c.perUser = append(c.perUser, v)
	}
}

// endToEnd is the output per second of the latency.
func (r *record) endToEnd() (v float64, ok bool) {
	return float64(r.output) / (float64(r.latency) * 1e-9), r.hasOutput && r.latency > 0
}

// prefillRate is the input per second of the time to the first token.
func (r *record) prefillRate() (v float64, ok bool) {
	return float64(r.input) / (float64(r.ttft) * 1e-9), r.hasInput && r.ttft > 0
}

// interToken is the time per token after the first, in nanoseconds.
func (r *record) interToken() (v float64, ok bool) {
	return float64(r.latency-r.ttft) / float64(r.output-1), r.output > 1
}

// userRate is the tokens per second after the first.
func (r *record) userRate() (v float64, ok bool) {
	v, ok = r.interToken()
	return 1 / (v * 1e-9), ok && v > 0
}

// timed takes when a request, successful or not, was issued, left and was over.
func (c *collector) timed(issuedNS, startNS, endNS uint64) {
	issued := float64(issuedNS)
	if issuedNS == 0 {
		issued = float64(startNS)
	} else {
		c.toStart = append(c.toStart, (float64(startNS)-issued)/1e6)
		c.effective = append(c.effective, (float64(endNS)-issued)/1e6)
	}
	c.firstIssued = min(c.firstIssued, issued)
	c.lastFinished = max(c.lastFinished, float64(endNS))
}

// failed takes a request that failed.
func (a *analysis) failed(q *export.Request) {
	f := Failure{Code: q.Code, Type: q.Status.String(), Message: q.Message}
	if s := q.Stated; s != nil && s.ErrorType != "" {
		f.Type, f.Cause, f.Chain = s.ErrorType, s.ErrorCause, s.ErrorChain
	}
	a.rep.failure(f)
	if n, ok := a.failedInput(q); ok {
		a.c.keep([]figure{{"error_isl", float64(n)}})
	}
	a.c.failed++
	end, ok := q.EndNS()
	if q.EndedNS > end {
		end, ok = q.EndedNS, true
	}
	if !ok || q.StartNS == 0 {
		return
	}
	a.c.timed(q.IssuedNS, q.StartNS, end)
	a.sweeps.failed(q.StartNS, end)
}

// failedInput returns the tokens of the prompt of a request that failed, where
// AIPerf counts them: by itself.
func (a *analysis) failedInput(q *export.Request) (n int, ok bool) {
	if s := q.Stated; s != nil {
		v, ok := s.Figures["error_isl"]
		return int(v), ok
	}
	if a.fromUsage || a.cfg.Tokenizer == nil {
		return 0, false
	}
	prompt, ok := a.text.prompt(q)
	if !ok {
		return 0, false
	}
	return a.cfg.Tokenizer.Count(prompt), true
}

// failure counts a failure.
func (r *Report) failure(f Failure) {
	for i := range r.Errors {
		if e := &r.Errors[i]; e.Code == f.Code && e.Type == f.Type && e.Message == f.Message && e.Cause == f.Cause && slices.Equal(e.Chain, f.Chain) {
			e.Count++
			return
		}
	}
	f.Count = 1
	r.Errors = append(r.Errors, f)
}

// metrics returns those that have values, in the order of the console.
func (c *collector) metrics() []Metric {
	var all []Metric
	ints := func(tag string, x []int64, scale float64) {
		if len(x) > 0 {
			all = append(all, spread(tag, x, scale))
		}
	}
	floats := func(tag string, x []float64, scale float64) {
		if len(x) > 0 {
			all = append(all, spread(tag, x, scale))
		}
	}
	for i, x := range [...][]float64{c.toStart, c.effective} {
		if len(x) > 0 { // of these the deviation is added up in the order of the requests, and percentiles are numpy's
			std := numpy.Std(numpy.Current, x)
			m := spread([...]string{"credit_to_start_latency", "effective_latency"}[i], x, 1)
			m.Std = std
			for k, pct := range percentiles {
				m.pct[k] = numpy.Percentile(x, float64(pct))
			}
			all = append(all, m)
		}
	}
	ints("usage_prompt_tokens", c.prompt, 1)
	ints("usage_completion_tokens", c.completion, 1)
	ints("usage_total_tokens", c.total, 1)
	if len(c.total) > 0 {
		all = append(all, single("total_usage_prompt_tokens", total64(c.prompt)), single("total_usage_completion_tokens", total64(c.completion)), single("total_usage_total_tokens", total64(c.total)))
	}
	const ms = 1e-6
	ints(firstToken, c.first, ms)
	ints(secondToken, c.second, ms)
	ints("time_to_first_output_token", c.firstOutput, ms)
	ints(requestLatency, c.latency, ms)
	ints("decode_duration", c.decode, ms)
	floats(interToken, c.inter, ms)
	floats(perUser, c.perUser, 1)
	floats("e2e_output_token_throughput", c.endToEnd, 1)
	ints(outputLength, c.output, 1)
	ints(inputLength, c.input, 1)
	return append(all, c.adjusted()...)
}

// hidden returns the metrics that only CSV and JSON show.
func (c *collector) hidden() []Metric {
	var all []Metric
	if len(c.chunks) > 0 {
		all = append(all, spread("inter_chunk_latency", c.chunks, 1e-6))
	}
	if len(c.answers) > 0 {
		all = append(all, spread("output_token_count", c.answers, 1), single("total_output_tokens", total64(c.answers)))
	}
	if len(c.output) > 0 {
		all = append(all, single("total_osl", total64(c.output)))
	}
	if len(c.input) > 0 {
		all = append(all, single("total_isl", total64(c.input)))
	}
	if len(c.prefill) > 0 {
		all = append(all, spread("prefill_throughput_per_user", c.prefill, 1))
	}
	if c.failed > 0 {
		all = append(all, single("error_request_count", float64(c.failed)), single("context_overflow_count", 0))
	}
	return all
}

// adjusted returns the metrics to which failures are infinitely late. The
// values have been sorted.
func (c *collector) adjusted() []Metric {
	if c.failed == 0 || c.ok == 0 {
		return nil
	}
	all := []Metric{adjusted("adj_request_latency", c.latency, c.failed, 1e-6)}
	if len(c.first) > 0 {
		all = append(all, adjusted("adj_time_to_first_token", c.first, c.failed, 1e-6), adjusted("adj_decode_duration", c.decode, c.failed, 1e-6))
	}
	if len(c.inter) > 0 {
		all = append(all, adjusted("adj_inter_token_latency", c.inter, c.failed, 1e-6))
	}
	return all
}

func total64(x []int64) float64 {
	total := int64(0)
	for _, v := range x {
		total += v
	}
	return float64(total)
}

// rates returns the metrics of the whole run. phase is how long it took, in
// seconds; 0: as long as there were requests. limited says that there are limits
// of good ones.
func (c *collector) rates(phase float64, limited bool) []Metric {
	all := []Metric{
		single("completed_request_count", float64(c.ok+c.failed)),
		single("request_error_rate", 100*float64(c.failed)/float64(max(1, c.ok+c.failed))),
		single(requestCount, float64(c.ok)),
	}
	if limited {
		all = append(all, single(goodCount, float64(c.good)), single("good_request_fraction", float64(c.good)/float64(max(1, c.ok+c.failed))))
	}
	duration := (c.lastEnd - c.firstStart) * 1e-9
	if c.ok == 0 || !(duration > 0) {
		return all
	}
	all = append(all, single("benchmark_duration", duration))
	if phase > 0 {
		duration = phase
	}
	in, out := total64(c.input), total64(c.output)
	if len(c.output) > 0 {
		all = append(all, single(outputRate, out/duration))
	}
	if limited {
		all = append(all, single(goodput, float64(c.good)/duration))
	}
	all = append(all, single(requestRate, float64(c.ok)/duration))
	if len(c.input) > 0 {
		all = append(all, single("input_token_throughput", in/duration), single(totalRate, (in+out)/duration))
	}
	return all
}

// byConsole brings metrics into the order of columns.
func byConsole(all []Metric) []Metric {
	place := func(m Metric) int { return slices.IndexFunc(columns, func(c column) bool { return c.tag == m.Tag }) }
	slices.SortStableFunc(all, func(a, b Metric) int { return place(a) - place(b) })
	return all
}
