package serving

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/pa-tools/pa/internal/py"
)

// JSON writes the tool's result file: an object for each level. SGLang ends each object
// with a line feed; the other tools have a line feed between objects. Figures without a
// value are NaN or Infinity, as Python writes them, although JSON has no such numbers.
func (r *report) JSON(w io.Writer) error {
	out := bufio.NewWriterSize(w, 1<<16) // keeps its first error
	for i := range r.Levels {
		if i > 0 && !r.release.rules.resultLines {
			fmt.Fprintln(out)
		}
		_ = py.WriteJSON(out, r.result(&r.Levels[i])) // Flush has the error
		if r.release.rules.resultLines {
			fmt.Fprintln(out)
		}
	}
	return out.Flush()
}

// appended reports whether JSON writes several objects into a file that has one object
// unless the tool appends. SGLang's file always has one object per line.
func (r *report) appended() bool { return len(r.Levels) > 1 && !r.release.rules.resultLines }

// result returns the tool's result of a level.
func (r *report) result(l *levelReport) py.Object {
	var d py.Object
	r.release.rules.result(r, &d, l)
	return d
}

// numberOrNil returns null for an unknown number.
func numberOrNil(n *int64) any {
	if n == nil {
		return nil
	}
	return *n
}

func textOrNil(s *string) any {
	if s == nil {
		return nil
	}
	return *s
}

// wholeNumber returns a number that is written without a point, unless it is unknown.
func wholeNumber(f float64) any {
	if math.IsNaN(f) {
		return f
	}
	return int64(f)
}

// rateOrInf returns a rate as vLLM and TensorRT-LLM write it.
func rateOrInf(rate float64) any {
	if math.IsInf(rate, 1) {
		return "inf"
	}
	return rate
}

// setMetadata adds the user's metadata. TensorRT-LLM cuts values at a second "=".
func (r *report) setMetadata(d *py.Object) {
	for _, item := range r.args.metadata {
		name, value, _ := strings.Cut(item, "=")
		if r.release.rules.cutsMetadata {
			value, _, _ = strings.Cut(value, "=")
		}
		d.Set(strings.TrimSpace(name), strings.TrimSpace(value))
	}
}

// goodputOrNil returns null without an objective.
func (r *report) goodputOrNil(l *levelReport) any {
	if len(r.args.goodput) == 0 {
		return nil
	}
	return l.Goodput
}

// setStats adds the statistics of a metric.
func (r *report) setStats(d *py.Object, s *section) {
	end := ""
	if s.unit != "" {
		end = "_" + s.unit
	}
	set := func(stat string, v float64) { d.Set(stat+"_"+s.key+end, v) }
	if r.release.rules.deviations {
		set("std", s.stats.Std)
		if s.spread {
			set("min", s.stats.Min)
			set("max", s.stats.Max)
		}
		set("mean", s.stats.Mean)
		set("median", s.stats.Median)
	} else {
		set("mean", s.stats.Mean)
		set("median", s.stats.Median)
		set("std", s.stats.Std)
	}
	for i, p := range r.args.percentiles {
		set("p"+percentileWord(p), s.stats.percentiles[i])
	}
}

// rowColumn returns a column of the kept requests, whose value needs no gaps.
func (l *levelReport) rowColumn(value func(o *outcome) any) py.Column {
	return py.Column{N: l.rows.n, Value: func(i int) any { return value(l.rows.at(i, false)) }}
}

// gapColumn returns a column whose values need all token events: null if the file has
// none between the first and the last.
func (l *levelReport) gapColumn(value func(o *outcome) any) py.Column {
	if l.noGaps {
		value = func(*outcome) any { return nil }
	}
	return py.Column{N: l.rows.n, Value: func(i int) any { return value(l.rows.at(i, true)) }}
}

// ttftValue returns the time to the first token; −1 is a whole number in the files.
func ttftValue(o *outcome) any {
	if o.whole {
		return -1
	}
	return o.ttft
}

// setRows adds the columns of the requests.
func (l *levelReport) setRows(d *py.Object) {
	d.Set("input_lens", l.rowColumn(func(o *outcome) any { return o.inputShown }))
	d.Set("output_lens", l.rowColumn(func(o *outcome) any { return o.output }))
	d.Set("ttfts", l.rowColumn(ttftValue))
	d.Set("itls", l.gapColumn(func(o *outcome) any { return o.seconds() }))
}

func (l *levelReport) setTexts(d *py.Object) {
	d.Set("generated_texts", l.rowColumn(func(o *outcome) any { return o.text }))
	d.Set("errors", l.rowColumn(func(o *outcome) any { return o.err }))
}

// trtllmResult adds the members of TensorRT-LLM's result file.
func (r *report) trtllmResult(d *py.Object, l *levelReport) {
	main := r.release.rules.deviations
	d.Set("date", l.date)
	d.Set("backend", l.backend)
	d.Set("model_id", l.model)
	d.Set("tokenizer_id", l.tokenizer)
	d.Set("num_prompts", l.numPrompts)
	r.setMetadata(d)
	d.Set("duration", l.Duration)
	d.Set("completed", l.Completed)
	d.Set("total_input_tokens", l.InputTokens)
	d.Set("total_output_tokens", l.OutputTokens)
	d.Set("request_throughput", l.RequestRate)
	d.Set("request_goodput:", r.goodputOrNil(l))
	d.Set("output_throughput", l.OutputRate)
	d.Set("total_token_throughput", l.TotalRate)
	d.Set("user_throughput", l.UserRate)
	if main {
		d.Set("avg_decoded_tokens_per_iter", r.decodedResult(l))
	} else {
		d.Set("mean_request_ar", l.AR.Mean)
		d.Set("median_request_ar", l.AR.Median)
		d.Set("std_request_ar", l.AR.Std)
	}
	if r.args.detailed {
		l.setRows(d)
		if main {
			d.Set("e2els", l.rowColumn(func(o *outcome) any { return o.latency }))
		}
		l.setTexts(d)
		if !main {
			d.Set("request_ars", l.rowColumn(func(o *outcome) any { return o.shownAcceptance() }))
			d.Set("decode_iterations", l.gapColumn(func(o *outcome) any { return o.iterations }))
		}
	}
	for _, s := range r.sections(l) {
		r.setStats(d, &s)
	}
	d.Set("request_rate", rateOrInf(l.requestRate))
	d.Set("burstiness", r.args.burstiness)
	d.Set("max_concurrency", numberOrNil(l.maxConcurrency))
}

// shownAcceptance returns the acceptance rate; 0 for a failed request.
func (o *outcome) shownAcceptance() float64 {
	if !o.success {
		return 0
	}
	return o.acceptance()
}

// decodedResult returns the object of tokens per iteration.
func (r *report) decodedResult(l *levelReport) py.Object {
	percentiles := py.Object{}
	for i, p := range r.args.percentiles {
		percentiles.Set("p"+py.Repr(p), l.Decoded.percentiles[i])
	}
	s := &l.Decoded
	return py.Object{
		{Name: "mean", Value: s.Mean},
		{Name: "min", Value: s.Min},
		{Name: "max", Value: s.Max},
		{Name: "median", Value: s.Median},
		{Name: "std", Value: s.Std},
		{Name: "percentiles", Value: percentiles},
	}
}

// vllmResult adds the members of vLLM's result file.
func (r *report) vllmResult(d *py.Object, l *levelReport) {
	d.Set("date", l.date)
	d.Set("endpoint_type", l.backend)
	d.Set("backend", l.backend)
	d.Set("label", textOrNil(r.args.label))
	d.Set("model_id", l.model)
	d.Set("tokenizer_id", l.tokenizer)
	d.Set("num_prompts", l.numPrompts)
	r.setMetadata(d)
	d.Set("request_rate", rateOrInf(l.requestRate))
	d.Set("burstiness", r.args.burstiness)
	d.Set("max_concurrency", numberOrNil(l.maxConcurrency))
	d.Set("duration", l.Duration)
	d.Set("completed", l.Completed)
	d.Set("failed", l.Requests-l.Completed)
	d.Set("total_input_tokens", l.InputTokens)
	d.Set("total_output_tokens", l.OutputTokens)
	d.Set("request_throughput", l.RequestRate)
	d.Set("request_goodput", r.goodputOrNil(l))
	d.Set("output_throughput", l.OutputRate)
	d.Set("total_token_throughput", l.TotalRate)
	if r.args.detailed {
		l.setRows(d)
	}
	d.Set("latencies", l.rowColumn(func(o *outcome) any { return o.latency }))
	if r.args.detailed {
		d.Set("start_times", l.rowColumn(func(o *outcome) any { return o.start() }))
	}
	queue := l.queue.NewCursor()
	d.Set("queue_times", py.Column{N: l.queue.Len(), Value: func(i int) any { return queue.Number(i) }})
	if r.args.detailed {
		l.setTexts(d)
	}
	d.Set("max_output_tokens_per_s", l.PeakTokens)
	d.Set("max_concurrent_requests", wholeNumber(l.PeakRequests))
	d.Set("rtfx", 0.0)
	for _, s := range r.sections(l) {
		r.setStats(d, &s)
	}
}

// sglangResult adds the members of SGLang's result file.
func (r *report) sglangResult(d *py.Object, l *levelReport) {
	a := r.args
	d.Set("tag", textOrNil(a.tag))
	d.Set("backend", l.backend)
	d.Set("dataset_name", a.dataset)
	d.Set("request_rate", l.requestRate)
	d.Set("max_concurrency", numberOrNil(l.maxConcurrency))
	d.Set("sharegpt_output_len", numberOrNil(a.sharegptOutputLen))
	d.Set("random_input_len", a.randomInputLen)
	d.Set("random_output_len", a.randomOutputLen)
	d.Set("random_range_ratio", a.randomRangeRatio)
	d.Set("server_info", nil)
	if a.serverInfo.Raw() != "" {
		d.Set("server_info", py.Raw(a.serverInfo.Raw()))
	}
	d.Set("duration", l.Duration)
	d.Set("completed", l.Completed)
	d.Set("total_input_tokens", l.InputTokens)
	d.Set("total_input_text_tokens", l.InputTokens)
	d.Set("total_input_vision_tokens", 0)
	d.Set("total_output_tokens", l.OutputTokens)
	d.Set("total_output_tokens_retokenized", l.Retokenized)
	d.Set("request_throughput", l.RequestRate)
	d.Set("input_throughput", l.InputRate)
	d.Set("output_throughput", l.OutputRate)
	d.Set("total_throughput", l.TotalRate)
	for _, m := range l.sglangSections() {
		for _, s := range []struct {
			name string
			v    float64
		}{
			{"mean", m.stats.Mean},
			{"median", m.stats.Median},
			{"std", m.stats.Std},
			{"p90", m.stats.percentiles[0]},
			{"p95", m.stats.percentiles[1]},
			{"p99", m.stats.percentiles[2]},
		} {
			d.Set(fmt.Sprintf("%s_%s_ms", s.name, m.key), s.v)
		}
	}
	d.Set("concurrency", l.Concurrency)
	d.Set("accept_length", nil)
	if a.acceptLength != nil {
		d.Set("accept_length", *a.acceptLength)
	}
	d.Set("max_output_tokens_per_s", l.PeakTokens)
	d.Set("max_concurrent_requests", wholeNumber(l.PeakRequests))
	r.sglangGoodputResult(d, l)
	if a.detailed {
		l.setRows(d)
		l.setTexts(d)
	}
}

// sglangGoodputResult adds the goodput to SGLang's result file.
func (r *report) sglangGoodputResult(d *py.Object, l *levelReport) {
	limits := r.args.goodput
	if len(limits) == 0 {
		return
	}
	var slos, attained py.Object
	for i, x := range limits {
		slos = append(slos, py.Member{Name: x.Metric, Value: x.Value})
		attained = append(attained, py.Member{Name: x.Metric, Value: l.attainment(l.met[i])})
	}
	d.Set("goodput_slos_ms", slos)
	d.Set("request_goodput", l.Goodput)
	d.Set("slo_attainment", l.attainment(l.good))
	d.Set("slo_attainment_by_metric", attained)
}
