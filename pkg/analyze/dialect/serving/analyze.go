package serving

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/internal/pyjson"
	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze/dialect"
	"github.com/pa-tools/pa/pkg/analyze/dialect/explain"
	"github.com/pa-tools/pa/pkg/export"
)

// A Report is what a tool says about the load levels of a run, each of which is
// a run of the tool. It is a [dialect.Report].
type Report struct {
	Tool   *Tool
	Levels []Level

	args     *arguments
	warnings []error

	explainer *explain.Explainer // nil unless Config.Explain
	uncounted bool               // there was no tokenizer
	client    *client            // of the last level
}

var _ dialect.Report = (*Report)(nil)

// Warnings are what a reader must know to trust the report: where the tool would
// have stopped, what is not in it.
func (r *Report) Warnings() []error { return r.warnings }

// CSV returns dialect.ErrNoFormat: none of the tools writes such a report.
func (r *Report) CSV(io.Writer) error { return dialect.ErrNoFormat }

// A level is the load level that is read.
type level struct {
	tool      *Tool
	args      *arguments
	tokenizer dialect.Tokenizer
	special   int64 // tokens that it puts around a text

	client       *client // of the endpoint; nil until the first request where nothing says which
	isChat       bool
	chatEndpoint bool

	// Of the current request:
	gapsOfOne []float64 // a buffer
	body      pyjson.Value
	requested int64 // tokens that were asked for; −1: not known
	model     string

	explainer *explain.Explainer
	all       []*outcome
	noStarts  bool // the file does not say when requests were sent
	noGaps    bool // the file does not hold the token events between the first and the last
	leftOut   int  // requests that the tool would not have seen
	raised    map[string]int
}

// spreads reports whether gaps are spread over the tokens of their texts.
func (l *level) spreads() bool {
	a := l.args.acceptLength
	return a != nil && *a > 0 && strings.HasPrefix(l.args.backend, "sglang-")
}

// Analyze reads a run to its end and returns the report: of the level that cfg
// names, or of all.
//
// The error is that of the reader, in which case the report is of what could be
// read, or it says why there is no report: an argument (*dialect.ArgError), no
// such level, a run of another kind, dialect.ErrNoTokenizer. Where the tool
// itself would have stopped is no error but a warning.
func Analyze(ctx context.Context, tool *Tool, r export.Reader, cfg dialect.Config) (*Report, error) {
	run := r.Run()
	args, warnings, err := tool.arguments(run, cfg)
	if err != nil {
		return nil, err
	}
	if err := checkKind(tool, run, cfg); err != nil {
		return nil, err
	}
	rep := &Report{Tool: tool, args: args, warnings: warnings, explainer: dialect.NewExplainer(run, cfg)}
	if cfg.Tokenizer == nil && cfg.Explain {
		cfg.Tokenizer, rep.uncounted = dialect.Uncounted(), true
	}
	wanted, err := wantedLevels(run, cfg.Level)
	if err != nil {
		return nil, err
	}
	template := level{tool: tool, args: args, tokenizer: cfg.Tokenizer, model: args.model, explainer: rep.explainer}
	template.endpoint(run, cfg)
	if cfg.Tokenizer != nil {
		template.special = int64(len(cfg.Tokenizer.AddSpecial(nil)))
	}
	s := reading{rep: rep, run: run, template: template, wanted: wanted, at: -1}
	err = s.read(ctx, r)
	if errors.Is(err, dialect.ErrNoTokenizer) {
		return nil, err
	}
	return rep, err
}

// checkKind refuses runs of services that the tools do not speak to.
func checkKind(tool *Tool, run *export.Run, cfg dialect.Config) error {
	kind := cfg.ServiceKind
	if kind == "" && run.ServiceKind != nil {
		kind = *run.ServiceKind
	}
	if kind != "" && kind != "openai" {
		return fmt.Errorf("%s measures OpenAI servers, and this is a run of service kind %q; --service-kind openai takes it for one", tool.Name, kind)
	}
	return nil
}

// wantedLevels returns the indices of the experiments to report.
func wantedLevels(run *export.Run, want dialect.Level) (map[int]bool, error) {
	found := map[int]bool{}
	var names []string
	for i := range run.Experiments {
		e := &run.Experiments[i]
		names = append(names, e.Mode+":"+e.Value)
		if want == (dialect.Level{}) || want.Matches(e) {
			found[i] = true
		}
	}
	switch {
	case len(run.Experiments) == 0:
		return nil, errors.New("the file holds no experiment: nothing was measured")
	case len(found) == 0:
		return nil, fmt.Errorf("no such load level; choose one with --experiment: %s", sanitize.Text(strings.Join(names, ", ")))
	}
	return found, nil
}

// endpoint finds out what was asked, as far as the run says.
func (l *level) endpoint(run *export.Run, cfg dialect.Config) {
	if l.args.client != nil {
		l.client, l.isChat = l.args.client, l.args.client == l.tool.chat
		return
	}
	path := cfg.Endpoint
	if path == "" && run.Endpoint != nil {
		path = *run.Endpoint
	}
	switch {
	case cfg.EndpointType == "chat" || cfg.EndpointType == "" && strings.Contains(path, "chat/completions"):
		l.client, l.isChat = l.tool.chat, true
	case cfg.EndpointType == "completions" || cfg.EndpointType == "" && strings.HasSuffix(path, "completions"):
		l.client = l.tool.completions
	}
}

// A reading goes through a run.
type reading struct {
	rep      *Report
	run      *export.Run
	template level
	wanted   map[int]bool

	at    int // the experiment that is read
	level *level
}

func (s *reading) read(ctx context.Context, r export.Reader) (err error) {
	for n := 0; err == nil && r.Next(); n++ {
		if n&1023 == 0 && ctx.Err() != nil {
			err = context.Cause(ctx)
			break
		}
		s.begin(r.Experiment())
		if s.level != nil {
			err = s.level.add(r.Request())
		}
	}
	if err == nil {
		err = r.Err()
	}
	s.begin(len(s.run.Experiments))
	return err
}

// begin ends the experiments before one, and begins it.
func (s *reading) begin(experiment int) {
	for s.at < experiment {
		if s.level != nil {
			s.end()
		}
		s.level = nil
		s.at++
		if s.wanted[s.at] {
			l := s.template
			l.raised = map[string]int{}
			s.level = &l
		}
	}
}

func (s *reading) end() {
	l, e := s.level, &s.run.Experiments[s.at]
	out := l.summarize(s.run, s.at)
	s.rep.Levels = append(s.rep.Levels, *out)
	s.rep.client = l.client
	l.explainLevel(out)
	where := ""
	if len(s.wanted) > 1 {
		where = e.Mode + " " + e.Value + ": "
	}
	warn := func(format string, args ...any) {
		s.rep.warnings = append(s.rep.warnings, fmt.Errorf(where+format, args...))
	}
	for _, c := range out.crashes {
		warn("%s itself stops at this file: %s; this is what its rules give all the same", s.rep.Tool.Name, c)
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

// sortedByCount returns the keys of m, those with the highest counts first, a
// few of them.
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

// add takes a request. Warm-up, cancelled and late ones are not part of what the
// tool measures.
func (l *level) add(q *export.Request) error {
	if reason := q.Excluded(); reason != "" && reason != "failed" {
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
	l.all = append(l.all, o)
	return nil
}

func clip(s string) string { return sanitize.Clip(s, 200) }

// order puts the requests into the order of their issue.
func (l *level) order() {
	l.all = dialect.InOrder(l.all, func(o *outcome) uint64 { return o.id }, func(o *outcome) uint64 { return o.startNS })
}

// levelNumber returns the number of a load level of that mode.
func levelNumber(e *export.Experiment, mode string) (f float64, ok bool) {
	if e.Mode != mode {
		return 0, false
	}
	f, err := strconv.ParseFloat(e.Value, 64)
	return f, err == nil
}
