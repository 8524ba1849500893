package serving

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/internal/py"
	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/pkg/analyze/explain"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// A report is a tool's report of the load levels of a run. Each level counts as a run
// of the tool. It is a [dialect.Report].
type report struct {
	release *release
	Levels  []levelReport

	args     *arguments
	warnings []error

	explainer *explain.Explainer // nil unless Config.Explain
	uncounted bool               // Config.Explain without a tokenizer
	client    *client            // of the last level
}

var _ dialect.Report = (*report)(nil)

// Warnings returns the places where the tool would have stopped, and the parts of the
// run that the report leaves out.
func (r *report) Warnings() []error { return r.warnings }

// CSV returns dialect.ErrNoFormat: none of the tools writes CSV.
func (r *report) CSV(io.Writer) error { return dialect.ErrNoFormat }

// A level is the current load level.
type level struct {
	tool      *release
	args      *arguments
	tokenizer dialect.Tokenizer
	special   int64 // special tokens that the tokenizer puts around a text

	client       *client // of the endpoint; nil until the first request if nothing names it
	isChat       bool
	chatEndpoint bool
	form         py.Form // of token events for client
	envelopes    dialect.Envelopes
	silent       map[py.EventKey]bool // whether some events without text are token events, for client
	parts        *dialect.Parts
	brief        bool // as dialect.Input.Brief

	// The fields below describe the current request.
	one       outcome
	body      py.Value
	requested int64 // output tokens that the request asks for; −1 if unknown
	model     string

	explainer *explain.Explainer
	all       *outcomes
	store     *stat.Store
	noStarts  bool   // the file has no start times
	noGaps    bool   // the file has no token events between the first and the last
	noLast    string // why the file has no time of the last token; "" if it has
	leftOut   int    // number of requests that the tool would not have sent
	raised    map[string]int
}

// spreads reports whether the tool spreads a gap over the tokens of its text.
func (l *level) spreads() bool {
	a := l.args.acceptLength
	return a != nil && *a > 0 && strings.HasPrefix(l.args.backend, "sglang-")
}

// Tools returns the dialects of all tools, in the order of help texts.
func Tools() []*dialect.Tool {
	var all []*dialect.Tool
	for _, t := range releases {
		all = append(all, t.tool())
	}
	return all
}

// tool returns the dialect of the tool.
func (t *release) tool() *dialect.Tool {
	d := &dialect.Tool{
		Name: t.Name, Family: t.rules.family, Listed: t.Name, Options: dialect.LanguageOptions(), Transformers: t.rules.transformers, Compared: 1,
		New: func(in dialect.Input) (dialect.Analysis, error) { return t.newAnalysis(in) },
	}
	d.Result = &dialect.ResultFile{
		Omits: t.rules.omits + omits, Listed: t.Name,
		// A result file has a list of each value of the requests, unless the arguments say otherwise.
		Write: func(ctx context.Context, r export.Reader, cfg dialect.Config, _ string, w io.Writer) (*dialect.Written, error) {
			args := map[string]string{"save_detailed": "True"}
			maps.Copy(args, cfg.Args)
			cfg.Args = args
			rep, written, err := dialect.WriteReport(ctx, d, r, cfg, w)
			if s, ok := rep.(*report); ok && s.appended() {
				written.Note = fmt.Sprintf("holds %d results, one for each load level, as the tool appends them with --append-result, and is not one JSON value; --experiment chooses one", len(s.Levels))
			}
			return written, err
		},
	}
	return d
}

// omits lists the parts of a run that no tool's result file holds.
const omits = "prompts, the content of single events, the requests that the tool does not count, and when requests failed"

func (t *release) newAnalysis(in dialect.Input) (*analysis, error) {
	args, warnings, err := t.arguments(in.Run, in.Config)
	if err != nil {
		return nil, err
	}
	if err := checkKind(t, in.Run, in.Config); err != nil {
		return nil, err
	}
	rep := &report{release: t, args: args, warnings: warnings, explainer: in.Explainer, uncounted: in.Uncounted}
	template := level{tool: t, args: args, tokenizer: in.Tokenizer, special: int64(in.Special), model: args.model, explainer: rep.explainer, store: in.Values, parts: in.Parts, brief: in.Brief, noLast: dialect.Lacking(in.Run, export.PartLast)}
	template.endpoint(in.Run, in.Config)
	return &analysis{rep: rep, run: in.Run, template: template, levels: len(in.Levels)}, nil
}

// checkKind refuses runs of services that the tools do not support.
func checkKind(tool *release, run *export.Run, cfg dialect.Config) error {
	kind := cmp.Or(cfg.ServiceKind, export.TextOf(run.ServiceKind))
	if kind != "" && kind != "openai" {
		return fmt.Errorf("%s measures OpenAI servers, and this is a run of service kind %q; --service-kind openai treats it as one", tool.Name, kind)
	}
	return nil
}

// endpoint sets the request function from the arguments, else from the run's endpoint.
func (l *level) endpoint(run *export.Run, cfg dialect.Config) {
	if l.args.client != nil {
		l.client, l.isChat = l.args.client, l.args.client == l.tool.rules.chat
		return
	}
	path := cfg.Endpoint
	if path == "" && run.Endpoint != nil {
		path = *run.Endpoint
	}
	switch {
	case cfg.EndpointType == "chat" || cfg.EndpointType == "" && strings.Contains(path, "chat/completions"):
		l.client, l.isChat = l.tool.rules.chat, true
	case cfg.EndpointType == "completions" || cfg.EndpointType == "" && strings.HasSuffix(path, "completions"):
		l.client = l.tool.rules.completions
	}
}

// An analysis is the reading of one run.
type analysis struct {
	rep      *report
	run      *export.Run
	template level
	levels   int // the number of levels in the report

	at    int // the current experiment
	level *level
}

// Begin starts a level.
func (s *analysis) Begin(experiment int) {
	l := s.template
	l.raised, l.all = map[string]int{}, newOutcomes(l.store, l.args.detailed)
	s.at, s.level = experiment, &l
}

// Request measures a request of the level.
func (s *analysis) Request(q *export.Request) error { return s.level.add(q) }

// Report returns the report.
func (s *analysis) Report() dialect.Report { return s.rep }

// End adds the level to the report.
func (s *analysis) End() {
	l, e := s.level, &s.run.Experiments[s.at]
	out := l.summarize(s.run, s.at)
	s.rep.Levels = append(s.rep.Levels, *out)
	s.rep.client = l.client
	l.explainLevel(out)
	where := ""
	if s.levels > 1 {
		where = cmp.Or(export.LoadName(e.Mode, e.Value), "load not known") + ": "
	}
	warn := func(format string, args ...any) {
		s.rep.warnings = append(s.rep.warnings, fmt.Errorf(where+format, args...))
	}
	for _, c := range out.crashes {
		warn("%s itself stops at this file: %s; this report applies its rules anyway", s.rep.release.Name, c)
	}
	if l.leftOut > 0 {
		warn("left out of the report: %s of the warm-up, late or cancelled", plural.Of(l.leftOut, "request"))
	}
	for _, text := range sortedByCount(l.raised) {
		warn("for the tool %s failed: it raises %s", plural.Of(l.raised[text], "request"), text)
	}
	for _, n := range out.notes {
		warn("%s", n)
	}
}

// sortedByCount returns the few keys of m with the highest counts, the highest first.
func sortedByCount(m map[string]int) []string {
	const most = 5
	var all []string
	for k := range m {
		all = append(all, k)
	}
	slices.SortFunc(all, func(a, b string) int {
		if m[a] != m[b] {
			return m[b] - m[a]
		}
		return strings.Compare(a, b)
	})
	return all[:min(len(all), most)]
}

// add measures a request. The tool does not measure warm-up, cancelled and late
// requests.
func (l *level) add(q *export.Request) error {
	if reason := q.Excluded(); reason != export.NotExcluded && reason != export.ExcludedFailed {
		l.leftOut++
		return nil
	}
	o, err := l.outcome(q)
	if err != nil {
		return err
	}
	if o.raised != nil && failure(q) == nil {
		l.raised[clip(o.raised.Error())]++
	}
	l.explain(o, q)
	l.all.add(o)
	return nil
}

func clip(s string) string { return sanitize.Clip(s, 200) }

// levelNumber returns the number of a load level of that mode.
func levelNumber(e *export.Experiment, mode string) (f float64, ok bool) {
	if e.Mode != mode {
		return 0, false
	}
	f, err := strconv.ParseFloat(e.Value, 64)
	return f, err == nil
}
