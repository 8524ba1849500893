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
func (r *Report) JSON(w io.Writer) error {
	out := bufio.NewWriterSize(w, 1<<16) // keeps its first error
	for i := range r.Levels {
		if i > 0 && !r.Release.rules.resultLines {
			fmt.Fprintln(out)
		}
		r.result(&r.Levels[i]).write(out)
		if r.Release.rules.resultLines {
			fmt.Fprintln(out)
		}
	}
	return out.Flush()
}

// appended reports whether JSON writes several objects into a file that has one object
// unless the tool appends. SGLang's file always has one object per line.
func (r *Report) appended() bool { return len(r.Levels) > 1 && !r.Release.rules.resultLines }

// A dict is a Python dictionary: a name that is set again keeps its place.
type dict struct {
	names  []string
	values map[string]any // of package py, or a column
}

func (d *dict) set(name string, value any) {
	if d.values == nil {
		d.values = map[string]any{}
	}
	if _, there := d.values[name]; !there {
		d.names = append(d.names, name)
	}
	d.values[name] = value
}

// A column is a list that is written element by element, so that the text of all
// requests is never in memory.
type column struct {
	n     int
	value func(i int) any
}

func (d *dict) write(out io.Writer) {
	var b []byte
	put := func(text []byte) {
		fmt.Fprintf(out, "%s", text)
	}
	put([]byte("{"))
	for i, name := range d.names {
		b = b[:0]
		if i > 0 {
			b = append(b, ", "...)
		}
		b = append(py.AppendJSONString(b, name), ": "...)
		c, isColumn := d.values[name].(column)
		if !isColumn {
			put(py.AppendJSON(b, d.values[name], 0))
			continue
		}
		put(append(b, '['))
		for k := range c.n {
			b = b[:0]
			if k > 0 {
				b = append(b, ", "...)
			}
			put(py.AppendJSON(b, c.value(k), 0))
		}
		put([]byte("]"))
	}
	put([]byte("}"))
}

// result returns the tool's result of a level.
func (r *Report) result(l *Level) *dict {
	d := &dict{}
	r.Release.rules.result(r, d, l)
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
func (r *Report) setMetadata(d *dict) {
	for _, item := range r.args.metadata {
		name, value, _ := strings.Cut(item, "=")
		if r.Release.rules.cutsMetadata {
			value, _, _ = strings.Cut(value, "=")
		}
		d.set(strings.TrimSpace(name), strings.TrimSpace(value))
	}
}

// goodputOrNil returns null without an objective.
func (r *Report) goodputOrNil(l *Level) any {
	if len(r.args.goodput) == 0 {
		return nil
	}
	return l.Goodput
}

// setStats adds the statistics of a metric.
func (r *Report) setStats(d *dict, s *section) {
	end := ""
	if s.unit != "" {
		end = "_" + s.unit
	}
	set := func(stat string, v float64) { d.set(stat+"_"+s.key+end, v) }
	if r.Release.rules.deviations {
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
func (l *Level) rowColumn(value func(o *outcome) any) column {
	return column{l.rows.n, func(i int) any { return value(l.rows.at(i, false)) }}
}

// gapColumn returns a column whose values need all token events: null if the file has
// none between the first and the last.
func (l *Level) gapColumn(value func(o *outcome) any) column {
	if l.noGaps {
		value = func(*outcome) any { return nil }
	}
	return column{l.rows.n, func(i int) any { return value(l.rows.at(i, true)) }}
}

// ttftValue returns the time to the first token; −1 is a whole number in the files.
func ttftValue(o *outcome) any {
	if o.whole {
		return -1
	}
	return o.ttft
}

// setRows adds the columns of the requests.
func (l *Level) setRows(d *dict) {
	d.set("input_lens", l.rowColumn(func(o *outcome) any { return o.inputShown }))
	d.set("output_lens", l.rowColumn(func(o *outcome) any { return o.output }))
	d.set("ttfts", l.rowColumn(ttftValue))
	d.set("itls", l.gapColumn(func(o *outcome) any { return o.seconds() }))
}

func (l *Level) setTexts(d *dict) {
	d.set("generated_texts", l.rowColumn(func(o *outcome) any { return o.text }))
	d.set("errors", l.rowColumn(func(o *outcome) any { return o.err }))
}

func (r *Report) trtllmResult(d *dict, l *Level) {
	main := r.Release.rules.deviations
	d.set("date", l.date)
	d.set("backend", l.backend)
	d.set("model_id", l.model)
	d.set("tokenizer_id", l.tokenizer)
	d.set("num_prompts", l.numPrompts)
	r.setMetadata(d)
	d.set("duration", l.Duration)
	d.set("completed", l.Completed)
	d.set("total_input_tokens", l.InputTokens)
	d.set("total_output_tokens", l.OutputTokens)
	d.set("request_throughput", l.RequestRate)
	d.set("request_goodput:", r.goodputOrNil(l))
	d.set("output_throughput", l.OutputRate)
	d.set("total_token_throughput", l.TotalRate)
	d.set("user_throughput", l.UserRate)
	if main {
		d.set("avg_decoded_tokens_per_iter", r.decodedResult(l))
	} else {
		d.set("mean_request_ar", l.AR.Mean)
		d.set("median_request_ar", l.AR.Median)
		d.set("std_request_ar", l.AR.Std)
	}
	if r.args.detailed {
		l.setRows(d)
		if main {
			d.set("e2els", l.rowColumn(func(o *outcome) any { return o.latency }))
		}
		l.setTexts(d)
		if !main {
			d.set("request_ars", l.rowColumn(func(o *outcome) any { return o.shownAcceptance() }))
			d.set("decode_iterations", l.gapColumn(func(o *outcome) any { return o.iterations }))
		}
	}
	for _, s := range r.sections(l) {
		r.setStats(d, &s)
	}
	d.set("request_rate", rateOrInf(l.requestRate))
	d.set("burstiness", r.args.burstiness)
	d.set("max_concurrency", numberOrNil(l.maxConcurrency))
}

// shownAcceptance returns the acceptance rate; 0 for a failed request.
func (o *outcome) shownAcceptance() float64 {
	if !o.success {
		return 0
	}
	return o.acceptance()
}

// decodedResult returns the object of tokens per iteration.
func (r *Report) decodedResult(l *Level) py.Object {
	var percentiles dict
	for i, p := range r.args.percentiles {
		percentiles.set("p"+py.Repr(p), l.Decoded.percentiles[i])
	}
	var o py.Object
	for _, name := range percentiles.names {
		o = append(o, py.Member{Name: name, Value: percentiles.values[name]})
	}
	s := &l.Decoded
	return py.Object{
		{Name: "mean", Value: s.Mean},
		{Name: "min", Value: s.Min},
		{Name: "max", Value: s.Max},
		{Name: "median", Value: s.Median},
		{Name: "std", Value: s.Std},
		{Name: "percentiles", Value: o},
	}
}

func (r *Report) vllmResult(d *dict, l *Level) {
	d.set("date", l.date)
	d.set("endpoint_type", l.backend)
	d.set("backend", l.backend)
	d.set("label", textOrNil(r.args.label))
	d.set("model_id", l.model)
	d.set("tokenizer_id", l.tokenizer)
	d.set("num_prompts", l.numPrompts)
	r.setMetadata(d)
	d.set("request_rate", rateOrInf(l.requestRate))
	d.set("burstiness", r.args.burstiness)
	d.set("max_concurrency", numberOrNil(l.maxConcurrency))
	d.set("duration", l.Duration)
	d.set("completed", l.Completed)
	d.set("failed", l.Requests-l.Completed)
	d.set("total_input_tokens", l.InputTokens)
	d.set("total_output_tokens", l.OutputTokens)
	d.set("request_throughput", l.RequestRate)
	d.set("request_goodput", r.goodputOrNil(l))
	d.set("output_throughput", l.OutputRate)
	d.set("total_token_throughput", l.TotalRate)
	if r.args.detailed {
		l.setRows(d)
	}
	d.set("latencies", l.rowColumn(func(o *outcome) any { return o.latency }))
	if r.args.detailed {
		d.set("start_times", l.rowColumn(func(o *outcome) any { return o.start() }))
	}
	queue := l.queue.NewCursor()
	d.set("queue_times", column{l.queue.Len(), func(i int) any { return queue.Number(i) }})
	if r.args.detailed {
		l.setTexts(d)
	}
	d.set("max_output_tokens_per_s", l.PeakTokens)
	d.set("max_concurrent_requests", wholeNumber(l.PeakRequests))
	d.set("rtfx", 0.0)
	for _, s := range r.sections(l) {
		r.setStats(d, &s)
	}
}

func (r *Report) sglangResult(d *dict, l *Level) {
	a := r.args
	d.set("tag", textOrNil(a.tag))
	d.set("backend", l.backend)
	d.set("dataset_name", a.dataset)
	d.set("request_rate", l.requestRate)
	d.set("max_concurrency", numberOrNil(l.maxConcurrency))
	d.set("sharegpt_output_len", numberOrNil(a.sharegptOutputLen))
	d.set("random_input_len", a.randomInputLen)
	d.set("random_output_len", a.randomOutputLen)
	d.set("random_range_ratio", a.randomRangeRatio)
	d.set("server_info", nil)
	if a.serverInfo.Raw() != "" {
		d.set("server_info", py.Raw(a.serverInfo.Raw()))
	}
	d.set("duration", l.Duration)
	d.set("completed", l.Completed)
	d.set("total_input_tokens", l.InputTokens)
	d.set("total_input_text_tokens", l.InputTokens)
	d.set("total_input_vision_tokens", 0)
	d.set("total_output_tokens", l.OutputTokens)
	d.set("total_output_tokens_retokenized", l.Retokenized)
	d.set("request_throughput", l.RequestRate)
	d.set("input_throughput", l.InputRate)
	d.set("output_throughput", l.OutputRate)
	d.set("total_throughput", l.TotalRate)
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
			d.set(fmt.Sprintf("%s_%s_ms", s.name, m.key), s.v)
		}
	}
	d.set("concurrency", l.Concurrency)
	d.set("accept_length", nil)
	if a.acceptLength != nil {
		d.set("accept_length", *a.acceptLength)
	}
	d.set("max_output_tokens_per_s", l.PeakTokens)
	d.set("max_concurrent_requests", wholeNumber(l.PeakRequests))
	r.sglangGoodputResult(d, l)
	if a.detailed {
		l.setRows(d)
		l.setTexts(d)
	}
}

func (r *Report) sglangGoodputResult(d *dict, l *Level) {
	limits := r.args.goodput
	if len(limits) == 0 {
		return
	}
	var slos, attained py.Object
	for i, x := range limits {
		slos = append(slos, py.Member{Name: x.Metric, Value: x.Value})
		attained = append(attained, py.Member{Name: x.Metric, Value: l.attainment(l.met[i])})
	}
	d.set("goodput_slos_ms", slos)
	d.set("request_goodput", l.Goodput)
	d.set("slo_attainment", l.attainment(l.good))
	d.set("slo_attainment_by_metric", attained)
}
