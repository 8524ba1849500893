package analyze

import (
	"github.com/pa-tools/pa/pkg/analyze/expr"
	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/analyze/summary"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// A Report is the analysis of one run.
type Report struct {
	Run  *export.Run
	From answer.From
	// SLO and SLOTarget are from the Config, with the default target filled in; nil
	// and 0 without an objective.
	SLO       *expr.Objective
	SLOTarget float64
	// Model is the model's name, from the run's metadata or the first payload;
	// "" if neither names it. Several models are joined by commas.
	Model string
	// Tokenizer is from the Config.
	Tokenizer *Tokenizer
	// ByRecorder says that requests have members that only pa-record writes, even if the
	// file breaks off before it names its tool. Cut says that it breaks off.
	ByRecorder, Cut bool
	// Stamps counts the responses by the source of their timestamps.
	Stamps Stamps
	// Requests is the number of requests read, of all kinds. FirstNS is the first start
	// among them; 0 if there is none.
	Requests int
	FirstNS  uint64
	// Experiments are in the order of the file and include levels without requests.
	Experiments []Experiment
	// Unavailable lists the metrics that a file of another tool cannot give.
	Unavailable []figure.Unavailable
	// Warnings are about the whole run.
	Warnings []error
}

// FromRecorder reports whether pa-record wrote the file. If so, a message may name a flag of pa-record as the remedy.
func (r *Report) FromRecorder() bool {
	if m := r.Run.Meta; m != nil {
		return m.Import == nil
	}
	return r.ByRecorder
}

// Calibration returns the errors of the recorder's times that can be true; nil if the file has none.
func (r *Report) Calibration() *export.Calibration {
	if r.Run.Meta == nil {
		return nil
	}
	c, _ := r.Run.Meta.Calibration.Possible()
	return c
}

// An Experiment is the analysis of one load level.
type Experiment struct {
	figure.Level
	Mode  string
	Value string
	// Load describes the load if the file says more about it than mode and value.
	Load string

	OK       int
	Failed   []figure.Count // by class, most frequent first
	Excluded []figure.Count // by reason, most frequent first
	// Unreadable counts requests that the reader had to leave out: see
	// [export.Reader.Skipped]. They are in no other count.
	Unreadable int
	// Resent counts the requests of all kinds that were sent again: see
	// [export.Request.Resent].
	Resent int

	// Sent is the rate of requests that a level of a named rate sent, whether or not they
	// succeeded: pa-record's own figure for a whole level, else the gaps between the starts.
	Sent figure.Rate
	// TokenSource is the source of the numbers of output tokens.
	TokenSource answer.TokenSource
	// TokenEvents counts token events. SharedStamps counts the token events with the
	// same time as the previous one in their choice.
	TokenEvents  int
	SharedStamps int
	// Backward counts gaps between token events below 0: the clock was set back.
	Backward int
	// Hidden counts the output tokens that servers counted and did not send; nil for none.
	Hidden *Hidden
	// Stamps counts the responses, and Starts the requests, by the source of their time
	// stamps.
	Stamps, Starts Stamps
	// Selected is the part of the level that all figures are about; nil for the whole
	// level.
	Selected *Selected
	// Span is the measured time: the selected part, or from the first start to the last response of the successful requests. It is
	// zero if it is not known.
	Span figure.Span
	// Windows are the windows that Config.Windows asked for.
	Windows []Window
	// Models are the parts of a level whose requests went to several models.
	Models []ModelPart
	// Cached says which input tokens the server had in its cache; nil if no answer states
	// them.
	Cached *figure.Cached
	// Series holds the requests of the part in the order of their starts, including
	// excluded ones, if Config.Series asked for them.
	Series []Point
	// Steps divide the measured time, if Config.Series asked for them.
	Steps []Step
	// FirstTokens holds the first tokens of the requests that count, in the order of their starts, if
	// there is a Config.Observer.
	FirstTokens []FirstToken
	// Unsteady holds the reasons why the load or the server may not have been in a
	// steady state. They are also among the Warnings.
	Unsteady []*Unsteady
	// Unsettled holds further such reasons, which take longer to find and are not among the Warnings: few
	// first requests that took longer, and latencies that drift during the level. nil unless
	// Config.Settling asked for them.
	Unsettled []*Unsteady
	// Problem is the reason why the level lacks the selected part or the windows. The
	// level then has no figures.
	Problem error
	// Pauses lists the times in which the recorder could not run during the level.
	// Paused counts the requests that they touched: successful requests, or the requests that
	// Selection.WithoutPauses left out.
	Pauses []export.Pause
	Paused int
	// Client holds the recorder's figures about itself; nil if it measured none.
	Client   *export.ClientMeta
	Warnings []error
}

// FailedRequests returns the number of failed requests of all classes.
func (e *Experiment) FailedRequests() int { return figure.Total(e.Failed) }

// ExcludedRequests returns the number of requests that were left out for a reason other
// than failure.
func (e *Experiment) ExcludedRequests() int { return figure.Total(e.Excluded) }

// A Tokenizer describes a tokenizer in reports.
type Tokenizer struct {
	Name   string // as the user named it
	SHA256 string // of its file, in hex
}

// A Window is the analysis of a part of a level. Metrics are of the requests that
// started in it. Rates are computed like the rates of a [Selected] part.
type Window struct {
	figure.Span
	OffsetNS   int64 // of its start, from the start of the level; below 0 for a recorded window that began before
	OK, Failed int   // requests that started in it
	Metrics    []summary.Metric
	Throughput figure.Throughput
}

// Metric returns the summary of a metric; nil if it has no values.
func (w *Window) Metric(m answer.Metric) *summary.Summary { return summary.Find(w.Metrics, m) }

// A ModelPart is the analysis of the requests to one of several models. Its rates are
// over the time of the level, or of its selected part.
type ModelPart struct {
	Model      string
	OK, Failed int
	Metrics    []summary.Metric
	Throughput figure.Throughput
}

// Metric returns the summary of a metric; nil if it has no values.
func (m *ModelPart) Metric(x answer.Metric) *summary.Summary { return summary.Find(m.Metrics, x) }

// A Step is the time from one completed request to the next, with the requests and
// tokens that count in it. The steps of a level cover its time without gaps or
// overlaps and add up to its [Throughput]; they show how much a rate varies.
//
// In a whole level a step ends with the completion of a request that counts, and holds
// this request with all its tokens. In a part of a level a step begins with a completed
// request and holds the tokens that were delivered during the step, as in [Selected];
// the first step begins with the part.
type Step struct {
	Seconds      float64
	Requests     int
	OutputTokens float64 // means nothing where that rate is not OK
}

// A FirstToken is the first token of a request that counts.
type FirstToken struct {
	StartNS uint64
	TTFTNS  int64
}

// Contradictions returns the warnings of the report that say that stored figures contradict what was
// recorded. A command that prints no other warnings prints these.
func (r *Report) Contradictions() []error {
	var all []error
	add := func(warnings []error) {
		for _, w := range warnings {
			if AsWarning(w).Kind == KindContradiction {
				all = append(all, w)
			}
		}
	}
	add(r.Warnings)
	for i := range r.Experiments {
		add(r.Experiments[i].Warnings)
	}
	return all
}

// withoutGPUs returns why a run has no energy of GPUs, if its telemetry holds none.
func (r *Report) withoutGPUs() string {
	m := r.Run.Meta
	switch {
	case r.FromRecorder():
		return "the telemetry holds no GPU: pa-record --collect-metrics with --metrics-url or --nvidia-smi"
	case m != nil && m.Import.Format != "":
		return m.Import.Format + " holds no telemetry of GPUs"
	}
	return "the file holds no telemetry of GPUs"
}

// LevelName returns the name of a load level for people: "concurrency 4"; "load not known" if
// the file does not state it.
func LevelName(mode, value, load string) string {
	switch {
	case load != "":
		return load
	case mode == "" && value == "":
		return "load not known"
	}
	return export.LoadName(mode, value)
}
