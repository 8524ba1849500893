package genaiperf

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/internal/py"
	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/pkg/analyze/explain"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/dialect"
	"github.com/pa-tools/pa/pkg/tool/internal/resultfile"
)

// A report is a release's report of one load level. It implements [dialect.Report].
type report struct {
	release *release
	// Level is the reported level.
	Level dialect.Level
	// EndpointType is GenAI-Perf's name of the endpoint: "chat"; "" for Triton's own
	// protocol.
	EndpointType string
	// Streaming reports whether answers were streamed. Without streaming, times between
	// tokens are not printed.
	Streaming bool
	// Metrics holds the metrics with values, in the order of the JSON report.
	Metrics []metric
	// Sessions holds the metrics of each session in the order of their first requests;
	// nil if the release has none.
	Sessions []sessionReport
	// crash is the first exception of the release; nil for none.
	crash *crash

	parser   parser
	goodput  bool
	crashes  int
	warnings []error

	kind      string
	format    format
	explainer *explain.Explainer // nil unless Config.Explain
	uncounted bool               // there was no tokenizer
	noTexts   string             // why the texts of responses are unknown; "" if they are known
	noRate    string             // why rates are unknown; "" if they are known
}

// A sessionReport is a conversation of several turns.
type sessionReport struct {
	ID      string
	Metrics []metric
}

var _ dialect.Report = (*report)(nil)

// Metric returns the metric of that name; nil if it has no values.
func (r *report) Metric(name string) *metric {
	for i := range r.Metrics {
		if r.Metrics[i].Name == name {
			return &r.Metrics[i]
		}
	}
	return nil
}

// Warnings lists where the release would have stopped, and what the report lacks.
func (r *report) Warnings() []error {
	var w []error
	if text := r.crashText(); text != "" {
		w = append(w, fmt.Errorf("GenAI-Perf %s %s", r.release.Name, text))
	}
	return append(w, r.warnings...)
}

// crashText returns where the release would have stopped; "" if it would not.
func (r *report) crashText() string {
	if r.crash == nil {
		return ""
	}
	more := ""
	if r.crashes > 1 {
		more = fmt.Sprintf(" (the first of %s)", plural.GroupedOf(r.crashes, "error"))
	}
	return fmt.Sprintf("itself stops at this file: %s%s; this report applies its rules anyway", r.crash, more)
}

// A parser is one of GenAI-Perf's parsers of an export.
type parser uint8

const (
	parseText    parser = iota // times, tokens
	parseLatency               // only the latency
	parseImages
)

// An analysis reads one file and measures the reported level.
type analysis struct {
	rules *rules
	cfg   dialect.Config
	run   *export.Run
	rep   *report

	level  int // index of the reported experiment
	kind   string
	format format
	parser parser
	known  bool // kind, format and parser are set
	clean  cleaner

	at        int // index of the experiment being read
	n         int // of the current request in it, from 1
	excluded  int
	c         collector // of the reported level
	skipped   collector // of the other levels
	store     *stat.Store
	sessions  map[string]*session
	order     []*session
	rs        []response
	single    []response // of split
	parts     *dialect.Parts
	explainer *explain.Explainer // nil outside of the reported level
	badID     *exception         // raised by the output ids of the current request
	text      []byte             // to be counted
	special   int                // tokens that the tokenizer puts around a text
}

type session struct {
	id string
	collector
}

// Tools returns the dialects of all releases and of their further names, oldest first.
func Tools() []*dialect.Tool {
	var all []*dialect.Tool
	for i := range releases {
		t := releases[i].tool(family + "-" + releases[i].Name)
		t.Listed, t.Compared = t.Name, 1
		all = append(all, t)
	}
	for _, alias := range slices.Sorted(maps.Keys(aliases)) {
		t := find(aliases[alias]).tool(family + "-" + alias)
		if alias == latest {
			t.Listed = t.Name
		}
		all = append(all, t)
	}
	return all
}

// family is the name of the tool without a release.
const family = "genai-perf"

// tool returns the dialect of the release under a name.
func (release *release) tool(name string) *dialect.Tool {
	levels := dialect.LevelRule{
		One: true, ReadAll: true,
		Default: dialect.Level{Mode: export.ModeConcurrency, Value: "1"},
		Missing: func(l dialect.Level) string {
			return fmt.Sprintf("GenAI-Perf stops with KeyError: 'Profile with %s=%s does not exist.'", cmp.Or(l.Mode, export.ModeConcurrency), l.Value)
		},
	}
	if release.rules.layout == layout2403 {
		levels.Default, levels.Several = dialect.Level{}, "GenAI-Perf "+release.Name+" has no default"
	}
	return &dialect.Tool{
		Name: name, Family: family, Options: dialect.LanguageOptions(), NoArgs: true, Levels: levels,
		New: func(in dialect.Input) (dialect.Analysis, error) { return newAnalysis(release, in), nil },
	}
}

func newAnalysis(release *release, in dialect.Input) *analysis {
	a := &analysis{
		rules: &release.rules, cfg: in.Config, run: in.Run, at: -1, level: in.Levels[0], special: in.Special, parts: in.Parts,
		store: in.Values, c: newCollector(in.Values), skipped: newCollector(in.Values),
		rep:      &report{release: release, goodput: release.rules.goodput && len(in.Goodput) > 0, explainer: in.Explainer, uncounted: in.Uncounted},
		sessions: map[string]*session{},
	}
	a.clean = cleaner{rules: a.rules, raise: a.raise}
	if a.rules.maxBytes > 0 && in.FileBytes > a.rules.maxBytes {
		a.raise(&exception{"JSONDecodeError", fmt.Sprintf("Not enough memory to allocate buffer for parsing: line 1 column 1 (char 0) (the file has %d bytes)", in.FileBytes)})
	}
	e := &in.Run.Experiments[a.level]
	a.rep.Level = dialect.Level{Mode: e.Mode, Value: e.Value}
	return a
}

// raise records an exception of the release.
func (a *analysis) raise(e *exception) {
	a.rep.crashes++
	if a.rep.crash != nil {
		return
	}
	c := &crash{Exception: e.Error()}
	if a.at >= 0 && a.at < len(a.run.Experiments) && a.n > 0 {
		x := &a.run.Experiments[a.at]
		c.Where = fmt.Sprintf("%s, request %d", export.LoadName(x.Mode, x.Value), a.n)
	}
	a.rep.crash = c
}

// Begin starts an experiment.
func (a *analysis) Begin(experiment int) {
	a.at, a.n = experiment, 0
	if a.explainer = nil; experiment == a.level {
		a.explainer = a.rep.explainer
	}
	a.skipped.release()
	a.skipped = newCollector(a.store)
}

// End finishes the current experiment.
func (a *analysis) End() {
	a.n = 0 // later exceptions have no request
	if a.at == 0 && !a.known {
		a.noFirstRequest()
	}
	if a.lacksTexts() {
		return
	}
	c := a.collector()
	if e := c.finish(a.parser == parseText); e != nil {
		a.raise(e)
	}
	for _, s := range a.order {
		if !s.found {
			a.raise(valueError("min() arg is an empty sequence"))
			continue
		}
		if e := s.finish(true); e != nil {
			a.raise(e)
		}
		s.requests, s.found = 0, false
	}
	if a.rep.goodput {
		warning, e := c.setGoodput(a.rules, a.parser, a.cfg.Goodput)
		if e != nil {
			a.raise(e)
		}
		if warning != "" && a.at == a.level {
			a.rep.warnings = append(a.rep.warnings, errors.New(warning))
		}
	}
}

// collector returns the collector of the current experiment.
func (a *analysis) collector() *collector {
	if a.at == a.level {
		return &a.c
	}
	return &a.skipped
}

// Request measures one request.
func (a *analysis) Request(q *export.Request) error {
	if q.Excluded() != export.NotExcluded {
		if a.at == a.level {
			a.excluded++
		}
		return nil
	}
	a.n++
	if !a.known {
		a.recognize(q)
	}
	if a.at == a.level && !a.rep.Streaming {
		a.rep.Streaming = a.streamed(q)
	}
	c := a.collector()
	c.requests++
	a.explainer.Request(q)
	switch a.parser {
	case parseText:
		if a.lacksTexts() {
			return nil
		}
	case parseLatency:
		a.latencyRequest(c, q)
		return nil
	case parseImages:
		a.imageRequest(c, q)
		return nil
	}
	return a.textRequest(c, q)
}

// streamed reports whether a request asked for a stream, or got one.
func (a *analysis) streamed(q *export.Request) bool {
	if a.cfg.Streaming != nil {
		return *a.cfg.Streaming
	}
	if len(q.Responses) > 1 {
		return true
	}
	for _, name := range [...]string{"stream", "streaming"} {
		if v, ok := q.Inputs.Get(name); ok && strings.Contains(string(v.Data), "true") {
			return true
		}
	}
	if v, ok := q.Inputs.Get("payload"); ok {
		if p, err := py.ParseJSON(text(v), py.JSON); err == nil {
			s, _ := p.Member("stream")
			return s.Truthy()
		}
	}
	return false
}

// span returns the latency of a request, whose last response is at endNS.
func (c *collector) span(q *export.Request, endNS uint64) int64 {
	c.extend(q.StartNS, endNS)
	l := int64(endNS - q.StartNS)
	c.latency.Add(l)
	return l
}

// latencyRequest measures the latency of a request and nothing else.
func (a *analysis) latencyRequest(c *collector, q *export.Request) {
	if end, ok := q.FinalResponseNS(); ok {
		c.span(q, end)
	} else {
		a.raise(errIndex)
	}
}

// imageRequest measures a request of image retrieval.
func (a *analysis) imageRequest(c *collector, q *export.Request) {
	end, ok := q.FinalResponseNS()
	if !ok {
		a.raise(errIndex)
		return
	}
	latency := c.span(q, end)
	n, e := a.imageCount(q)
	switch {
	case e != nil:
		a.raise(e)
	case latency == 0 || n == 0:
		a.raise(errZero)
	}
	if n > 0 && latency != 0 {
		c.imageRate.AddFloat(float64(n) / (float64(latency) / 1e9))
		c.imageLatency.AddFloat(float64(latency) / float64(n))
	}
}

// imageCount returns the number of images of a request, as image retrieval counts them.
func (a *analysis) imageCount(q *export.Request) (int, *exception) {
	if q.Inputs == nil {
		return 0, keyError("request_inputs")
	}
	v, ok := q.Inputs.Get("payload")
	if !ok {
		return 0, keyError("payload")
	}
	p, e := a.rules.parseJSON(text(v))
	if e != nil {
		return 0, e
	}
	places := [][]string{{"input"}, {"messages", "[0]", "content"}}
	if a.rules.images == imagesMessages {
		slices.Reverse(places)
	}
	list, e := at(p, places[0]...)
	if e != nil { // the release looks no further
		if list, _ = at(p, places[1]...); list.Kind() == py.None {
			return 0, e
		}
	}
	n := 0
	list.Elements(func(_ int, part py.Value) bool {
		if kind, _ := part.Member("type"); kind.Text() == "image_url" {
			n++
		}
		return true
	})
	return n, e
}

// lacksTexts reports whether the metrics need the texts of responses and the file lacks
// them. Texts decide which responses count, and how many tokens they have.
func (a *analysis) lacksTexts() bool {
	return a.known && a.parser == parseText && dialect.Lacking(a.run, export.PartTexts) != ""
}

// dropLacking removes the metrics that the file lacks data for, with a warning.
func (a *analysis) dropLacking() {
	r := a.rep
	if a.lacksTexts() {
		r.noTexts = dialect.Lacking(a.run, export.PartTexts)
		r.crash, r.crashes = nil, 0 // raised by the lack; the reason says more
		r.warnings = append(r.warnings, fmt.Errorf("all metrics are n/a: GenAI-Perf takes them from the texts of responses, and %s", r.noTexts))
		return
	}
	if r.uncounted {
		a.dropCounted()
	}
	if r.noRate = dialect.Lacking(a.run, export.PartStarts); r.noRate == "" {
		return
	}
	rates := []string{requestRate, tokenRate, requestGood}
	r.Metrics = slices.DeleteFunc(r.Metrics, func(m metric) bool { return slices.Contains(rates, m.Name) })
	r.warnings = append(r.warnings, fmt.Errorf("rates are n/a: %s", r.noRate))
}

// dropCounted removes the metrics that need token counts.
func (a *analysis) dropCounted() {
	r := a.rep
	r.Metrics = a.withoutCounted(r.Metrics)
	if !a.cfg.Explain && a.parser == parseText {
		r.warnings = append(r.warnings, errors.New("token counts and the figures computed from them are n/a: GenAI-Perf counts with the model's tokenizer; give it with --tokenizer"))
	}
}

// withoutCounted returns the metrics that need no token counts.
func (a *analysis) withoutCounted(metrics []metric) []metric {
	good := slices.ContainsFunc(a.cfg.Goodput, func(l dialect.Limit) bool { return needsTokens(l.Metric) })
	return slices.DeleteFunc(metrics, func(m metric) bool { return needsTokens(m.Name) || good && m.Name == requestGood })
}

// Report returns the report.
func (a *analysis) Report() dialect.Report {
	a.at = -1 // later exceptions are the report's
	a.rep.EndpointType = a.cfg.EndpointType
	if a.rep.EndpointType == "" {
		a.rep.EndpointType = a.rules.endpointType(a.format)
	}
	if a.cfg.Streaming != nil {
		a.rep.Streaming = *a.cfg.Streaming
	}
	a.rep.parser = a.parser
	if !a.lacksTexts() {
		a.rep.Metrics = a.c.metrics(a.rules)
		a.explainLevel()
	}
	a.dropLacking()
	if a.rules.sessions {
		for _, s := range a.order {
			metrics := s.metrics(a.rules)
			if a.rep.uncounted {
				metrics = a.withoutCounted(metrics)
			}
			a.rep.Sessions = append(a.rep.Sessions, sessionReport{s.id, metrics})
		}
	}
	if a.rep.noTexts == "" {
		a.raiseForPrinting()
	}
	if a.excluded > 0 {
		a.rep.warnings = append(a.rep.warnings, fmt.Errorf("left out: %s that failed or belonged to no measurement; GenAI-Perf does not see them", plural.Of(a.excluded, "request")))
	}
	if n := a.clean.failed; n > 0 {
		a.rep.warnings = append(a.rep.warnings, fmt.Errorf("left out: %s that cannot be read; the requests count in the throughput", plural.Of(n, "response")))
	}
	return a.rep
}

// raiseForPrinting raises the exceptions of the release's printing.
func (a *analysis) raiseForPrinting() {
	r := a.rep
	if a.rules.records && r.Metric(imageRate) != nil {
		a.raise(&exception{"GenAIPerfException", imageRate + "_avg is not a valid Record tag."})
	}
	for _, name := range r.rows(consoleStats) {
		if a.rules.missing == missingRaises && r.Metric(name) == nil && (!r.uncounted || !needsTokens(name)) {
			a.raise(keyError("avg"))
		}
	}
	if a.rules.plots && r.Metric(firstToken) == nil {
		a.raise(keyError("max_" + firstToken))
	}
}

// ResultFile describes the files that GenAI-Perf writes beside profile_export.json, which
// perf_analyzer writes for it.
func ResultFile() resultfile.Kind {
	return resultfile.Kind{Stated: []resultfile.Statement{statement(), resultfile.TableStatement("GenAI-Perf", "genai-perf-latest", isTable)}, Beside: []resultfile.Neighbour{
		{
			Is:   func(o *resultfile.Outline) bool { return o.HasElement("data", "payload") },
			What: "an input file of perf_analyzer or GenAI-Perf (inputs.json)", Holds: "what was to be sent", Give: "profile_export.json, from the same folder if it was GenAI-Perf",
		},
		{ // in every release an object of statistics with units
			Is: func(o *resultfile.Outline) bool {
				return !o.Array && o.HasInner("unit", "avg") && !o.Has("aiperf_version") && (o.Has("request_throughput") || o.Has("request_latency"))
			},
			What: "the report of GenAI-Perf", Holds: "statistics", Give: "the profile_export.json that it was made from, in the same folder",
		},
	}}
}
