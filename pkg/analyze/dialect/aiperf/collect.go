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
	c.output = append(c.output, r.output)
	c.answers = append(c.answers, r.output-r.reasoning)
	if r.hasInput {
		c.input = append(c.input, r.input)
	}
	if r.hasUsage {
		c.prompt = append(c.prompt, r.usage[0])
		c.completion = append(c.completion, r.usage[1])
		c.total = append(c.total, r.usage[0]+r.usage[1])
	}
	if r.latency > 0 {
		c.endToEnd = append(c.endToEnd, float64(r.output)/(float64(r.latency)*1e-9))
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
	if r.hasInput && r.ttft > 0 {
		c.prefill = append(c.prefill, float64(r.input)/(float64(r.ttft)*1e-9))
	}
	if r.output > 1 {
		itl := float64(r.latency-r.ttft) / float64(r.output-1)
		c.inter = append(c.inter, itl)
		if itl > 0 {
			c.perUser = append(c.perUser, 1/(itl*1e-9))
		}
	}
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
	if q.Stated != nil && q.Stated.ErrorType != "" {
		f.Type = q.Stated.ErrorType
	}
	a.rep.failure(f)
	a.c.failed++
	end, ok := q.EndNS()
	if q.EndedNS > end {
		end, ok = q.EndedNS, true
	}
	if !ok || q.StartNS == 0 {
		return
	}
	a.c.timed(q.IssuedNS, q.StartNS, end)
	a.sweeps.requests.between(float64(q.StartNS), float64(end), 1)
}

// failure counts a failure.
func (r *Report) failure(f Failure) {
	for i := range r.Errors {
		if e := &r.Errors[i]; e.Code == f.Code && e.Type == f.Type && e.Message == f.Message {
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
		if len(x) > 0 { // of these the deviation is added up in the order of the requests, too
			std := numpy.Std(numpy.Current, x)
			m := spread([...]string{"credit_to_start_latency", "effective_latency"}[i], x, 1)
			m.Std = std
			all = append(all, m)
		}
	}
	ints("usage_prompt_tokens", c.prompt, 1)
	ints("usage_completion_tokens", c.completion, 1)
	ints("usage_total_tokens", c.total, 1)
	if len(c.total) > 0 {
		all = append(all, single("total_usage_prompt_tokens", sum(c.prompt)), single("total_usage_completion_tokens", sum(c.completion)), single("total_usage_total_tokens", sum(c.total)))
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
		all = append(all, spread("output_token_count", c.answers, 1), single("total_output_tokens", sum(c.answers)), single("total_osl", sum(c.output)))
	}
	if len(c.input) > 0 {
		all = append(all, single("total_isl", sum(c.input)))
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

func sum(x []int64) float64 {
	total := int64(0)
	for _, v := range x {
		total += v
	}
	return float64(total)
}

// rates returns the metrics of the whole run. phase is how long it took, in
// seconds; 0: as long as there were requests.
func (c *collector) rates(phase float64) []Metric {
	all := []Metric{
		single("completed_request_count", float64(c.ok+c.failed)),
		single("request_error_rate", float64(c.failed)/float64(max(1, c.ok+c.failed))*100),
		single(requestCount, float64(c.ok)),
	}
	duration := (c.lastEnd - c.firstStart) * 1e-9
	if c.ok == 0 || !(duration > 0) {
		return all
	}
	all = append(all, single("benchmark_duration", duration))
	if phase > 0 {
		duration = phase
	}
	in, out := sum(c.input), sum(c.output)
	all = append(all, single(outputRate, out/duration), single(requestRate, float64(c.ok)/duration))
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
