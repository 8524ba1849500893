package guidellm

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/pa-tools/pa/internal/jsonscan"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/internal/resultfile"
)

// GuideLLM writes one document at the end of a run, with a benchmark for each
// load level:
//
//	{"metadata":{"version":2,"guidellm_version":V},"config":{…},"benchmarks":[
//	  {"config":{"strategy":{…},"backend":{…},…},…,"metrics":{…},
//	   "requests":{"successful":[R,…],"errored":[…],"incomplete":[…],"total":null}},…]}
//
// A request R has its times in info.timings, Unix seconds as floats: when it
// was sent, its first and its last token, its end, and how many iterations
// (events) lay between. Before 0.3 they were members of R itself.

const formatName = "GuideLLM benchmarks.json"

// ResultFile describes the files of GuideLLM.
func ResultFile() resultfile.Kind {
	return resultfile.Kind{Name: formatName, Sniff: sniff, Open: open, Stated: statements()}
}

func sniff(o *resultfile.Outline) bool {
	return !o.Array && (o.First == "metadata" && o.HasInner("guidellm_version") || o.Has("benchmarks"))
}

// fileGroups are the arrays of requests, in the order in which they are delivered:
// the requests that count come first.
var fileGroups = [...]string{"successful", "incomplete", "errored"}

// A fileBenchmark is one load level.
type fileBenchmark struct {
	groups [len(fileGroups)]int64 // offset of the '[', 0 for none
	// counts are the numbers of elements of the groups. whole reports that all groups were read
	// to their ends.
	counts [len(fileGroups)]int64
	whole  bool
	totals *fileTotals // stated numbers of requests; nil for none
	// metrics are the stated distributions that can be compared, by name. stated holds the names
	// of all metrics.
	metrics map[string]fileByStatus
	stated  []string
	rate    *float64      // stated mean of the requests per second
	seconds float64       // stated duration; 0 for none
	values  []requestStat // of the successful requests
}

// fileTotals are the numbers of requests of a benchmark, kept or not.
type fileTotals struct {
	Successful int64 `json:"successful"`
	Errored    int64 `json:"errored"`
}

// kept compares the number of requests that ended with the number that the file states. A request
// that the end of the run cut off is in no figure.
func (b *fileBenchmark) kept() resultfile.KeptLevel {
	k := resultfile.KeptLevel{Kept: b.counts[0] + b.counts[2], Stated: -1, Rate: math.NaN()}
	if b.rate != nil {
		k.Rate = *b.rate
	}
	latency := b.metrics["request_latency"].Successful
	switch {
	case !b.whole:
	case b.totals != nil:
		k.Stated = b.totals.Successful + b.totals.Errored
	case latency != nil: // of the successful ones
		k.Stated = int64(latency.Count) + b.counts[2]
	}
	return k
}

// open reads the file up to its first request.
func open(f *resultfile.File) (*export.Run, resultfile.Source, error) {
	c, err := f.Start()
	if err != nil {
		return nil, nil, err
	}
	s := &source{}
	run := &export.Run{Meta: &export.RunMeta{
		Schema: export.Schema, Tool: "GuideLLM", Streaming: new(true),
		Import: &export.Import{Format: formatName, Lacks: []export.Lack{
			{Part: export.PartGaps, Why: "GuideLLM keeps the times of the first and the last token of a request"},
			{Part: export.PartTexts, Why: "GuideLLM keeps the text of an answer as a whole"},
		}},
	}}
	switch err := s.outline(c, run); {
	case err != nil && !s.found():
		return nil, nil, err
	case err != nil: // the requests before it can be read
		s.end(err, run)
	case len(s.all) == 0:
		return nil, nil, fmt.Errorf("%s: is a file of %s without benchmarks: nothing was measured", f.Name, run.Meta.Tool)
	}
	c.Release()
	var kept []resultfile.KeptLevel
	var totals []export.StatedTotals
	for i := range run.Experiments {
		s.modes = append(s.modes, run.Experiments[i].Mode)
		kept, totals = append(kept, s.all[i].kept()), append(totals, s.all[i].statedTotals())
	}
	resultfile.LackRequests(run, kept)
	if s.tail == nil && s.keptNone() {
		return nil, nil, resultfile.NoRequests(fmt.Errorf("%s: the report of %s holds figures and keeps no requests; run guidellm with a sample size above 0 to keep them", f.Name, run.Meta.Tool))
	}
	resultfile.StateTotals(run, totals)
	s.c = f.Cursor(0, jsonscan.DefaultChunk)
	s.modelSent(run)
	return run, s, nil
}

// outline reads the document except its requests, and stores the positions of these.
func (s *source) outline(c *jsonscan.Cursor, run *export.Run) error {
	return resultfile.EachMember(c, "the document", func(name string) (err error) {
		switch name {
		case "metadata":
			err = s.metadata(c, run)
		case "benchmarks":
			err = s.benchmarks(c, run)
		default:
			err = resultfile.Skip(c)
		}
		return err
	})
}

// found reports whether requests were found so far.
func (s *source) found() bool {
	return slices.ContainsFunc(s.all, func(b fileBenchmark) bool { return b.groups != [len(fileGroups)]int64{} })
}

// keptNone reports whether the document keeps none of the requests that its levels had.
func (s *source) keptNone() bool {
	some := false
	for i := range s.all {
		b := &s.all[i]
		if b.counts != [len(fileGroups)]int64{} {
			return false
		}
		some = some || b.kept().Partial()
	}
	return some
}

// end stores the error that ended the document early. It drops the last benchmark if
// the document ended before the requests of that benchmark.
func (s *source) end(err error, run *export.Run) {
	last := len(s.all) - 1
	s.tail, s.tailAt = err, fmt.Sprintf("benchmark %d", last)
	if s.all[last].groups == [len(fileGroups)]int64{} {
		s.all, run.Experiments = s.all[:last], run.Experiments[:last]
	}
}

// source is the source of a document.
type source struct {
	c     *jsonscan.Cursor
	all   []fileBenchmark
	modes []string // of the levels
	// tail is the error that ended the document early, and tailAt its place. It
	// comes after all requests.
	tail     error
	tailAt   string
	ended    bool // tail was delivered
	elements int  // of the array of benchmarks
	// layout is the version of the report's schema, 0 before there was one.
	layout int

	benchmark, group, index int // of the next request
	open                    bool
	id                      uint64
}

func (s *source) Where() string {
	if s.ended {
		return s.tailAt
	}
	return fmt.Sprintf("benchmark %d, %s request %d", s.benchmark, fileGroups[min(s.group, len(fileGroups)-1)], max(s.index-1, 0))
}

// metadata reads the version of the tool.
func (s *source) metadata(c *jsonscan.Cursor, run *export.Run) error {
	at := c.Pos
	v, err := c.Value("metadata")
	if err != nil {
		return err
	}
	var m struct {
		Version  int    `json:"version"`
		GuideLLM string `json:"guidellm_version"`
	}
	if err := resultfile.Decode(v, &m); err != nil {
		return c.Syntax(at, "metadata: %v", err)
	}
	s.layout = m.Version
	if m.GuideLLM != "" {
		run.Meta.Tool += " " + m.GuideLLM
	}
	return nil
}

// benchmarks reads the list of benchmarks: an experiment for each, with its settings.
func (s *source) benchmarks(c *jsonscan.Cursor, run *export.Run) error {
	if err := resultfile.Enter(c, '[', "benchmarks"); err != nil {
		return err
	}
	for first := true; ; first = false {
		more, err := c.Elem(first)
		if err != nil || !more {
			return err
		}
		switch b, err := c.Peek(); {
		case err != nil:
			return err
		case b != '{':
			run.Meta.Warnings = append(run.Meta.Warnings, fmt.Sprintf("benchmark %d of the file is left out: expected an object, found %q", s.elements, b))
			s.elements++
			if err := resultfile.Skip(c); err != nil {
				return err
			}
			continue
		}
		s.elements++
		run.Experiments = append(run.Experiments, export.Experiment{})
		s.all = append(s.all, fileBenchmark{})
		if err := s.header(c, run, &s.all[len(s.all)-1]); err != nil {
			return err
		}
	}
}

// header reads a benchmark except its requests.
func (s *source) header(c *jsonscan.Cursor, run *export.Run, b *fileBenchmark) error {
	return resultfile.EachMember(c, "a benchmark", func(name string) (err error) {
		switch name {
		case "config", "args", "benchmarker": // its names in different releases
			err = readConfig(c, run)
		case "metrics":
			err = b.readMetrics(c)
		case "requests":
			err = b.findRequests(c)
		case "duration":
			err = b.readDuration(c)
		case "worker": // before 0.3
			err = readWorker(c, run)
		case "request_totals": // before 0.4; then it is a metric
			err = b.readTotals(c)
		default:
			err = resultfile.Skip(c)
		}
		return err
	})
}

// readDuration reads the stated duration in seconds.
func (b *fileBenchmark) readDuration(c *jsonscan.Cursor) error {
	v, err := c.Value("duration")
	if err != nil {
		return err
	}
	if resultfile.Decode(v, &b.seconds) != nil { // the file is of another release
		b.seconds = 0
	}
	return nil
}

// statedTotals returns the totals that the file states of the successful requests.
func (b *fileBenchmark) statedTotals() export.StatedTotals {
	t := export.StatedTotals{DurationS: b.seconds}
	if b.totals != nil {
		t.Requests = resultfile.Total(float64(b.totals.Successful))
	} else if d := b.metrics["request_latency"].Successful; d != nil {
		t.Requests = resultfile.Total(d.Count)
	}
	sum := func(name string) *int64 {
		if d := b.metrics[name].Successful; d != nil && d.Sum != nil {
			return resultfile.Total(*d.Sum)
		}
		return nil
	}
	t.InputTokens, t.OutputTokens = sum("prompt_token_count"), sum("output_token_count")
	return t
}

// readTotals reads the stated numbers of requests.
func (b *fileBenchmark) readTotals(c *jsonscan.Cursor) error {
	v, err := c.Value("request_totals")
	if err != nil {
		return err
	}
	var t *fileTotals
	if resultfile.Decode(v, &t) == nil { // else the file is of another release
		b.totals = t
	}
	return nil
}

// findRequests stores the positions of the arrays of requests, and the numbers of their elements.
func (b *fileBenchmark) findRequests(c *jsonscan.Cursor) error {
	err := resultfile.EachMemberOf(c, "requests", func(name string) (err error) {
		at := c.Pos
		bracket, err := c.Peek()
		if err != nil {
			return err
		}
		if i := slices.Index(fileGroups[:], name); i >= 0 && bracket == '[' {
			b.groups[i] = at
			b.counts[i], err = resultfile.CountElements(c)
			return err
		}
		return resultfile.Skip(c)
	})
	b.whole = err == nil
	return err
}

// readConfig reads the load settings. It ignores keys and headers.
func readConfig(c *jsonscan.Cursor, run *export.Run) error {
	v, err := c.Value("the configuration")
	if err != nil {
		return err
	}
	var x struct {
		Strategy struct {
			Type           string       `json:"type_"`
			Streams        *json.Number `json:"streams"`
			MaxConcurrency *json.Number `json:"max_concurrency"`
			Rate           *json.Number `json:"rate"`
		} `json:"strategy"`
		Backend struct {
			Kind          string `json:"kind"`
			Target        string `json:"target"`
			Model         string `json:"model"`
			RequestFormat string `json:"request_format"`
			Stream        *bool  `json:"stream"`
		} `json:"backend"`
	}
	if resultfile.Decode(v, &x) != nil {
		return nil // of another release: the level then has no name
	}
	e := &run.Experiments[len(run.Experiments)-1]
	st := &x.Strategy
	text := func(n *json.Number) string {
		if n == nil {
			return ""
		}
		return n.String()
	}
	*e = loadOf(st.Type, text(st.Streams), text(st.Rate), text(st.MaxConcurrency))
	if b := &x.Backend; b.Model != "" && run.Meta.Model == "" {
		run.Meta.Model, run.Meta.URL = b.Model, resultfile.WithoutSecrets(b.Target)
		run.Meta.Streaming = new(b.Stream == nil || *b.Stream)
		if strings.HasPrefix(b.Kind, "openai") {
			run.ServiceKind, run.Endpoint = new("openai"), new(strings.TrimPrefix(b.RequestFormat, "/"))
		}
	}
	return nil
}

// loadOf returns the load of a strategy. Settings that it lacks are "".
func loadOf(strategy, streams, rate, maxConcurrency string) export.Experiment {
	switch strategy {
	case "synchronous":
		return export.Experiment{Mode: export.ModeConcurrency, Value: "1"}
	case "concurrent":
		return export.Experiment{Mode: export.ModeConcurrency, Value: streams}
	case "constant", "async", "poisson":
		return export.Experiment{Mode: export.ModeRequestRate, Value: rate}
	}
	return export.Experiment{Mode: strategy, Value: maxConcurrency} // throughput, replay
}

// readWorker reads the server that releases before 0.3 name.
func readWorker(c *jsonscan.Cursor, run *export.Run) error {
	v, err := c.Value("the worker")
	if err != nil {
		return err
	}
	var x struct {
		Target string `json:"backend_target"`
		Model  string `json:"backend_model"`
	}
	if resultfile.Decode(v, &x) == nil && run.Meta.Model == "" {
		run.Meta.Model, run.Meta.URL = x.Model, resultfile.WithoutSecrets(x.Target)
	}
	return nil
}

// sentModel matches the model in the arguments of a request, which are JSON or a dictionary of
// Python.
var sentModel = regexp.MustCompile(`['"]model['"]: ?['"]([^'"\\]+)['"]`)

// modelSent takes the model from the first request, where the settings do not name it.
func (s *source) modelSent(run *export.Run) {
	if run.Meta.Model != "" {
		return
	}
	for i := range s.all {
		for _, at := range s.all[i].groups {
			if at == 0 {
				continue
			}
			s.c.Pos = at + 1
			if more, err := s.c.Elem(true); err != nil || !more {
				continue
			}
			v, err := s.c.Value("the first request")
			var q fileRequest
			if err != nil || resultfile.Decode(v, &q) != nil || q.Args == nil {
				return // next reports the error
			}
			if m := sentModel.FindStringSubmatch(*q.Args); m != nil {
				run.Meta.Model = m[1]
			}
			return
		}
	}
}

type fileRequest struct {
	Args      *string `json:"request_args"`
	Output    *string `json:"output"`
	Reasoning *string `json:"reasoning_output"`
	Info      struct {
		ConversationID string       `json:"conversation_id"`
		TurnIndex      int          `json:"turn_index"`
		Timings        *fileTimings `json:"timings"`
		Error          *string      `json:"error"`
	} `json:"info"`
	InputMetrics struct {
		CachedTokens *int64 `json:"cached_tokens"`
	} `json:"input_metrics"`
	PromptTokens *int64   `json:"prompt_tokens"`
	OutputTokens *float64 `json:"output_tokens"`

	// Before 0.3.
	Start *float64 `json:"start_time"`
	First *float64 `json:"first_token_time"`
	Last  *float64 `json:"last_token_time"`
	End   *float64 `json:"end_time"`
	Error *string  `json:"error"`
}

type fileTimings struct {
	TargetedStart        *float64 `json:"targeted_start"`
	ResolveStart         *float64 `json:"resolve_start"`
	RequestStart         *float64 `json:"request_start"`
	FirstToken           *float64 `json:"first_token_iteration"`
	LastToken            *float64 `json:"last_token_iteration"`
	LastRequestIteration *float64 `json:"last_request_iteration"`
	TokenIterations      int64    `json:"token_iterations"`
	RequestEnd           *float64 `json:"request_end"`
	ResolveEnd           *float64 `json:"resolve_end"`

	// From 0.3 to 0.4.
	FirstIteration *float64 `json:"first_iteration"`
	LastIteration  *float64 `json:"last_iteration"`
	Iterations     *int64   `json:"iterations"`
}

// timings returns the times of a request of any release.
func (q *fileRequest) timings() fileTimings {
	if q.Info.Timings == nil {
		return fileTimings{RequestStart: q.Start, FirstToken: q.First, LastToken: q.Last, RequestEnd: q.End}
	}
	t := *q.Info.Timings
	if t.FirstToken == nil && t.LastToken == nil {
		t.FirstToken, t.LastToken = t.FirstIteration, t.LastIteration
	}
	if t.TokenIterations == 0 && t.Iterations != nil {
		t.TokenIterations = *t.Iterations
	}
	return t
}

// Next implements resultfile.Source.
func (s *source) Next(r *export.Request) (int, error) {
	v, err := s.entry()
	if err != nil {
		return s.benchmark, err
	}
	at := s.c.Pos - int64(len(v))
	s.index++
	var q fileRequest
	excluded := s.group != 0
	if err := resultfile.Decode(v, &q); err != nil {
		bad := resultfile.TypeError(at, err)
		bad.Excluded = excluded
		return s.benchmark, bad
	}
	if err := s.request(r, &q); err != nil {
		err.At, err.Excluded = at, excluded
		return s.benchmark, err
	}
	r.ID = s.id
	s.id++
	if s.group == 0 {
		b := &s.all[s.benchmark]
		b.values = append(b.values, q.stat())
	}
	return s.benchmark, nil
}

// entry returns the text of the next request.
func (s *source) entry() ([]byte, error) {
	for s.benchmark < len(s.all) {
		if !s.open && s.group < len(fileGroups) {
			if at := s.all[s.benchmark].groups[s.group]; at > 0 {
				s.c.Pos = at + 1
				s.open, s.index = true, 0
			}
		}
		switch {
		case s.open:
			more, err := s.c.Elem(s.index == 0)
			var v []byte
			if err == nil && more {
				v, err = s.c.Value("the request")
			}
			switch {
			case resultfile.IsCut(err) && resultfile.IsCut(s.tail): // arrays of this benchmark can be in another order than delivered
				s.tailAt = fmt.Sprintf("benchmark %d, %s request %d", s.benchmark, fileGroups[s.group], s.index)
			case err != nil || more:
				return v, err
			}
			s.open = false
			s.group++
		case s.group < len(fileGroups):
			s.group++
		default:
			s.benchmark, s.group, s.index = s.benchmark+1, 0, 0
		}
	}
	s.benchmark = len(s.all) - 1
	if s.tail != nil {
		s.ended = true
		return nil, s.tail
	}
	return nil, io.EOF
}

// request fills in r.
func (s *source) request(r *export.Request, q *fileRequest) *resultfile.BadEntry {
	t := q.timings()
	if t.RequestStart == nil {
		t.RequestStart = t.ResolveStart // it failed before it was sent
	}
	for _, x := range []struct {
		name string
		from *float64
		to   *uint64
	}{
		{"request_start", t.RequestStart, &r.StartNS},
		{"resolve_start", t.ResolveStart, &r.IssuedNS},
		{"targeted_start", s.due(&t), &r.ScheduledNS},
	} {
		if x.from != nil {
			var ok bool
			if *x.to, ok = resultfile.Nanoseconds(*x.from); !ok {
				return resultfile.BadTime(0, x.name, *x.from)
			}
		}
	}
	if r.StartNS == 0 {
		return &resultfile.BadEntry{Msg: "request_start is missing"}
	}
	r.StartSource = export.SourceUser
	r.SessionID, r.Turn = q.Info.ConversationID, q.Info.TurnIndex
	if bad := s.responses(r, &t); bad != nil {
		return bad
	}
	s.setOutcome(r, q, &t)
	if q.Args != nil {
		var args struct {
			Body json.RawMessage `json:"body"`
		}
		if json.Unmarshal([]byte(*q.Args), &args) == nil && len(args.Body) > 0 && args.Body[0] == '{' {
			r.Inputs = resultfile.Payload(args.Body)
		}
	}
	r.Stated = &export.Stated{InputTokens: q.PromptTokens, CachedTokens: q.InputMetrics.CachedTokens}
	if q.OutputTokens != nil {
		r.Stated.OutputTokens = new(int64(*q.OutputTokens))
	}
	if t.FirstToken == nil && len(r.Responses) > 0 {
		r.Stated.Streamed = new(false)
	}
	if t.TokenIterations > 0 {
		r.Stated.TokenEvents = new(t.TokenIterations)
	}
	if end, ok := r.FinalResponseNS(); ok && r.Status == export.StatusOK && t.RequestEnd != nil {
		if ns, ok := resultfile.Nanoseconds(*t.RequestEnd); ok && ns > end {
			r.Stated.EndNS = &ns
		}
	}
	if q.Output != nil || q.Reasoning != nil {
		r.Stated.Text = new(export.TextOf(q.Reasoning) + export.TextOf(q.Output))
	}
	return nil
}

// due returns when a request was due; nil for a load without a schedule.
func (s *source) due(t *fileTimings) *float64 {
	if s.modes[s.benchmark] != export.ModeRequestRate {
		return nil
	}
	return t.TargetedStart
}

// responses adds the first token, the last token, and the end after it.
func (s *source) responses(r *export.Request, t *fileTimings) *resultfile.BadEntry {
	end := t.LastRequestIteration
	if end == nil {
		end = t.RequestEnd
	}
	streamed := t.FirstToken != nil
	for i, x := range []struct {
		name string
		at   *float64
	}{{"first_token_iteration", t.FirstToken}, {"last_token_iteration", t.LastToken}, {"the end", end}} {
		if x.at == nil || i == 1 && t.TokenIterations == 1 {
			continue
		}
		ns, ok := resultfile.Nanoseconds(*x.at)
		if !ok {
			return resultfile.BadTime(0, x.name, *x.at)
		}
		resultfile.Respond(r, ns, nil)
		if i == 2 && streamed {
			r.Responses[len(r.Responses)-1].Final = true
		}
	}
	return nil
}

// setOutcome sets the status, the phase and the message of r.
func (s *source) setOutcome(r *export.Request, q *fileRequest, t *fileTimings) {
	r.Status, r.Phase = export.StatusOK, export.PhaseMeasured
	if s.group == 0 {
		return
	}
	if t.ResolveEnd != nil {
		r.FailedNS, _ = resultfile.Nanoseconds(*t.ResolveEnd)
	}
	if fileGroups[s.group] == "incomplete" {
		r.Status = export.StatusCancelled
		return
	}
	reason := export.TextOf(q.Info.Error)
	if q.Error != nil {
		reason = *q.Error
	}
	resultfile.Fail(r, 0, reason)
}
