package foreign

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/pa-tools/pa/pkg/export"
)

// AIPerf writes a line of JSON for each request, when it is over:
//
//	profile_export.jsonl      {"metadata":{…},"metrics":{TAG:{"value":V,"unit":U},…},"error":{…}|null}
//	profile_export_raw.jsonl  {"metadata":{…},"start_perf_ns":T,"status":200,"responses":[…],"payload":{…},"error":…}
//
// request_start_ns of the metadata is a Unix time. The raw file has clock readings,
// perf_ns, whose differences to start_perf_ns are times. The other file has the time
// to the first token and the gaps between chunks with content, inter_chunk_latency, in
// milliseconds.

const (
	aiperfName    = "AIPerf profile_export.jsonl"
	aiperfRawName = "AIPerf profile_export_raw.jsonl"
)

type aiperfRecord struct {
	Metadata struct {
		SessionNum      uint64  `json:"session_num"`
		CorrelationID   string  `json:"x_correlation_id"`
		TurnIndex       int     `json:"turn_index"`
		CreditIssuedNS  uint64  `json:"credit_issued_ns"`
		RequestStartNS  uint64  `json:"request_start_ns"`
		RequestAckNS    *uint64 `json:"request_ack_ns"`
		RequestEndNS    uint64  `json:"request_end_ns"`
		BenchmarkPhase  string  `json:"benchmark_phase"`
		WasCancelled    bool    `json:"was_cancelled"`
		CancellationNS  *uint64 `json:"cancellation_time_ns"`
		ContextOverflow bool    `json:"context_overflow_skip"`
	} `json:"metadata"`
	Metrics map[string]aiperfMetric `json:"metrics"`
	Error   *aiperfError            `json:"error"`

	// Only the raw file has these.
	StartPerfNS *uint64          `json:"start_perf_ns"`
	Status      int              `json:"status"`
	Responses   []aiperfResponse `json:"responses"`
	Payload     json.RawMessage  `json:"payload"`
}

type aiperfMetric struct {
	Value json.RawMessage `json:"value"` // a number, or a list of them
	Unit  string          `json:"unit"`
}

type aiperfError struct {
	Code       *int     `json:"code"`
	Type       string   `json:"type"`
	Message    string   `json:"message"`
	Cause      string   `json:"cause"`
	CauseChain []string `json:"cause_chain"`
}

// An aiperfResponse is a server-sent event, cut into its lines, or a whole body.
type aiperfResponse struct {
	PerfNS  uint64 `json:"perf_ns"`
	Packets []struct {
		Name  string  `json:"name"`
		Value *string `json:"value"`
	} `json:"packets"`
	Text *string `json:"text"`
}

func sniffAIPerf(o *outline) bool {
	return !o.array && (o.first == "metadata" && o.hasInner("request_start_ns") || o.has("aiperf_version"))
}

func openAIPerf(f *file) (*export.Run, source, error) {
	c, err := f.start()
	if err != nil {
		return nil, nil, err
	}
	s := &aiperf{values: values{c: c}, file: f}
	// The first record tells the kind of file, the release and the model.
	begin := c.Pos
	first, err := s.values.next("a record")
	for bad := new(badEntry); errors.As(err, &bad); {
		first, err = s.values.next("a record")
	}
	if err != nil {
		return nil, nil, err
	}
	// A bad value in the first record must not stop the others: next reports it.
	var head map[string]json.RawMessage
	if err := decode(first, &head); err != nil {
		return nil, nil, fmt.Errorf("%s: byte %d: the first record of %s: %s", f.name, s.at, aiperfName, typeError(s.at, err).msg)
	}
	if v, ok := head["aiperf_version"]; ok {
		var version string
		_ = json.Unmarshal(v, &version) // the version is only for the message
		return nil, nil, fmt.Errorf("%s: is profile_export_aiperf.json of AIPerf %.20q, which holds statistics and no requests; give profile_export.jsonl or profile_export_raw.jsonl from the same folder", f.name, version)
	}
	_, s.raw = head["start_perf_ns"]
	s.values = values{c: f.cursor(begin, columnChunk)}
	s.index = 0
	run := s.header(head)
	s.streaming = run.Meta.Streaming
	return run, s, nil
}

// header returns the run that a first record belongs to, by its members.
func (s *aiperf) header(first map[string]json.RawMessage) *export.Run {
	m := &export.RunMeta{Schema: export.Schema, Tool: "AIPerf", Import: &export.Import{Format: aiperfName}}
	run := &export.Run{Experiments: make([]export.Experiment, 1), Meta: m}
	if !s.raw {
		const has = "; profile_export_raw.jsonl of --export-level raw does"
		m.Import.Lacks = []export.Lack{
			{Part: export.PartTexts, Why: aiperfName + " holds no texts" + has},
			{Part: export.PartInputs, Why: aiperfName + " does not hold what was sent" + has},
		}
		metrics := aiperfMetrics{}
		_ = json.Unmarshal(first["metrics"], &metrics.all) // next reports the error
		if decode, ok := metrics.number("decode_duration"); ok && decode > 0 && !metrics.has("inter_chunk_latency") {
			m.Import.Lacks = append(m.Import.Lacks, export.Lack{Part: export.PartGaps, Why: "these records of AIPerf hold no inter_chunk_latency"})
		}
		if metrics.has("request_latency") || metrics.has("time_to_first_token") {
			m.Streaming = boolean(metrics.has("time_to_first_token"))
		}
		m.Warnings = []string{"a request ends with its last chunk that has content: usage and [DONE] are not in " + aiperfName}
		return run
	}
	m.Import.Format = aiperfRawName
	var headers map[string]any
	if json.Unmarshal(first["request_headers"], &headers) == nil {
		agent, _ := headers["User-Agent"].(string)
		if version, ok := strings.CutPrefix(agent, "aiperf/"); ok {
			m.Tool += " " + version
		}
	}
	var body struct {
		Model  string `json:"model"`
		Stream *bool  `json:"stream"`
	}
	if json.Unmarshal(first["payload"], &body) == nil {
		m.Model, m.Streaming = body.Model, body.Stream
	}
	return run
}

// aiperf is the source of both files.
type aiperf struct {
	values
	raw    bool
	record aiperfRecord
	// streaming reports whether the run streamed; nil if the first record does not
	// tell.
	streaming *bool
	self      selfCheck
	totals    *aiperfTotals // nil without a summary
	file      *file
}

func (s *aiperf) where() string { return fmt.Sprintf("record %d", s.index-1) }

func (s *aiperf) next(r *export.Request) (int, error) {
	v, err := s.values.next("a record")
	if err != nil {
		return 0, err
	}
	s.record = aiperfRecord{}
	if err := decode(v, &s.record); err != nil {
		return 0, typeError(s.at, err)
	}
	m := &s.record.Metadata
	if m.RequestStartNS == 0 {
		return 0, &badEntry{at: s.at, msg: "request_start_ns is missing"}
	}
	r.ID, r.SessionID, r.Turn = m.SessionNum, m.CorrelationID, m.TurnIndex
	r.IssuedNS, r.StartNS, r.StartSource = m.CreditIssuedNS, m.RequestStartNS, export.SourceUser
	if m.RequestAckNS != nil {
		r.FirstByteNS = *m.RequestAckNS
	}
	r.Status, r.Phase = export.StatusOK, export.PhaseMeasured
	if m.BenchmarkPhase == "warmup" {
		r.Phase = export.PhaseWarmup
	}
	switch e := s.record.Error; {
	case m.WasCancelled:
		r.Status, r.FailedNS = export.StatusCancelled, m.RequestEndNS
		if e != nil {
			r.Message = message(e.Message)
		}
	case e != nil:
		code := 0
		if e.Code != nil {
			code = *e.Code
		}
		fail(r, code, e.Type+": "+e.Message)
		r.Message = message(e.Message)
		r.FailedNS = m.RequestEndNS
	case m.ContextOverflow:
		r.Status, r.Message, r.FailedNS = export.StatusFailed, "the request was longer than the context of the model", m.RequestEndNS
	}
	if s.raw {
		err = s.responses(r)
	} else {
		err = s.metrics(r)
	}
	if err == nil && s.totals != nil {
		s.totals.add(r, s.record.Metrics)
	}
	return 0, err
}

// responses fills in the responses of the raw file.
func (s *aiperf) responses(r *export.Request) error {
	x := &s.record
	if r.Status == export.StatusOK && x.Status >= 300 {
		fail(r, x.Status, "")
	}
	if len(x.Payload) > 0 {
		r.Inputs = payload(x.Payload)
	}
	r.NoOutputs = false
	if x.StartPerfNS == nil {
		return &badEntry{at: s.at, msg: "start_perf_ns is missing"}
	}
	before := uint64(0)
	for i := range x.Responses {
		p := &x.Responses[i]
		if p.PerfNS < *x.StartPerfNS {
			return &badEntry{at: s.at, msg: "perf_ns of a response is before start_perf_ns", excluded: r.Excluded() != export.NotExcluded}
		}
		outputs, done := p.outputs()
		respond(r, r.StartNS+p.PerfNS-*x.StartPerfNS, outputs)
		last := &r.Responses[i]
		last.Final = done
		// All events of one read of the socket have its time.
		if i > 0 && p.PerfNS == before {
			last.Read = r.Responses[i-1].Read
		} else if i > 0 {
			last.Read = r.Responses[i-1].Read + 1
		}
		before = p.PerfNS
	}
	return nil
}

// outputs joins the lines of an event. done reports that the event is [DONE].
func (p *aiperfResponse) outputs() (f export.Fields, done bool) {
	if p.Packets == nil {
		if p.Text == nil {
			return export.Fields{}, false
		}
		return body(*p.Text), false
	}
	var b strings.Builder
	for _, line := range p.Packets {
		if line.Name == "comment" {
			line.Name = ""
		}
		b.WriteString(line.Name + ":")
		if line.Value != nil {
			b.WriteString(" " + *line.Value)
			done = done || line.Name == "data" && *line.Value == "[DONE]"
		}
		b.WriteByte('\n')
	}
	return body(b.String() + "\n"), done
}

// metrics fills in the metrics of the file of records.
func (s *aiperf) metrics(r *export.Request) error {
	m := aiperfMetrics{s.record.Metrics, nil}
	r.DNS, r.Connect = m.span("http_req_dns_lookup"), m.span("http_req_connecting")
	if v, ok := m.number("http_req_connection_reused"); ok {
		r.Reused = v != 0
	}
	st := &export.Stated{
		InputTokens:     m.count("usage_prompt_tokens", "input_sequence_length"),
		OutputTokens:    m.count("usage_completion_tokens", "output_sequence_length"),
		ReasoningTokens: m.count("usage_reasoning_tokens", "reasoning_token_count"),
		CachedTokens:    m.count("usage_prompt_cache_read_tokens"),
	}
	if in := m.count("input_sequence_length"); in != nil && (*in != *st.InputTokens || !m.has("usage_prompt_tokens")) {
		st.CountedInput = in
	}
	if out := m.count("output_sequence_length"); out != nil && (*out != *st.OutputTokens || !m.has("usage_completion_tokens")) {
		st.CountedOutput = out
	}
	st.Figures = m.figures()
	if e := s.record.Error; e != nil {
		st.ErrorType, st.ErrorCause, st.ErrorChain = e.Type, message(e.Cause), e.CauseChain
	}
	first, streamed := m.ns("time_to_first_token")
	whole, answered := m.ns("request_latency")
	if (streamed || answered) && (s.streaming == nil || *s.streaming != streamed) {
		st.Streamed = &streamed
	}
	if st.InputTokens != nil || st.OutputTokens != nil || st.ErrorType != "" || st.Figures != nil || st.Streamed != nil {
		r.Stated = st
	}
	switch {
	case streamed:
		at := r.StartNS + first
		respond(r, at, nil)
		for _, gap := range m.list("inter_chunk_latency") {
			if at += gap; at-r.StartNS > math.MaxInt64 { // before it is past the end of uint64
				return &badEntry{at: s.at, msg: "inter_chunk_latency: the gaps of the request add up to more than 292 years", excluded: r.Excluded() != export.NotExcluded}
			}
			respond(r, at, nil)
		}
		if !m.has("inter_chunk_latency") && answered && whole > first { // the last, then
			respond(r, r.StartNS+whole, nil)
		}
	case answered:
		respond(r, r.StartNS+whole, nil)
	}
	if n := len(r.Responses); n > 0 && r.Stated != nil && r.Status == export.StatusOK && s.record.Metadata.RequestEndNS > r.Responses[n-1].RecvNS {
		end := s.record.Metadata.RequestEndNS
		r.Stated.EndNS = &end
	}
	if m.bad != nil {
		m.bad.at, m.bad.excluded = s.at, r.Excluded() != export.NotExcluded
		return m.bad
	}
	if r.Status == export.StatusOK && streamed {
		s.self.at = s.where()
		m.compare(&s.self)
	}
	return nil
}

// check sets c to the comparison of the metrics within each record, and of the summary with
// all records.
func (s *aiperf) check(c *selfCheck) {
	s.self.file = c.file
	*c = s.self
	if s.totals != nil {
		s.totals.compare(c)
		if !s.raw { // which does not say which chunk is the last with content
			s.totals.compareRates(c)
		}
		s.totals.stored.rest(c)
	}
}

// compare computes the metrics that follow from other metrics of the record, and compares
// them.
func (m *aiperfMetrics) compare(c *selfCheck) {
	get := func(tag string) float64 {
		v, ok := m.number(tag)
		if !ok {
			return math.NaN()
		}
		return v
	}
	ttft, latency := get("time_to_first_token"), get("request_latency")
	in, out := get("input_sequence_length"), get("output_sequence_length")
	gaps := sample{ttft}
	var list []float64
	if json.Unmarshal(m.all["inter_chunk_latency"].Value, &list) == nil {
		gaps = append(gaps, list...)
	} else if latency != ttft {
		gaps = sample{math.NaN()} // not known
	}
	perToken := (latency - ttft) / (out - 1)
	for _, f := range []struct {
		tag      string
		computed float64
	}{
		{"request_latency", gaps.sum()},
		{"decode_duration", latency - ttft},
		{"inter_token_latency", perToken},
		{"output_token_throughput_per_user", 1e3 / perToken},
		{"e2e_output_token_throughput", out / latency * 1e3},
		{"prefill_throughput_per_user", in / ttft * 1e3},
	} {
		if v, ok := m.number(f.tag); ok && !math.IsNaN(f.computed) {
			c.figure(f.tag, v, f.computed)
		}
	}
}

// aiperfMetrics are the metrics of one record. A value that is not a number is bad.
type aiperfMetrics struct {
	all map[string]aiperfMetric
	bad *badEntry
}

func (m *aiperfMetrics) wrong(tag string) {
	if m.bad == nil {
		m.bad = &badEntry{msg: fmt.Sprintf("metric %q: expected a number in milliseconds, tokens or as a ratio, found %.40q", tag, m.all[tag].Value)}
	}
}

// has reports whether the record has the metric.
func (m *aiperfMetrics) has(tag string) bool {
	_, ok := m.all[tag]
	return ok
}

// number returns the value of a metric; ok is false if it is missing or no number.
func (m *aiperfMetrics) number(tag string) (v float64, ok bool) {
	x, ok := m.all[tag]
	if !ok || string(x.Value) == "null" {
		return 0, false
	}
	if json.Unmarshal(x.Value, &v) != nil {
		m.wrong(tag)
		return 0, false
	}
	return v, true
}

// keptMetrics lists the metrics that a request keeps unchanged, by tag or prefix: parts of
// the exchange, the server's own counts and comparisons with them, and the split into
// reasoning and other tokens.
var keptMetrics = []string{"http_req_", "usage_", "osl_mismatch_diff_pct", "output_token_count", "reasoning_token_count", "time_to_first_output_token", "error_isl"}

// figures returns the kept metrics that are numbers; nil if there are none.
func (m *aiperfMetrics) figures() map[string]float64 {
	var all map[string]float64
	for tag := range m.all {
		if !slices.ContainsFunc(keptMetrics, func(front string) bool { return strings.HasPrefix(tag, front) }) {
			continue
		}
		if v, ok := m.number(tag); ok {
			if all == nil {
				all = map[string]float64{}
			}
			all[tag] = v
		}
	}
	return all
}

// span returns a metric as a duration, 0 if it is missing.
func (m *aiperfMetrics) span(tag string) time.Duration {
	ns, _ := m.ns(tag)
	return time.Duration(ns)
}

// aiperfUnits gives the length of each unit of time in milliseconds.
var aiperfUnits = map[string]float64{"ns": 1e-6, "us": 1e-3, "ms": 1, "sec": 1e3, "s": 1e3}

// ns returns a metric as a duration in nanoseconds; ok is false if it is missing or bad.
func (m *aiperfMetrics) ns(tag string) (ns uint64, ok bool) {
	v, ok := m.number(tag)
	if !ok {
		return 0, false
	}
	return m.convert(tag, v)
}

func (m *aiperfMetrics) convert(tag string, v float64) (ns uint64, ok bool) {
	if scale, known := aiperfUnits[m.all[tag].Unit]; known {
		if scale != 1 {
			v *= scale
		}
		ns, ok = milliseconds(v)
	}
	if !ok {
		m.wrong(tag)
	}
	return ns, ok
}

// list returns the elements of a metric as durations in nanoseconds.
func (m *aiperfMetrics) list(tag string) []uint64 {
	x, ok := m.all[tag]
	if !ok || string(x.Value) == "null" {
		return nil
	}
	var values []float64
	if json.Unmarshal(x.Value, &values) != nil {
		m.wrong(tag)
		return nil
	}
	all := make([]uint64, len(values))
	for i, v := range values {
		all[i], _ = m.convert(tag, v)
	}
	return all
}

// count returns the first of these metrics that the record has, nil if it has none.
func (m *aiperfMetrics) count(tags ...string) *int64 {
	i := slices.IndexFunc(tags, func(tag string) bool { _, ok := m.number(tag); return ok })
	if i < 0 {
		return nil
	}
	v, _ := m.number(tags[i])
	if v < 0 || v > 1<<53 || v != float64(int64(v)) {
		m.wrong(tags[i])
		return nil
	}
	return number(int64(v))
}
