package diff

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/analyze/inference"
	"github.com/pa-tools/pa/pkg/analyze/serverfigures"
	"github.com/pa-tools/pa/pkg/analyze/summary"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// A RunLevel is one load level of a run, or the part of it that was selected.
type RunLevel struct {
	Run         *Run // that has the level
	Mode, Value string
	Load        string // see [analyze.Experiment]
	// Selected is the part that all figures are about; nil for the whole level.
	Selected *analyze.Selected
	// Problem says why the level lacks the selected part. It then has no figures.
	Problem error

	OK, Failed int
	// Unreadable counts requests that the reader left out.
	Unreadable int
	// DurationNS is the measured time: from the first start to the last response
	// of the successful requests, or the selected part.
	DurationNS  int64
	TokenSource answer.TokenSource
	// Stamps and Starts count the times of responses and of requests by source.
	Stamps, Starts analyze.Stamps
	// Clock is the calibrated error of these times; nil without a calibration.
	Clock *export.CalibratedRecording
	// Input and Output are the numbers of tokens of requests; nil if unknown.
	Input, Output *summary.Summary
	// Backward counts gaps below 0: the clock was set back.
	Backward int
	// Hidden counts the output tokens that the server counts before the first visible one; nil for none.
	Hidden      *analyze.Hidden
	Unstable    bool // the recorder's stability rule was not met
	Interrupted bool
	Saturated   []string // why the client may have been the limit
	Unsteady    []string // why the load may not have been steady
	// Cached says that the server had prompts in its cache that the requests of the level do
	// not share, and why.
	Cached []string
	// Pauses are the times in which the recorder could not run, Paused the requests
	// that they touched.
	Pauses []export.Pause
	Paused int
	// Together counts the TokenEvents that arrived together with the previous one.
	Together, TokenEvents int
	// Server has the figures of servers and GPUs, and then the level's figures that the Config asked for.
	Server []serverfigures.Figure
	// Jobs are the finished sessions of the level, if the Config asked for sessions.
	Jobs []figure.Job

	settings map[string]string // of the recorder, as JSON; nil if not recorded
	// datasetHash and promptHash are hashes of the input data, with and without
	// parameters; "" if not recorded.
	datasetHash, promptHash string
	parameters              map[string]string
	untimed                 string // why the order of its requests is unknown; "" if known
	// values holds the value of each of Metrics; NaN for a missing one.
	values [len(Metrics)]float64
	n      [quantities]int  // number of values of each quantity
	same   [quantities]bool // all values are the same
	// figures holds the figures of quality, and noFigure why one has no value; nil unless
	// Config.Quality is set.
	figures  map[quantity]float64
	noFigure map[quantity]string
	// follow holds the values in the order of time; nil unless the run was read with Config.Series.
	follow *levelSeries
}

// Name returns "concurrency 8"; "load not known" if the file of another tool does not state it. A load of sessions or a schedule, for
// whose number perf_analyzer writes 0.0, has the recorder's description.
func (l *RunLevel) Name() string {
	if l.Mode == export.ModeRequestRate && l.Value == "0.0" && l.Load != "" {
		return l.Load
	}
	return analyze.LevelName(l.Mode, l.Value, "")
}

// loadKnown reports whether the file states the load.
func (l *RunLevel) loadKnown() bool { return l.Mode != "" || l.Value != "" || l.Load != "" }

// allOfLoad returns the recorder's description of the load if it says more than the
// name; else load; "" if the load is not known.
func (l *RunLevel) allOfLoad() string {
	if !l.loadKnown() {
		return ""
	}
	if l.Load != "" {
		return l.Load
	}
	return l.load()
}

// load returns the name with a canonical number: 10 for 10.0.
func (l *RunLevel) load() string {
	if x, err := strconv.ParseFloat(l.Value, 64); err == nil {
		return analyze.LevelName(l.Mode, strconv.FormatFloat(x, 'g', -1, 64), "")
	}
	return l.Name()
}

// sameLoad reports whether two levels have the same mode and value; 10 equals 10.0.
func (l *RunLevel) sameLoad(o *RunLevel) bool { return l.load() == o.load() }

// level returns the figures of an analyzed level that a comparison needs.
func level(e *analyze.Experiment, run *export.Run, m *export.ExperimentMeta) RunLevel {
	l := RunLevel{
		Mode: e.Mode, Value: e.Value, Load: e.Load, Selected: e.Selected, Problem: e.Problem,
		OK: e.OK, Failed: e.FailedRequests(), Unreadable: e.Unreadable, DurationNS: e.DurationNS,
		TokenSource: e.TokenSource, Stamps: e.Stamps, Starts: e.Starts, Backward: e.Backward, Hidden: e.Hidden,
		Input: e.Metric(answer.InputTokens), Output: e.Metric(answer.OutputTokens), Server: slices.Concat(e.Server, levelFigures(e)),
		Pauses: e.Pauses, Paused: e.Paused, Together: e.SharedStamps, TokenEvents: e.TokenEvents,
	}
	if x := e.Sessions; x != nil {
		l.Jobs = x.Jobs
	}
	for _, why := range e.Unsteady {
		l.Unsteady = append(l.Unsteady, why.Brief)
	}
	for _, err := range e.Warnings {
		if w := analyze.AsWarning(err); w.Kind == analyze.KindCache {
			why, _, _ := strings.Cut(w.Error(), ";")
			l.Cached = append(l.Cached, why)
		}
	}
	l.untimed, _ = run.LevelLacks(e.Mode, e.Value, export.PartStarts)
	if run.Meta != nil {
		calibration, _ := run.Meta.Calibration.Possible()
		l.Clock = clock(run.Meta.Protocol, calibration, &e.Stamps)
		l.settings = settings(run.Meta.Config)
		l.datasetHash, l.promptHash, l.parameters = run.Meta.DatasetSHA256, run.Meta.PromptsSHA256, run.Meta.Parameters
	}
	if m != nil {
		l.Unstable = m.Stable != nil && !*m.Stable
		l.Interrupted = m.Interrupted
		for _, w := range m.Warnings {
			if why, ok := strings.CutPrefix(w, export.SaturationWarning); ok {
				l.Saturated = append(l.Saturated, why)
			}
		}
	}
	l.statistics(e, run)
	return l
}

// clock returns the calibrated error of the source that took most of the times, for
// the run's protocol if it was calibrated; nil without a calibration.
func clock(protocol string, c *export.Calibration, stamps *analyze.Stamps) *export.CalibratedRecording {
	if c == nil {
		return nil
	}
	by := "kernel"
	if stamps.User > stamps.Kernel {
		by = "user"
	}
	services := c.Services
	if i := slices.IndexFunc(services, func(s export.CalibratedService) bool {
		return strings.HasSuffix(s.Service, "grpc") == (protocol == "grpc")
	}); i >= 0 {
		services = services[i : i+1]
	}
	for i := range services {
		for j := range services[i].Recordings {
			if r := &services[i].Recordings[j]; r.Stamps == by {
				return r
			}
		}
	}
	return nil
}

// settings returns the members of a recorder's configuration, each as compact JSON;
// nil if config is not an object.
func settings(config json.RawMessage) map[string]string {
	var members map[string]json.RawMessage
	if json.Unmarshal(config, &members) != nil || members == nil {
		return nil
	}
	texts := map[string]string{}
	for name, value := range members {
		var b bytes.Buffer
		if json.Compact(&b, value) == nil { // it was read
			texts[name] = b.String()
		}
	}
	return texts
}

// statistics fills values and n.
func (l *RunLevel) statistics(e *analyze.Experiment, run *export.Run) {
	var summaries [seriesQuantities]*summary.Summary
	for q, m := range measures {
		if summaries[q] = metricOf(e, m); summaries[q] != nil {
			l.n[q], l.same[q] = summaries[q].N, summaries[q].Min == summaries[q].Max
		}
	}
	l.qualityFigures(e.Quality)
	rates := map[quantity]figure.Rate{outputRate: e.Throughput.OutputTokens, requestRate: e.Throughput.Requests}
	for q, r := range rates {
		if r.OK {
			l.n[q] = max(l.OK, len(e.Steps))
		}
	}
	_, partial := run.LevelLacks(e.Mode, e.Value, export.PartRequests)
	l.n[failedShare] = l.OK + l.Failed
	for i, m := range Metrics {
		v := math.NaN()
		switch {
		case m.of == failedShare:
			if l.OK+l.Failed > 0 && !partial {
				v = float64(l.Failed) / float64(l.OK+l.Failed)
			}
		case m.of >= seriesQuantities && m.Quality:
			if figure, ok := l.figures[m.of]; ok {
				v = figure
			}
		case m.of >= seriesQuantities:
			if r := rates[m.of]; r.OK {
				v = r.PerSecond
			}
		case summaries[m.of] == nil:
		case m.pct > 0:
			v = summaries[m.of].P(m.pct)
		default:
			v = summaries[m.of].Mean
		}
		l.values[i] = v
	}
}

// metricOf returns the summary of a metric of the level or of its quality; nil if it has no values.
func metricOf(e *analyze.Experiment, m answer.Metric) *summary.Summary {
	if s := e.Metric(m); s != nil || e.Quality == nil {
		return s
	}
	return e.Quality.Metric(m)
}

// failuresUnknown reports whether the level has requests, but not the share of them that failed.
func (l *RunLevel) failuresUnknown() bool {
	return l.OK+l.Failed > 0 && math.IsNaN(l.Statistic(KeyFailedShare))
}

// ofLevel is the subject of the figures of a whole level.
const ofLevel = "the level"

// levelFigures returns the figures of a level and the means of what answers state, without quality. They are compared
// like figures of servers: without a verdict, and with an interval if there are several runs a side.
func levelFigures(e *analyze.Experiment) []serverfigures.Figure {
	var all []serverfigures.Figure
	for _, p := range figure.Parts {
		metrics, figures := p.Of(&e.Level)
		if p.Name != "quality" {
			for _, m := range metrics {
				d := m.Definition
				all = append(all, serverfigures.Figure{Name: d.Label() + " mean", Metric: d.Key(), Kind: serverfigures.Gauge, Of: ofLevel, Unit: string(d.Unit()), N: uint64(m.Summary.N), Mean: m.Summary.Mean})
			}
		}
		for i := range figures {
			if f := &figures[i]; p.Name != "quality" { // has verdicts
				all = append(all, serverfigures.Figure{Name: f.Label, Metric: f.Key, Kind: serverfigures.Gauge, Of: ofLevel, Unit: f.Unit, N: uint64(e.OK), Mean: f.Value, NA: f.Why})
			}
		}
	}
	return all
}

// Within estimates a metric of the level from its requests in the order of time, with an interval for this run
// alone: it does not include how much runs differ. The run must have been read with Config.Series, and not be
// closed yet. The share of failed requests and metrics of quality have no estimate.
func (l *RunLevel) Within(m *Metric) inference.Estimate {
	none := func(why string) inference.Estimate {
		return inference.Estimate{Value: l.Statistic(m.Key), NA: inference.NA{Reason: why}}
	}
	switch {
	case l.Problem != nil:
		return none(l.Problem.Error())
	case math.IsNaN(l.Statistic(m.Key)):
		return none("the run has no value")
	case l.untimed != "":
		return none("the order of time is not known: " + l.untimed)
	case l.follow == nil || m.Quality || m.of == failedShare:
		return none("no values in the order of time")
	case m.of == requestRate:
		return l.follow.rate(l.follow.done)
	case m.of == outputRate:
		return l.follow.rate(l.follow.tokens)
	case m.pct == 0:
		return l.follow.of(m.of).Mean()
	}
	return l.follow.of(m.of).Quantile(m.pct / 100)
}

// Statistic returns the value of the metric with this key; NaN if the level has none, or if
// there is no such metric.
func (l *RunLevel) Statistic(key string) float64 {
	i := slices.IndexFunc(Metrics[:], func(m *Metric) bool { return m.Key == key })
	if i < 0 {
		return math.NaN()
	}
	return l.values[i]
}
