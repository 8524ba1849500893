package aiperf

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/internal/resultfile"
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
	recordsFormat = "AIPerf profile_export.jsonl"
	rawFormat     = "AIPerf profile_export_raw.jsonl"
)

type fileRecord struct {
	Metadata struct {
		SessionNum      uint64  `json:"session_num"`
		CorrelationID   string  `json:"x_correlation_id"`
		ParentID        string  `json:"parent_correlation_id"` // of a sub-agent
		RootID          string  `json:"root_correlation_id"`   // of the tree of agents
		Depth           int     `json:"agent_depth"`
		TurnIndex       int     `json:"turn_index"`
		CreditIssuedNS  uint64  `json:"credit_issued_ns"`
		RequestStartNS  uint64  `json:"request_start_ns"`
		RequestAckNS    *uint64 `json:"request_ack_ns"`
		RequestEndNS    uint64  `json:"request_end_ns"`
		BenchmarkPhase  string  `json:"benchmark_phase"`
		WasCancelled    bool    `json:"was_cancelled"`
		ContextOverflow bool    `json:"context_overflow_skip"`
	} `json:"metadata"`
	Metrics map[string]fileMetric `json:"metrics"`
	Error   *fileError            `json:"error"`

	// Only the raw file has these.
	StartPerfNS *uint64         `json:"start_perf_ns"`
	Status      int             `json:"status"`
	Responses   []fileResponse  `json:"responses"`
	Payload     json.RawMessage `json:"payload"`
}

type fileMetric struct {
	Value json.RawMessage `json:"value"` // a number, or a list of them
	Unit  string          `json:"unit"`
}

type fileError struct {
	Code       *int     `json:"code"`
	Type       string   `json:"type"`
	Message    string   `json:"message"`
	Cause      string   `json:"cause"`
	CauseChain []string `json:"cause_chain"`
}

// A fileResponse is a server-sent event, cut into its lines, or a whole body.
type fileResponse struct {
	PerfNS  uint64 `json:"perf_ns"`
	Packets []struct {
		Name  string  `json:"name"`
		Value *string `json:"value"`
	} `json:"packets"`
	Text *string `json:"text"`
}

// ResultFile describes the files of AIPerf.
func ResultFile() resultfile.Kind {
	return resultfile.Kind{Name: recordsFormat, Sniff: sniff, Open: open, Beside: filesBeside(), Stated: []resultfile.Statement{statement(), resultfile.TableStatement("AIPerf", "aiperf", isTable)}}
}

func sniff(o *resultfile.Outline) bool {
	return !o.Array && (o.First == "metadata" && o.HasInner("request_start_ns") || o.Has("aiperf_version"))
}

// open reads the file up to its first request.
func open(f *resultfile.File) (*export.Run, resultfile.Source, error) {
	c, err := f.Start()
	if err != nil {
		return nil, nil, err
	}
	s := &source{Values: resultfile.Values{C: c}, file: f, self: resultfile.SelfCheck{File: f.Name}}
	// The first record tells the kind of file, the release and the model.
	begin := c.Pos
	first, err := s.Values.Next("a record")
	for bad := new(resultfile.BadEntry); errors.As(err, &bad); {
		first, err = s.Values.Next("a record")
	}
	if err != nil {
		return nil, nil, err
	}
	// A bad value in the first record must not stop the others: next reports it.
	var head map[string]json.RawMessage
	if err := resultfile.Decode(first, &head); err != nil {
		return nil, nil, fmt.Errorf("%s: byte %d: the first record of %s: %s", f.Name, s.At, recordsFormat, resultfile.TypeError(s.At, err).Msg)
	}
	if v, ok := head["aiperf_version"]; ok {
		var version string
		_ = json.Unmarshal(v, &version) // the version is only for the message
		return nil, nil, resultfile.NoRequests(fmt.Errorf("%s: is profile_export_aiperf.json of AIPerf %.20q, which holds statistics and no requests; give profile_export.jsonl or profile_export_raw.jsonl from the same folder", f.Name, version))
	}
	_, s.raw = head["start_perf_ns"]
	s.Values = resultfile.Values{C: f.Cursor(begin, resultfile.ColumnChunk)}
	s.Index = 0
	run := s.header(head)
	s.streaming = run.Meta.Streaming
	return run, s, nil
}

// header returns the run that a first record belongs to, by its members.
func (s *source) header(first map[string]json.RawMessage) *export.Run {
	m := &export.RunMeta{Schema: export.Schema, Tool: "AIPerf", Import: &export.Import{Format: recordsFormat}}
	run := &export.Run{Experiments: make([]export.Experiment, 1), Meta: m}
	if !s.raw {
		const has = "; profile_export_raw.jsonl of --export-level raw does"
		m.Import.Lacks = []export.Lack{
			{Part: export.PartTexts, Why: recordsFormat + " holds no texts" + has},
			{Part: export.PartInputs, Why: recordsFormat + " does not hold what was sent" + has},
		}
		metrics := fileMetrics{}
		_ = json.Unmarshal(first["metrics"], &metrics.all) // next reports the error
		if decode, ok := metrics.number("decode_duration"); ok && decode > 0 && !metrics.has(chunkGap) {
			m.Import.Lacks = append(m.Import.Lacks, export.Lack{Part: export.PartGaps, Why: "these records of AIPerf hold no inter_chunk_latency"})
		}
		if metrics.has("request_latency") || metrics.has("time_to_first_token") {
			m.Streaming = new(metrics.has("time_to_first_token"))
		}
		m.Warnings = []string{"a request ends with its last chunk that has content: usage and [DONE] are not in " + recordsFormat}
		return run
	}
	m.Import.Format = rawFormat
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

// source is the source of both files.
type source struct {
	resultfile.Values
	raw    bool
	record fileRecord
	// streaming reports whether the run streamed; nil if the first record does not
	// tell.
	streaming *bool
	self      resultfile.SelfCheck
	totals    *fileTotals // nil without a summary
	file      *resultfile.File
}

func (s *source) Where() string { return fmt.Sprintf("record %d", s.Index-1) }

// Next implements resultfile.Source.
func (s *source) Next(r *export.Request) (int, error) {
	v, err := s.Values.Next("a record")
	if err != nil {
		return 0, err
	}
	s.record = fileRecord{}
	if err := resultfile.Decode(v, &s.record); err != nil {
		return 0, resultfile.TypeError(s.At, err)
	}
	m := &s.record.Metadata
	if m.RequestStartNS == 0 {
		return 0, &resultfile.BadEntry{At: s.At, Msg: "request_start_ns is missing"}
	}
	r.ID, r.SessionID, r.Turn = m.SessionNum, m.CorrelationID, m.TurnIndex
	if m.RootID != "" && m.RootID != m.CorrelationID { // a sub-agent, whose session is the tree
		r.SessionID, r.Agent, r.Depth = m.RootID, m.CorrelationID, max(m.Depth, 1)
		if m.ParentID != m.RootID {
			r.ParentAgent = m.ParentID
		}
	}
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
			r.Message = resultfile.Message(e.Message)
		}
	case e != nil:
		code := 0
		if e.Code != nil {
			code = *e.Code
		}
		resultfile.Fail(r, code, e.Type+": "+e.Message)
		r.Message = resultfile.Message(e.Message)
		r.FailedNS = m.RequestEndNS
	case m.ContextOverflow:
		r.Status, r.Message, r.FailedNS = export.StatusFailed, "the request was longer than the context of the model", m.RequestEndNS
	}
	if e := s.record.Error; e != nil && e.Type != "" {
		r.Stated = &export.Stated{ErrorType: e.Type, ErrorCause: resultfile.Message(e.Cause), ErrorChain: e.CauseChain}
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
func (s *source) responses(r *export.Request) error {
	x := &s.record
	if r.Status == export.StatusOK && x.Status >= 300 {
		resultfile.Fail(r, x.Status, "")
	}
	if len(x.Payload) > 0 {
		r.Inputs = resultfile.Payload(x.Payload)
	}
	r.NoOutputs = false
	if x.StartPerfNS == nil {
		return &resultfile.BadEntry{At: s.At, Msg: "start_perf_ns is missing"}
	}
	before := uint64(0)
	for i := range x.Responses {
		p := &x.Responses[i]
		if p.PerfNS < *x.StartPerfNS {
			return &resultfile.BadEntry{At: s.At, Msg: "perf_ns of a response is before start_perf_ns", Excluded: r.Excluded() != export.NotExcluded}
		}
		outputs, done := p.outputs()
		resultfile.Respond(r, r.StartNS+p.PerfNS-*x.StartPerfNS, outputs)
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
func (p *fileResponse) outputs() (f export.Fields, done bool) {
	if p.Packets == nil {
		if p.Text == nil {
			return export.Fields{}, false
		}
		return resultfile.Body(*p.Text), false
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
	return resultfile.Body(b.String() + "\n"), done
}

// metrics fills in the metrics of the file of records.
func (s *source) metrics(r *export.Request) error {
	m := fileMetrics{s.record.Metrics, nil}
	r.DNS, r.Connect = m.span("http_req_dns_lookup"), m.span("http_req_connecting")
	if v, ok := m.number("http_req_connection_reused"); ok {
		r.Reused = v != 0
	}
	st := r.Stated
	if st == nil {
		st = new(export.Stated)
	}
	st.InputTokens = m.count("usage_prompt_tokens", "input_sequence_length")
	st.OutputTokens = m.count("usage_completion_tokens", "output_sequence_length")
	st.ReasoningTokens = m.count("usage_reasoning_tokens", "reasoning_token_count")
	st.CachedTokens = m.count("usage_prompt_cache_read_tokens")
	if in := m.count("input_sequence_length"); in != nil && (*in != *st.InputTokens || !m.has("usage_prompt_tokens")) {
		st.CountedInput = in
	}
	if out := m.count("output_sequence_length"); out != nil && (*out != *st.OutputTokens || !m.has("usage_completion_tokens")) {
		st.CountedOutput = out
	}
	st.Figures = m.figures()
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
		resultfile.Respond(r, at, nil)
		for _, gap := range m.list(chunkGap) {
			if at += gap; at-r.StartNS > math.MaxInt64 { // before it is past the end of uint64
				return &resultfile.BadEntry{At: s.At, Msg: "inter_chunk_latency: the gaps of the request add up to more than 292 years", Excluded: r.Excluded() != export.NotExcluded}
			}
			resultfile.Respond(r, at, nil)
		}
		if !m.has(chunkGap) && answered && whole > first { // the last, then
			resultfile.Respond(r, r.StartNS+whole, nil)
		}
	case answered:
		resultfile.Respond(r, r.StartNS+whole, nil)
	}
	if n := len(r.Responses); n > 0 && r.Stated != nil && r.Status == export.StatusOK && s.record.Metadata.RequestEndNS > r.Responses[n-1].RecvNS {
		r.Stated.EndNS = new(s.record.Metadata.RequestEndNS)
	}
	if m.bad != nil {
		m.bad.At, m.bad.Excluded = s.At, r.Excluded() != export.NotExcluded
		return m.bad
	}
	if r.Status == export.StatusOK && streamed {
		s.self.At = s.Where()
		m.compare(&s.self)
	}
	return nil
}

// Check sets c to the comparison of the metrics within each record, and of the summary with
// all records.
func (s *source) Check(c *resultfile.SelfCheck) {
	*c = s.self
	if s.totals != nil {
		s.totals.compare(c)
		if !s.raw { // which does not say which chunk is the last with content
			s.totals.compareRates(c)
		}
		s.totals.stored.Rest(c)
	}
}

// compare computes the metrics that follow from other metrics of the record, and compares
// them.
func (m *fileMetrics) compare(c *resultfile.SelfCheck) {
	get := func(tag string) float64 {
		v, ok := m.number(tag)
		if !ok {
			return math.NaN()
		}
		return v * m.scale(tag)
	}
	ttft, latency := get("time_to_first_token"), get("request_latency")
	in, out := get("input_sequence_length"), get("output_sequence_length")
	gaps := resultfile.Sample{ttft}
	var list []float64
	if json.Unmarshal(m.all[chunkGap].Value, &list) == nil {
		for _, gap := range list {
			gaps = append(gaps, gap*m.scale(chunkGap))
		}
	} else if latency != ttft {
		gaps = resultfile.Sample{math.NaN()} // not known
	}
	perToken := (latency - ttft) / (out - 1)
	for _, f := range []struct {
		tag      string
		computed float64
	}{
		{"request_latency", gaps.Sum()},
		{"decode_duration", latency - ttft},
		{"inter_token_latency", perToken},
		{"output_token_throughput_per_user", 1e3 / perToken},
		{"e2e_output_token_throughput", out / latency * 1e3},
		{"prefill_throughput_per_user", in / ttft * 1e3},
	} {
		if v, ok := m.number(f.tag); ok && !math.IsNaN(f.computed) {
			c.Figure(f.tag, v, f.computed/m.scale(f.tag))
		}
	}
}

// fileMetrics are the metrics of one record. A value that is not a number is bad.
type fileMetrics struct {
	all map[string]fileMetric
	bad *resultfile.BadEntry
}

func (m *fileMetrics) wrong(tag string) {
	if m.bad == nil {
		m.bad = &resultfile.BadEntry{Msg: fmt.Sprintf("metric %q: expected a number in milliseconds, tokens or as a ratio, found %.40q", tag, m.all[tag].Value)}
	}
}

// has reports whether the record has the metric.
func (m *fileMetrics) has(tag string) bool {
	_, ok := m.all[tag]
	return ok
}

// number returns the value of a metric; ok is false if it is missing or no number.
func (m *fileMetrics) number(tag string) (v float64, ok bool) {
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
func (m *fileMetrics) figures() map[string]float64 {
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
func (m *fileMetrics) span(tag string) time.Duration {
	ns, _ := m.ns(tag)
	return time.Duration(ns)
}

// unitsInMS gives the length of each unit of time in milliseconds.
var unitsInMS = map[string]float64{"ns": 1e-6, "us": 1e-3, "ms": 1, "sec": 1e3, "s": 1e3}

// scale returns the length of the metric's unit in milliseconds; 1 for a metric that is no time.
func (m *fileMetrics) scale(tag string) float64 {
	if scale, known := unitsInMS[m.all[tag].Unit]; known {
		return scale
	}
	return 1
}

// ns returns a metric as a duration in nanoseconds; ok is false if it is missing or bad.
func (m *fileMetrics) ns(tag string) (ns uint64, ok bool) {
	v, ok := m.number(tag)
	if !ok {
		return 0, false
	}
	return m.convert(tag, v)
}

func (m *fileMetrics) convert(tag string, v float64) (ns uint64, ok bool) {
	if scale, known := unitsInMS[m.all[tag].Unit]; known {
		if scale != 1 {
			v *= scale
		}
		ns, ok = resultfile.Milliseconds(v)
	}
	if !ok {
		m.wrong(tag)
	}
	return ns, ok
}

// list returns the elements of a metric as durations in nanoseconds.
func (m *fileMetrics) list(tag string) []uint64 {
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
func (m *fileMetrics) count(tags ...string) *int64 {
	i := slices.IndexFunc(tags, func(tag string) bool { _, ok := m.number(tag); return ok })
	if i < 0 {
		return nil
	}
	v, _ := m.number(tags[i])
	if v < 0 || v > 1<<53 || v != float64(int64(v)) {
		m.wrong(tags[i])
		return nil
	}
	return new(int64(v))
}

// countInRequests matches the number of requests in a summary of AIPerf. GenAI-Perf gives it the unit
// "count".
var countInRequests = regexp.MustCompile(`"request_count"\s*:\s*\{\s*"unit"\s*:\s*"requests"`)

// filesBeside lists the files that AIPerf writes beside its records.
func filesBeside() []resultfile.Neighbour {
	type outline = *resultfile.Outline
	return resultfile.Neighbours("AIPerf", "profile_export.jsonl or profile_export_raw.jsonl from the same folder", []resultfile.Neighbour{
		{What: "server_metrics_export.json", Holds: "the metrics of the server", Is: func(o outline) bool { return o.Has("aiperf_version", "metrics_phase") }},
		{What: "profile_export_aiperf_timeslices.json", Holds: "statistics over slices of time", Is: func(o outline) bool {
			return o.HasElement("timeslices", "start_ns") || o.HasElement("timeslices", "timeslice_index")
		}},
		{What: "inputs.json", Holds: "what was sent", Is: func(o outline) bool { return o.HasElement("data", "session_id", "payloads") }},
		{What: "outputs.json", Holds: "texts without the times of their tokens", Is: func(o outline) bool { return o.HasElement("data", "session_num", "conversation_id") }},
		{What: "a marker of AIPerf (.aiperf_results_ready.json)", Holds: "whether a run is complete", Is: func(o outline) bool {
			return o.Has("ready", "was_cancelled", "partial") || o.Only("processing")
		}},
		{What: "phase_manifest.json", Holds: "what the phases of a run wrote", Is: func(o outline) bool { return o.HasElement("phases", "phase_index") }},
		{What: "gpu_telemetry_export.jsonl", Holds: "the telemetry of GPUs", Is: func(o outline) bool { return o.Has("timestamp_ns", "telemetry_data") }},
		{What: "server_metrics_export.jsonl", Holds: "the metrics of the server", Is: func(o outline) bool { return o.Has("endpoint_url", "timestamp_ns", "endpoint_latency_ns") }},
		{What: "profile_export_network_latency.jsonl", Holds: "round trips of the network", Is: func(o outline) bool { return o.Has("timestamp_ns", "target_url", "rtt_ns") }},
		// Before 0.5 its version is behind the statistics, or missing.
		{What: "profile_export_aiperf.json", Holds: "statistics", Is: func(o outline) bool { return !o.Array && countInRequests.Match(o.Head) }},
		{What: "profile_export_aiperf.csv", Holds: "statistics", Is: func(o outline) bool {
			return bytes.HasPrefix(o.Head, []byte("Metric,avg,min,max,sum,p1,p5,p10,p25,p50,p75,p90,p95,p99,std"))
		}},
	})
}
