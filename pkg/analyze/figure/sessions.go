package figure

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/pkg/analyze/summary"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// A SessionsConfig holds the parameters of the figures of [Sessions].
type SessionsConfig struct {
	// GPUs is the number of GPUs that served the run; 0 takes the number in the telemetry.
	GPUs int
	// Encode appends the tokens of a text, for the possible hits of the prefix cache; nil leaves them n/a. It is safe for
	// concurrent use.
	Encode func(dst []uint32, text []byte) ([]uint32, error)
	// CacheBlock is the number of tokens of a block; 0 means DefaultCacheBlock.
	CacheBlock int
	// CacheTokens is the size of a limited cache; 0 leaves out its figure.
	CacheTokens int64
	// WithoutAnswers says that only prompts fill the cache, and answers do not.
	WithoutAnswers bool
	// Trees asks for Sessions.Trees, OnlyTrees for nothing else, so that no prompt is read.
	Trees, OnlyTrees bool
}

// DefaultCacheBlock is the default of [SessionsConfig.CacheBlock], vLLM's.
const DefaultCacheBlock = 16

// Block returns the number of tokens of a block.
func (c *SessionsConfig) Block() int { return cmp.Or(c.CacheBlock, DefaultCacheBlock) }

// Sessions says how long the sessions of a level took as wholes: conversations, or agents with their sub-agents.
type Sessions struct {
	Config SessionsConfig
	// Span is the measured time; it is empty if it is not known.
	Span Span
	// Requests counts the requests that belong to a session, of any phase and outcome; Single counts the others.
	Requests, Single int
	// Finished sessions ended in Span, and their last requests succeeded. Failed ones end with a failed request. Cut ones had
	// a request in flight when the run ended, or end after Span. Outside ones ended before Span. Figures are of the
	// finished ones.
	Finished, Failed, Cut, Outside int
	// BegunBefore counts the finished sessions that began before Span.
	BegunBefore int
	// Unfinished counts the sessions among the finished ones that the end of the run cut between two requests: more look
	// finished than the recorder has counted. Jobs per hour leave them out; which ones they are is not known.
	Unfinished int
	// GPUs is the number of GPUs, 0 if it is not known.
	GPUs int
	// Figures holds the figures that sessionFigures lists, without the ones that were not asked for.
	Figures []Figure
	// Depths describes the sessions, and the agents at each depth below their roots.
	Depths []SessionDepth
	// Turns describes the requests by their turn.
	Turns []SessionTurn
	// InFlight says how many sessions were between their first send and their last end over time; nil if Span is empty.
	InFlight *SessionsInFlight
	// List holds the first mostListed sessions in the order of their starts.
	List []Session
	// Trees holds the slowest sessions and a sample of the others, with their requests, in the order of their starts; nil unless
	// Config.Trees asks for it.
	Trees []SessionTree
	// Jobs holds the finished sessions in the order of their starts.
	Jobs []Job
	// Cache says what a prefix cache could have held.
	Cache PossibleCache
}

// A Job is a finished session. Times are nanoseconds.
type Job struct {
	ID              string
	TimeNS, ModelNS int64
}

// mostListed bounds Sessions.List.
const mostListed = 1000

// A SessionState says how a session ended.
type SessionState string

// The states of sessions. The texts are written to files.
const (
	SessionFinished SessionState = "finished"
	SessionFailed   SessionState = "failed"
	SessionCut      SessionState = "cut"
	SessionOutside  SessionState = "ended_before"
)

// A Session holds the figures of a session, or of an agent with its sub-agents. Times are nanoseconds.
type Session struct {
	ID     string
	State  SessionState
	Span   Span // from the first send to the last end
	Agents int  // agents that sent requests
	Depth  int  // of the deepest agent
	Turns  int  // requests
	// JobNS is the length of Span; ModelNS the time with a request in flight; RequestNS the sum of the times of the requests.
	JobNS, ModelNS, RequestNS int64
	// WaitNS is the sum of the TTFT, and NormalizedNS of the normalized times of the requests. They and the tokens are
	// missing if a successful request lacks its part.
	WaitNS, NormalizedNS      export.Int
	InputTokens, OutputTokens export.Int
	// CachedTokens are as the server states them, PossibleTokens the ones that a prefix cache could have held.
	CachedTokens, PossibleTokens export.Int
	notFixed                     bool // a request asks for no length
}

// ToolNS returns the time without a request in flight: tools, users, and the client.
func (s *Session) ToolNS() int64 { return s.JobNS - s.ModelNS }

// A SessionDepth describes finished sessions (depth 0), or the agents at a depth below their roots, each with its sub-agents.
type SessionDepth struct {
	Depth, N int
	Values   Summaries // in the order of SessionValues; without the ones that no session has
}

// Summaries describe values of sessions, or metrics of requests, by their keys.
type Summaries []KeyedSummary

// A KeyedSummary describes the values of a key.
type KeyedSummary struct {
	Key, Unit string
	*summary.Summary
}

// Value returns the summary with a key; nil if there is none.
func (all Summaries) Value(key string) *summary.Summary {
	for i := range all {
		if all[i].Key == key {
			return all[i].Summary
		}
	}
	return nil
}

// A SessionValue is a value that each session has, or lacks.
type SessionValue struct {
	Key, Unit string
	of        func(s *Session) export.Int
}

// Of returns the value of a session.
func (v *SessionValue) Of(s *Session) export.Int { return v.of(s) }

// SessionValues are the values of sessions, in the order of a report.
var SessionValues = [...]SessionValue{
	{"job_time_ns", "ns", func(s *Session) export.Int { return export.IntOf(s.JobNS) }},
	{"model_time_ns", "ns", func(s *Session) export.Int { return export.IntOf(s.ModelNS) }},
	{"tool_time_ns", "ns", func(s *Session) export.Int { return export.IntOf(s.ToolNS()) }},
	{"request_time_ns", "ns", func(s *Session) export.Int { return export.IntOf(s.RequestNS) }},
	{"server_wait_ns", "ns", func(s *Session) export.Int { return s.WaitNS }},
	{"normalized_model_time_ns", "ns", func(s *Session) export.Int { return s.NormalizedNS }},
	{"session_turns", "count", func(s *Session) export.Int { return export.IntOf(int64(s.Turns)) }},
	{"session_input_tokens", "tokens", func(s *Session) export.Int { return s.InputTokens }},
	{"session_output_tokens", "tokens", func(s *Session) export.Int { return s.OutputTokens }},
}

// SessionsInFlight counts sessions over time.
type SessionsInFlight struct {
	Mean  float64 // over Span
	Most  int
	Means []float64 // of equal parts of Span
}

// inFlightParts is the number of parts of SessionsInFlight.Means.
const inFlightParts = 60

// The keys of the figures.
const (
	KeyJobsPerHour        = "jobs_per_hour"
	KeyJobsPerHourUser    = "jobs_per_hour_per_user"
	KeyJobsPerHourGPU     = "jobs_per_hour_per_gpu"
	KeyJobTime            = "mean_job_time_ns"
	KeyModelTime          = "mean_model_time_ns"
	KeyToolTime           = "mean_tool_time_ns"
	KeyServerWait         = "mean_server_wait_ns"
	KeyNormalizedTime     = "mean_normalized_model_time_ns"
	KeySessionsInFlight   = "mean_sessions_in_flight"
	KeyPossibleHitRate    = "possible_hit_rate"
	KeyPossibleBlockRate  = "possible_hit_rate_blocks"
	KeyPossibleLimitedHit = "possible_hit_rate_limited"
	KeyMeasuredHitRate    = "measured_hit_rate"
	KeyHitRateGap         = "hit_rate_gap"
)

// sessionFigures are the figures of [Sessions] without values, in the order of a report.
var sessionFigures = [...]Figure{
	{Key: KeyJobsPerHour, Label: "jobs per hour", Unit: "1/h", Formula: "3600 · sessions that finished in the measured time / its seconds", Source: "TensorRT-LLM, blog 27"},
	{Key: KeyJobsPerHourUser, Label: "jobs per hour and user", Unit: "1/h", Formula: "3600 / mean job time in seconds", Source: "TensorRT-LLM, blog 27"},
	{Key: KeyJobsPerHourGPU, Label: "jobs per hour and GPU", Unit: "1/h", Formula: "jobs per hour / GPUs", Source: "TensorRT-LLM, blog 27"},
	{Key: KeyJobTime, Label: "mean job time", Unit: "ns", Formula: "mean over finished sessions of last end − first send"},
	{Key: KeyModelTime, Label: "mean model time", Unit: "ns", Formula: "mean over finished sessions of the time with a request in flight"},
	{Key: KeyToolTime, Label: "mean tool time", Unit: "ns", Formula: "mean over finished sessions of job time − model time"},
	{Key: KeyServerWait, Label: "mean wait for the server", Unit: "ns", Formula: "mean over finished sessions of Σ TTFT"},
	{Key: KeyNormalizedTime, Label: "mean normalized model time", Unit: "ns", Formula: "mean over finished sessions of Σ (TTFT + (E2EL − TTFT) · (asked output tokens − 1) / (output tokens − 1))", Source: "AA-AgentPerf"},
	{Key: KeySessionsInFlight, Label: "mean sessions in flight", Unit: "count", Formula: "Σ over sessions of their time in the measured time / its length"},
	{Key: KeyPossibleHitRate, Label: "possible prefix-cache hit rate", Unit: "ratio", Formula: "Σ longest common beginning with an earlier request that had ended / Σ tokens of prompts"},
	{Key: KeyPossibleBlockRate, Label: "possible hit rate in whole blocks", Unit: "ratio", Formula: "Σ longest common beginning in whole blocks / Σ tokens of prompts"},
	{Key: KeyPossibleLimitedHit, Label: "possible hit rate of the limited cache", Unit: "ratio", Formula: "Σ beginning in whole blocks that a cache of --cache-tokens holds, least recently used out first / Σ tokens of prompts"},
	{Key: KeyMeasuredHitRate, Label: "measured hit rate of these requests", Unit: "ratio", Formula: "Σ cached / Σ input tokens, of requests whose answers state both and whose prompts are known"},
	{Key: KeyHitRateGap, Label: "possible − measured hit rate", Unit: "ratio", Formula: "possible hit rate − measured hit rate, of the same requests"},
}

// A SessionRequest is what Sessions needs of a request.
type SessionRequest struct {
	Session, Agent, ParentAgent string
	Depth, Turn                 int
	StartNS, EndNS              uint64
	// Counted says that the request is in the metrics of its level; Succeeded that it was answered in full, in any phase; Cancelled
	// that it was given up when the run ended.
	Counted, Succeeded, Cancelled bool
	TTFT, E2EL                    export.Int
	Input, Cached, Output         export.Int
	Fixed                         export.Int // see [answer.Prompt.FixedOutput]
	Prompt                        PromptPath
}

// A sessionRequest is a SessionRequest that is kept. Names are indexes.
type sessionRequest struct {
	session, agent, parent int32 // session is −1 for none
	depth, turn            int32
	start, end             uint64

	counted, succeeded, cancelled                  bool
	ttft, e2el, input, cached, output, fixedOutput int64 // export.Missing
	promptRequest
}

// A SessionCollector gathers the requests of a level for [Sessions]. It keeps about 150 bytes for each request, and the names
// of the sessions.
type SessionCollector struct {
	cfg      *SessionsConfig
	single   int // requests without a session that are not in requests
	requests []sessionRequest
	names    []string
	number   map[string]int32
	turns    turnCollector
}

// NewSessionCollector returns a collector. Its values share memory.
func NewSessionCollector(cfg *SessionsConfig, memory *stat.Store) *SessionCollector {
	return &SessionCollector{cfg: cfg, number: map[string]int32{}, turns: turnCollector{memory: memory}}
}

// Add adds a request of any phase and outcome.
func (c *SessionCollector) Add(r *SessionRequest) {
	x := sessionRequest{
		session: -1, start: r.StartNS, end: r.EndNS, counted: r.Counted, succeeded: r.Succeeded, cancelled: r.Cancelled,
		ttft: r.TTFT.OrMissing(), e2el: r.E2EL.OrMissing(), input: r.Input.OrMissing(), cached: r.Cached.OrMissing(), output: r.Output.OrMissing(), fixedOutput: r.Fixed.OrMissing(),
		promptRequest: promptRequest{path: r.Prompt},
	}
	if r.Session == "" && c.cfg.Encode == nil { // nothing but the possible hits needs the request
		c.single++
		return
	}
	if r.Session != "" {
		x.session, x.agent, x.parent, x.depth, x.turn = c.name(r.Session), c.name(r.Agent), c.name(r.ParentAgent), int32(max(0, min(r.Depth, mostDepth))), int32(r.Turn) //nolint:gosec // a turn that does not fit is of a damaged file
	}
	c.requests = append(c.requests, x)
}

// name returns the index of a name.
func (c *SessionCollector) name(s string) int32 {
	i, ok := c.number[s]
	if !ok {
		i = int32(len(c.names)) //nolint:gosec // fewer than requests
		s = string([]byte(s))
		c.names, c.number[s] = append(c.names, s), i
	}
	return i
}

// AddTurn adds a request that counts in the part of the level that is reported.
func (c *SessionCollector) AddTurn(q *answer.Measured, turn int) {
	if !c.cfg.OnlyTrees {
		c.turns.add(q, turn)
	}
}

// Finish returns the figures of the level x, which has its duration; span is the measured time. in reports whether a
// request that started at a time belongs to the part that is reported. counts are the recorder's, of a whole level; nil for none.
// cache is of the whole run.
func (c *SessionCollector) Finish(x *Level, run *export.Run, span Span, in func(startNS uint64) bool, counts *export.SessionCounts, cache *PromptCache) (*Sessions, error) {
	s := &Sessions{Config: *c.cfg, Span: span, Figures: slices.Clone(sessionFigures[:])}
	if c.cfg.CacheTokens == 0 {
		s.Figures = slices.DeleteFunc(s.Figures, func(f Figure) bool { return f.Key == KeyPossibleLimitedHit })
	}
	trees, single := c.trees()
	s.Requests, s.Single = len(c.requests)-single, c.single+single
	var finished []*sessionTree
	for _, t := range trees {
		t.whole = unitOf(t.requests)
		t.whole.ID, t.whole.State = c.names[t.requests[0].session], t.state(span)
		switch t.whole.State {
		case SessionFinished:
			s.Finished++
			if t.whole.Span.FromNS < span.FromNS {
				s.BegunBefore++
			}
			finished = append(finished, t)
			s.Jobs = append(s.Jobs, Job{t.whole.ID, t.whole.JobNS, t.whole.ModelNS})
		case SessionFailed:
			s.Failed++
		case SessionCut:
			s.Cut++
		case SessionOutside:
			s.Outside++
		}
		if len(s.List) < mostListed {
			s.List = append(s.List, t.whole)
		}
	}
	if c.cfg.Trees || c.cfg.OnlyTrees {
		s.Trees = c.drawn(trees, len(run.Experiments))
	}
	if counts != nil {
		s.Unfinished = max(0, s.Finished-counts.Completed)
	}
	s.Depths = depthsOf(finished)
	s.InFlight = inFlight(trees, span)
	var err error
	s.Turns, err = c.turns.finish()
	s.setTimes(x, run, finished)
	s.Cache = cache.pool(c.requests, in, run)
	s.setHits()
	return s, err
}

// Figure returns the figure with a key; nil if there is none.
func (s *Sessions) Figure(key string) *Figure { return Find(s.Figures, key) }

// set gives a figure a value, or the reason why it has none.
func (s *Sessions) set(key string, value float64, why string) {
	f := s.Figure(key)
	if f == nil {
		return
	}
	if f.Value, f.Why = value, why; why != "" {
		f.Value = 0
	}
}

// setTimes sets the figures of the times of sessions.
func (s *Sessions) setTimes(x *Level, run *export.Run, finished []*sessionTree) {
	why := ""
	switch {
	case s.Requests == 0:
		why = withoutSessions(run)
	case s.Finished == 0:
		why = "no session finished"
	}
	seconds := float64(x.DurationNS) / 1e9
	switch {
	case why != "" && s.Requests == 0:
		s.set(KeyJobsPerHour, 0, why)
	case seconds <= 0:
		s.set(KeyJobsPerHour, 0, cmp.Or(x.WhyNot("throughput"), withoutDuration(run)))
	default:
		s.set(KeyJobsPerHour, 3600*float64(s.Finished-s.Unfinished)/seconds, "")
	}
	var whole *SessionDepth
	if len(s.Depths) > 0 {
		whole = &s.Depths[0]
	}
	for _, f := range [...]struct{ key, value, without string }{
		{KeyJobTime, "job_time_ns", ""},
		{KeyModelTime, "model_time_ns", ""},
		{KeyToolTime, "tool_time_ns", ""},
		{KeyServerWait, "server_wait_ns", cmp.Or(x.WhyNot(answer.TTFT.Key()), "each session has a request without a TTFT")},
		{KeyNormalizedTime, "normalized_model_time_ns", withoutNormalizedTime(finished)},
	} {
		var values *summary.Summary
		if whole != nil {
			values = whole.Values.Value(f.value)
		}
		if values == nil {
			s.set(f.key, 0, cmp.Or(why, f.without))
			continue
		}
		s.set(f.key, values.Mean, "")
	}
	if mean := s.Figure(KeyJobTime); mean.Why != "" || mean.Value <= 0 {
		s.set(KeyJobsPerHourUser, 0, cmp.Or(mean.Why, "the sessions took no time"))
	} else {
		s.set(KeyJobsPerHourUser, 3600e9/mean.Value, "")
	}
	s.SetGPUs(s.Config.GPUs)
	switch {
	case s.Requests == 0:
		s.set(KeySessionsInFlight, 0, why)
	case s.InFlight == nil:
		s.set(KeySessionsInFlight, 0, cmp.Or(x.WhyNot("throughput"), withoutDuration(run)))
	default:
		s.set(KeySessionsInFlight, s.InFlight.Mean, "")
	}
}

// SetGPUs sets the figure that needs the number of GPUs; Config.GPUs precedes n, the number in the telemetry.
func (s *Sessions) SetGPUs(n int) {
	s.GPUs = cmp.Or(s.Config.GPUs, n)
	jobs := s.Figure(KeyJobsPerHour)
	switch {
	case jobs.Why != "":
		s.set(KeyJobsPerHourGPU, 0, jobs.Why)
	case s.GPUs == 0:
		s.set(KeyJobsPerHourGPU, 0, noGPUs)
	default:
		s.set(KeyJobsPerHourGPU, jobs.Value/float64(s.GPUs), "")
	}
}

// dropRates removes the figures that need the measured time, and says why.
func (s *Sessions) dropRates(why string) {
	for _, key := range [...]string{KeyJobsPerHour, KeyJobsPerHourGPU, KeySessionsInFlight} {
		s.set(key, 0, why)
	}
	s.InFlight = nil
}

// withoutSessions returns why no request of a run belongs to a session.
func withoutSessions(run *export.Run) string {
	if m := run.Meta; m != nil && m.Import != nil && m.Import.Format != "" {
		return "no request of " + m.Import.Format + " names a session"
	}
	return "no request names a session (session_id)"
}

// withoutNormalizedTime returns why no session has a normalized time.
func withoutNormalizedTime(finished []*sessionTree) string {
	for _, t := range finished {
		if !t.whole.notFixed {
			return "a request of each session lacks a TTFT, or more than one output token"
		}
	}
	return "the requests do not say how long the recorded answers were (max_tokens with ignore_eos, or min_tokens)"
}

// A sessionTree is one play of a session.
type sessionTree struct {
	requests []*sessionRequest // in the order of their starts
	whole    Session
}

// trees divides the requests into sessions, in the order of their starts. single counts the requests without one.
//
// A data set that is sent again has sessions of the same names: a turn that an agent of the session has sent already begins
// a new session.
func (c *SessionCollector) trees() (all []*sessionTree, single int) {
	order := make([]*sessionRequest, 0, len(c.requests))
	for i := range c.requests {
		if c.requests[i].session < 0 {
			single++
			continue
		}
		order = append(order, &c.requests[i])
	}
	slices.SortStableFunc(order, func(a, b *sessionRequest) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.turn, b.turn), cmp.Compare(a.end, b.end))
	})
	type turn struct{ agent, turn int32 }
	type play struct {
		tree *sessionTree
		sent map[turn]bool
	}
	latest := map[int32]*play{}
	for _, r := range order {
		p, t := latest[r.session], turn{r.agent, r.turn}
		if p == nil || p.sent[t] {
			p = &play{&sessionTree{}, map[turn]bool{}}
			latest[r.session] = p
			all = append(all, p.tree)
		}
		p.sent[t] = true
		p.tree.requests = append(p.tree.requests, r)
	}
	return all, single
}

// state says how the session ended. span is empty if the measured time is not known.
func (t *sessionTree) state(span Span) SessionState {
	last := map[int32]*sessionRequest{} // of each agent
	for _, r := range t.requests {
		if r.cancelled {
			return SessionCut
		}
		if l := last[r.agent]; l == nil || r.end >= l.end {
			last[r.agent] = r
		}
	}
	for _, r := range last {
		if !r.succeeded {
			return SessionFailed
		}
	}
	switch end := t.whole.Span.ToNS; {
	case span == Span{}:
	case end > span.ToNS:
		return SessionCut
	case end < span.FromNS:
		return SessionOutside
	}
	return SessionFinished
}

// unitOf returns the figures of requests, which are in the order of their starts.
func unitOf(requests []*sessionRequest) Session {
	s := Session{WaitNS: export.IntOf(0), NormalizedNS: export.IntOf(0), InputTokens: export.IntOf(0), OutputTokens: export.IntOf(0), CachedTokens: export.IntOf(0), PossibleTokens: export.IntOf(0)}
	agents := map[int32]bool{}
	var until uint64 // the latest end so far
	for _, r := range requests {
		agents[r.agent] = true
		s.Turns++
		s.Depth = max(s.Depth, int(r.depth))
		if s.Span.FromNS == 0 || r.start < s.Span.FromNS {
			s.Span.FromNS = r.start
		}
		end := max(r.end, r.start)
		s.RequestNS += int64(end - r.start)
		if from := max(until, r.start); end > from {
			s.ModelNS += int64(end - from)
		}
		until = max(until, end)
		if !r.succeeded {
			continue
		}
		plus(&s.WaitNS, r.ttft)
		plus(&s.InputTokens, r.input)
		plus(&s.OutputTokens, r.output)
		plus(&s.CachedTokens, r.cached)
		plus(&s.PossibleTokens, r.possible())
		plus(&s.NormalizedNS, r.normalized())
		s.notFixed = s.notFixed || r.fixedOutput == export.Missing
	}
	s.Span.ToNS = until
	s.Agents = len(agents)
	s.JobNS = int64(s.Span.Duration())
	return s
}

// plus adds a number to a sum, which is missing if a number is.
func plus(sum *export.Int, v int64) {
	if v == export.Missing || !sum.OK {
		*sum = export.Int{}
		return
	}
	sum.V += v
}

// normalized returns the time that the request would have taken with an answer of the asked length; export.Missing if that
// is not known.
func (r *sessionRequest) normalized() int64 {
	switch {
	case r.fixedOutput == export.Missing || r.ttft == export.Missing || r.e2el == export.Missing || r.output == export.Missing:
		return export.Missing
	case r.fixedOutput == 1:
		return r.ttft
	case r.output <= 1:
		return export.Missing
	}
	return r.ttft + int64(math.Round(float64(r.e2el-r.ttft)*float64(r.fixedOutput-1)/float64(r.output-1)))
}

// depthsOf describes finished sessions, and the agents at each depth with their sub-agents.
func depthsOf(finished []*sessionTree) []SessionDepth {
	var units [][]Session
	for _, t := range finished {
		if units == nil {
			units = [][]Session{nil}
		}
		units[0] = append(units[0], t.whole)
		if t.whole.Depth == 0 {
			continue
		}
		for _, a := range t.agents() {
			for len(units) <= int(a.depth) {
				units = append(units, nil)
			}
			units[a.depth] = append(units[a.depth], unitOf(a.requests))
		}
	}
	var all []SessionDepth
	for depth, of := range units {
		if len(of) == 0 {
			continue
		}
		d := SessionDepth{Depth: depth, N: len(of)}
		for i := range SessionValues {
			v := &SessionValues[i]
			var sample summary.Sample[int64]
			for k := range of {
				if x := v.Of(&of[k]); x.OK {
					sample.AddOne(x.V)
				}
			}
			if values := sample.Summary(); values != nil {
				d.Values = append(d.Values, KeyedSummary{v.Key, v.Unit, values})
			}
		}
		all = append(all, d)
	}
	return all
}

// A sessionAgent is an agent below a root, with its requests and the ones of its sub-agents.
type sessionAgent struct {
	depth    int32
	requests []*sessionRequest
}

// mostDepth bounds the depth of agents that is told apart. A damaged file may have a ring of agents.
const mostDepth = 64

// agents returns the agents below the root, in the order of their starts.
func (t *sessionTree) agents() []*sessionAgent {
	var all []*sessionAgent
	of, parent := map[int32]*sessionAgent{}, map[int32]int32{}
	for _, r := range t.requests {
		if r.depth > 0 && of[r.agent] == nil {
			a := &sessionAgent{depth: r.depth}
			of[r.agent], parent[r.agent] = a, r.parent
			all = append(all, a)
		}
	}
	for _, r := range t.requests {
		above := int32(mostDepth + 1) // each agent stands above its sub-agents
		for agent := r.agent; of[agent] != nil && of[agent].depth < above; agent = parent[agent] {
			above = of[agent].depth
			of[agent].requests = append(of[agent].requests, r)
		}
	}
	return all
}

// inFlight counts the sessions over a span; nil for an empty one.
func inFlight(trees []*sessionTree, span Span) *SessionsInFlight {
	length := span.Duration()
	if length <= 0 {
		return nil
	}
	x := &SessionsInFlight{Means: make([]float64, inFlightParts)}
	part := float64(length) / inFlightParts
	type step struct {
		ns uint64
		by int
	}
	var steps []step
	for _, t := range trees {
		from, to := max(t.whole.Span.FromNS, span.FromNS), min(t.whole.Span.ToNS, span.ToNS)
		if from >= to {
			continue
		}
		steps = append(steps, step{from, 1}, step{to, -1})
		a, b := float64(from-span.FromNS), float64(to-span.FromNS)
		for i := int(a / part); i < inFlightParts && float64(i)*part < b; i++ {
			if overlap := min(b, float64(i+1)*part) - max(a, float64(i)*part); overlap > 0 {
				x.Means[i] += overlap / part
			}
		}
		x.Mean += float64(to-from) / float64(length)
	}
	slices.SortFunc(steps, func(a, b step) int { return cmp.Or(cmp.Compare(a.ns, b.ns), cmp.Compare(a.by, b.by)) })
	n := 0
	for _, s := range steps {
		n += s.by
		x.Most = max(x.Most, n)
	}
	return x
}

// A SessionTurn describes the requests of the turns From to To, counted from 0.
type SessionTurn struct {
	From, To int
	N        int
	Values   Summaries // in the order of TurnMetrics; without the ones that no request has
}

// keyUncachedTokens is the key of input tokens that the server had not cached.
const keyUncachedTokens = "uncached_input_tokens"

// TurnMetrics are the keys of the metrics by turn.
var TurnMetrics = [...]string{answer.TTFT.Key(), answer.ITL.Key(), answer.InputTokens.Key(), answer.CachedTokens.Key(), keyUncachedTokens, answer.OutputTokens.Key()}

// singleTurns is the number of turns that have a row of their own; the rows after them have twice as many turns each time.
const singleTurns = 32

// turnRow returns the row of a turn, and its turns.
func turnRow(turn int) (row, from, to int) {
	turn = max(turn, 0)
	if turn < singleTurns {
		return turn, turn, turn
	}
	row, from = singleTurns, singleTurns
	for to = 2*from - 1; turn > to; to = 2*from - 1 {
		row, from = row+1, 2*from
	}
	return row, from, to
}

// A turnCollector gathers the values of requests by turn.
type turnCollector struct {
	memory *stat.Store
	rows   []turnValues
}

type turnValues struct {
	n      int
	values [len(TurnMetrics)]summary.Sample[int64]
}

func (c *turnCollector) add(q *answer.Measured, turn int) {
	row, _, _ := turnRow(turn)
	for len(c.rows) <= row {
		c.rows = append(c.rows, turnValues{})
		for i := range c.rows[len(c.rows)-1].values {
			c.rows[len(c.rows)-1].values[i].Memory = c.memory
		}
	}
	r := &c.rows[row]
	r.n++
	for i, v := range [...]export.Int{0: q.TTFT, 2: q.InputTokens, 3: q.CachedTokens, 4: q.UncachedInput(), 5: q.OutputTokens} {
		if v.OK {
			r.values[i].AddOne(v.V)
		}
	}
	r.values[1].Add(q.Gaps...)
}

func (c *turnCollector) finish() (all []SessionTurn, err error) {
	from := 0
	for i := range c.rows {
		r := &c.rows[i]
		_, first, to := turnRow(from)
		from = to + 1
		if r.n == 0 {
			continue
		}
		t := SessionTurn{From: first, To: to, N: r.n}
		for k := range r.values {
			if s := r.values[k].Summary(); s != nil {
				unit := "tokens"
				if strings.HasSuffix(TurnMetrics[k], "_ns") {
					unit = string(answer.Nanoseconds)
				}
				t.Values = append(t.Values, KeyedSummary{TurnMetrics[k], unit, s})
			}
			if err == nil {
				err = r.values[k].Err
			}
		}
		all = append(all, t)
	}
	return all, err
}

// Ended counts the sessions by how they ended, in words: "3 finished, 1 failed".
func (s *Sessions) Ended() string {
	text := plural.Grouped(s.Finished) + " finished"
	for _, x := range [...]struct {
		n     int
		words string
	}{
		{s.Failed, "failed"}, {s.Cut, "cut by the end"}, {s.Outside, "ended before"},
	} {
		if x.n > 0 {
			text += fmt.Sprintf(", %s %s", plural.Grouped(x.n), x.words)
		}
	}
	if s.BegunBefore > 0 {
		text += fmt.Sprintf("; %s of the finished ones began before the measured time", plural.Grouped(s.BegunBefore))
	}
	if s.Unfinished > 0 {
		text += fmt.Sprintf("; by the recorder's count the end of the run cut %s of the finished ones between two requests", plural.Grouped(s.Unfinished))
	}
	return text
}
