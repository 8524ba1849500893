package diff

import (
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/inference"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/analyze/tabular"
	"github.com/pa-tools/pa/pkg/answer"
)

// Schema names the layout that JSON writes.
const Schema = "pa-diff/1"

// JSON writes one object in the layout of schemas/diff.schema.json, with full
// precision. Numbers that do not exist are absent.
func JSON(r *Result) report.Renderer { return report.Indented(document(r)) }

type jsonResult struct {
	Schema      string           `json:"schema"`
	Headline    string           `json:"headline"`
	Answer      jsonAnswer       `json:"answer"`
	Margin      float64          `json:"margin"`
	Turns       string           `json:"turns,omitempty"`
	Outlying    []jsonOutlying   `json:"outlying"`
	LeftOut     []jsonLeftOut    `json:"left_out"`
	Mode        string           `json:"mode"`
	Confidence  float64          `json:"confidence"`
	Alpha       float64          `json:"alpha"`
	Family      int              `json:"family"`
	Measured    jsonMeasured     `json:"measured"`
	Old         jsonSide         `json:"old"`
	New         jsonSide         `json:"new"`
	Comparable  bool             `json:"comparable"`
	Differences []jsonDifference `json:"differences"`
	Unchecked   []string         `json:"unchecked"`
	Together    *jsonLevel       `json:"together,omitempty"`
	Levels      []jsonLevel      `json:"levels"`
	OldOnly     []string         `json:"old_only"`
	NewOnly     []string         `json:"new_only"`
	Gates       []jsonGate       `json:"gates"`
	Warnings    []string         `json:"warnings"`
}

// jsonAnswer is an answer in a word.
type jsonAnswer struct {
	Verdict string   `json:"verdict"`
	Because string   `json:"because,omitempty"`
	Within  *float64 `json:"within,omitempty"`
	// Without is the answer without the outlying runs.
	Without *jsonAnswer `json:"without,omitempty"`
	Text    string      `json:"text,omitempty"`
}

// jsonOutlying is a run that differs from the others of its side.
type jsonOutlying struct {
	Run    string   `json:"run"`
	File   string   `json:"file"`
	Metric string   `json:"metric"`
	Level  string   `json:"level,omitempty"`
	Factor *float64 `json:"factor,omitempty"`
	Value  *float64 `json:"value,omitempty"`
	Least  *float64 `json:"others_least,omitempty"`
	Most   *float64 `json:"others_most,omitempty"`
}

// jsonLeftOut is a run that does not count.
type jsonLeftOut struct {
	Run  string `json:"run"`
	File string `json:"file"`
}

type jsonMeasured struct {
	From          string `json:"from"`
	TokenSource   string `json:"token_source,omitempty"`
	IncludeWarmup bool   `json:"include_warmup"`
	Part          string `json:"part,omitempty"`
}

type jsonSide struct {
	// Label is the name that the user gave the side.
	Label string    `json:"label,omitempty"`
	Runs  []JSONRun `json:"runs"`
}

// A JSONRun is a run in JSON.
type JSONRun struct {
	File  string `json:"file"`
	Model string `json:"model,omitempty"`
	Tool  string `json:"tool,omitempty"`
}

type jsonDifference struct {
	Name    string `json:"name"`
	Level   string `json:"level,omitempty"`
	Old     string `json:"old"`
	New     string `json:"new"`
	Refuses bool   `json:"refuses"`
	Ignored bool   `json:"ignored"`
}

type jsonLevel struct {
	Name    string     `json:"name"`
	Mode    string     `json:"mode"`
	Value   string     `json:"value"`
	Answer  jsonAnswer `json:"answer"`
	OldRuns int        `json:"old_runs"`
	NewRuns int        `json:"new_runs"`
	Pairs   int        `json:"pairs,omitempty"`
	// OldSelected and NewSelected are the part of each run that has the level.
	OldSelected []*report.Part `json:"old_selected,omitempty"`
	NewSelected []*report.Part `json:"new_selected,omitempty"`
	Metrics     []jsonMetric   `json:"metrics"`
	Server      []jsonServer   `json:"server,omitempty"`
}

// jsonServer is a figure of a server or GPU.
type jsonServer struct {
	Name    string     `json:"name"`
	Metric  string     `json:"metric"`
	Unit    string     `json:"unit"`
	OldOf   string     `json:"old_of,omitempty"`
	NewOf   string     `json:"new_of,omitempty"`
	Old     *float64   `json:"old,omitempty"`
	New     *float64   `json:"new,omitempty"`
	OldRuns []*float64 `json:"old_runs"`
	NewRuns []*float64 `json:"new_runs"`
	Change  *float64   `json:"change,omitempty"`
	Low     *float64   `json:"low,omitempty"`
	High    *float64   `json:"high,omitempty"`
	P       *float64   `json:"p,omitempty"`
	NA      *jsonNA    `json:"na,omitempty"`
}

type jsonMetric struct {
	Metric    string      `json:"metric"`
	Unit      string      `json:"unit"`
	Better    string      `json:"better"`
	Primary   bool        `json:"primary"`
	Paired    bool        `json:"paired"`
	Old       *float64    `json:"old,omitempty"`
	New       *float64    `json:"new,omitempty"`
	OldN      int         `json:"old_n"`
	NewN      int         `json:"new_n"`
	OldRuns   []*float64  `json:"old_runs"`
	NewRuns   []*float64  `json:"new_runs"`
	Change    *float64    `json:"change,omitempty"`
	Low       *float64    `json:"low,omitempty"`
	High      *float64    `json:"high,omitempty"`
	Level     *float64    `json:"interval_confidence,omitempty"`
	P         *float64    `json:"p,omitempty"`
	PAdjusted *float64    `json:"p_adjusted,omitempty"`
	RankP     *float64    `json:"rank_p,omitempty"`
	Verdict   string      `json:"verdict,omitempty"`
	Within    *jsonWithin `json:"within,omitempty"`
	Spoiled   string      `json:"spoiled,omitempty"`
	NA        *jsonNA     `json:"na,omitempty"`
}

// jsonWithin is the interval for the question whether a change is within the margin.
type jsonWithin struct {
	Low   *float64 `json:"low,omitempty"`
	High  *float64 `json:"high,omitempty"`
	Shown bool     `json:"shown"`
}

type jsonNA struct {
	Reason string `json:"reason"`
	Needs  int    `json:"needs,omitempty"`
}

type jsonGate struct {
	Expr     string   `json:"expr"`
	Level    string   `json:"level"`
	Required bool     `json:"required"`
	Result   string   `json:"result"`
	Because  []string `json:"because"`
}

func document(r *Result) jsonResult {
	d := jsonResult{
		Schema: Schema, Headline: r.Headline(), Answer: r.jsonAnswer(), Margin: r.o.margin(), Turns: r.apart.String(), Outlying: []jsonOutlying{}, LeftOut: []jsonLeftOut{}, Mode: "several-runs", Confidence: confidence, Alpha: alpha, Family: r.Family, Measured: measured(&r.Old[0].cfg),
		Old: jsonSide{r.o.Sides.Old, JSONRuns(r.Old)}, New: jsonSide{r.o.Sides.New, JSONRuns(r.New)}, Comparable: len(r.Refused()) == 0,
		Differences: []jsonDifference{}, Levels: []jsonLevel{}, Gates: []jsonGate{},
		Unchecked: list(r.Unchecked), OldOnly: list(r.OldOnly), NewOnly: list(r.NewOnly), Warnings: list(r.Warnings),
	}
	if r.Single {
		d.Mode = "single-run"
	}
	for _, x := range r.Differences {
		d.Differences = append(d.Differences, jsonDifference(x))
	}
	for i := range r.Levels {
		d.Levels = append(d.Levels, jsonLevelOf(&r.Levels[i]))
	}
	if r.Together != nil {
		x := jsonLevelOf(r.Together)
		d.Together = &x
	}
	for _, o := range r.Outlying {
		d.Outlying = append(d.Outlying, jsonOutlying{o.Run, o.File, o.Metric.Key, o.Level, tabular.JSONNumber(o.Factor), tabular.JSONNumber(o.Value), tabular.JSONNumber(o.Least), tabular.JSONNumber(o.Most)})
	}
	for _, x := range r.LeftOut {
		d.LeftOut = append(d.LeftOut, jsonLeftOut{r.numbers[x], x.Name})
	}
	for _, g := range r.Gates {
		d.Gates = append(d.Gates, jsonGate{g.Expr, g.Level, g.Required, g.State.String(), list(g.Because)})
	}
	return d
}

// jsonLevelOf returns a level for JSON.
func jsonLevelOf(l *LevelResult) jsonLevel {
	x := jsonLevel{
		Name: l.Name, Mode: l.Mode, Value: l.Value, OldRuns: len(l.Old), NewRuns: len(l.New), Pairs: l.Pairs, Answer: l.jsonAnswer(),
		OldSelected: selected(l.Old), NewSelected: selected(l.New), Metrics: []jsonMetric{},
	}
	for j := range l.Rows {
		x.Metrics = append(x.Metrics, metric(&l.Rows[j]))
	}
	for j := range l.Server {
		x.Server = append(x.Server, serverFigure(&l.Server[j]))
	}
	return x
}

// jsonAnswer returns the answer of a level.
func (l *LevelResult) jsonAnswer() jsonAnswer {
	a := jsonAnswer{Verdict: l.Answer.String(), Because: l.Because}
	if l.Answer == NoDifference {
		a.Within = tabular.JSONNumber(l.Within)
	}
	return a
}

// jsonAnswer returns the answer of the comparison.
func (r *Result) jsonAnswer() jsonAnswer {
	a := jsonAnswer{Verdict: r.Answer.String()}
	switch l := r.Together; {
	case len(r.Levels) == 1 && len(r.Refused()) == 0:
		a = r.Levels[0].jsonAnswer()
	case l != nil && l.Answer == r.Answer:
		a = l.jsonAnswer()
	}
	if r.Without != nil {
		without := r.Without.jsonAnswer()
		without.Text = r.Without.short()
		a.Without = &without
	}
	return a
}

// JSONRuns returns runs for JSON, never nil.
func JSONRuns(runs []*Run) []JSONRun {
	all := []JSONRun{}
	for _, r := range runs {
		x := JSONRun{File: r.Name, Model: r.Model}
		if r.Header.Meta != nil {
			x.Tool = r.Header.Meta.Tool
		}
		all = append(all, x)
	}
	return all
}

func measured(c *analyze.Config) jsonMeasured {
	m := jsonMeasured{From: c.From.String(), IncludeWarmup: c.IncludeWarmup, Part: c.Selection.String()}
	if c.TokenSource != answer.TokenAuto {
		m.TokenSource = c.TokenSource.String()
	}
	return m
}

// selected returns the parts of levels; nil where all of each counts.
func selected(levels []*Level) []*report.Part {
	var parts []*report.Part
	for _, l := range levels {
		if l.Selected != nil {
			parts = append(parts, report.PartOf(l.Selected))
		}
	}
	return parts
}

func metric(r *Row) jsonMetric {
	i := r.Shown()
	m := jsonMetric{
		Metric: r.Metric.Key, Unit: r.Metric.Unit(), Better: "lower", Primary: r.Primary, Paired: r.Paired,
		Old: tabular.JSONNumber(r.Old.Value), New: tabular.JSONNumber(r.New.Value), OldN: r.Old.N, NewN: r.New.N,
		OldRuns: tabular.JSONNumbers(r.OldRuns), NewRuns: tabular.JSONNumbers(r.NewRuns),
		Change: tabular.JSONNumber(r.Change), Low: tabular.JSONNumber(i.Low), High: tabular.JSONNumber(i.High), P: tabular.JSONNumber(r.P), PAdjusted: tabular.JSONNumber(r.Adjusted),
	}
	switch r.Metric.Direction {
	case inference.HigherIsBetter:
		m.Better = "higher"
	case inference.NoDirection:
		m.Better = "none"
	}
	if r.Rank != nil {
		m.RankP = tabular.JSONNumber(r.Rank.P)
	}
	if r.Primary {
		m.Verdict, m.Spoiled = r.Verdict.String(), r.Spoiled
		if r.Equal || !r.NA.Missing() {
			m.Within = &jsonWithin{tabular.JSONNumber(r.bound.Low), tabular.JSONNumber(r.bound.High), r.inMargin()}
		}
	}
	if r.NA.Missing() {
		m.NA = &jsonNA{r.NA.Reason, r.NA.Needs}
	} else {
		m.Level = tabular.JSONNumber(r.Level)
	}
	return m
}

func serverFigure(r *ServerRow) jsonServer {
	i := r.Interval(confidence)
	s := jsonServer{
		Name: r.Name, Metric: r.Metric, Unit: r.Unit, OldOf: r.OldOf, NewOf: r.NewOf,
		Old: tabular.JSONNumber(r.Old.Value), New: tabular.JSONNumber(r.New.Value), OldRuns: tabular.JSONNumbers(r.OldRuns), NewRuns: tabular.JSONNumbers(r.NewRuns),
		Change: tabular.JSONNumber(r.Change), Low: tabular.JSONNumber(i.Low), High: tabular.JSONNumber(i.High), P: tabular.JSONNumber(r.P),
	}
	if r.NA.Missing() {
		s.NA = &jsonNA{r.NA.Reason, r.NA.Needs}
	}
	return s
}

// list returns s, or an empty list in place of nil, which would be null in JSON.
func list(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}
