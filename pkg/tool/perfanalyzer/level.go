package perfanalyzer

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/pawindow"
)

// A Level is a load level in a report.
type Level struct {
	// Mode and Value describe the load as in the export: [export.ModeConcurrency] and a
	// number of requests, or [export.ModeRequestRate] and requests per second, 0
	// for a fixed schedule.
	Mode  string
	Value float64
	// Unnamed is set if perf_analyzer prints no line above the level: for intervals
	// and fixed schedules.
	Unnamed bool
	// Name names a load that perf_analyzer does not report, such as "Session
	// concurrency 4"; "" for other loads.
	Name string

	// Windows are all windows of the level, in order.
	Windows []pawindow.Summary
	// Summary is the figures of the reported windows together.
	Summary pawindow.Summary
	// Unreported is set if perf_analyzer was interrupted in the level and did not
	// report it.
	Unreported bool
	// NoRate and NoLatency say why the file has no data for the throughput and the
	// latencies; "" if it has.
	NoRate, NoLatency string
	// Sequences is set if requests belong to sequences.
	Sequences bool
	// SentPerSecond is the number of requests sent per second of the reported
	// windows. The report shows it if more than 1 % of the requests were delayed.
	SentPerSecond float64

	// Times are the means within the client; nil if unknown.
	Times *pawindow.MeanTimes
	// OverheadPct is the percentage of time in which the client was busy; nil if
	// unknown.
	OverheadPct *float64
	// Server has the server's statistics of the model; nil if they are unknown or
	// there are several models.
	Server *Model
	// Servers has the statistics of several models, which perf_analyzer does not
	// support.
	Servers []Model
	// NoServer is set if the server has no statistics.
	NoServer bool
	// GPUs has the server's GPU metrics; nil if they were not collected.
	GPUs *GPUs

	// Notes are pa-record's own lines after the line of the request count.
	Notes []string
}

// Serve sets the server's statistics of each model that requests went to.
func (l *Level) Serve(models []Model) {
	switch len(models) {
	case 0:
	case 1:
		l.Server = &models[0]
	default:
		l.Servers = models
	}
}

// inUS returns times in whole microseconds; wait is the time between sending and
// receiving.
func inUS(t *pawindow.MeanTimes) (request, send, receive, wait uint64) {
	request, send, receive = us(t.Request), us(t.Send), us(t.Receive)
	wait = request - min(send+receive, request)
	return request, send, receive, wait
}

// A Model has the server's statistics of a model in the reported windows.
type Model struct {
	Name, Version string
	Stats
	// ResponseCache is set if the model or one of its composing models may answer
	// requests from its cache.
	ResponseCache bool
	// TopLevelCache is set if an ensemble itself has a cache.
	TopLevelCache bool
	// Composing are the models of an ensemble, by name and version.
	Composing []Model
}

// Stats are the differences of a model's counters over the windows.
type Stats struct {
	Inferences, Executions uint64
	export.InferenceStats
}

// GPUs are the values of each GPU, by UUID in ascending order: the means of
// utilization (0 to 1) and power (W), the most memory used and the total memory
// (bytes).
type GPUs struct {
	Utilization, Power, MemoryUsed, Memory []GPUValue
}

// A GPUValue is a value of one GPU.
type GPUValue struct {
	UUID  string
	Value float64
}

// NewLevel returns a level without measurements. mode and value come from the export; m
// holds what pa-record recorded about the level, nil for other recorders.
func (s *Settings) NewLevel(mode, value string, m *export.ExperimentMeta) Level {
	l := Level{Mode: mode, NoServer: s.openAI()}
	l.Value, _ = strconv.ParseFloat(value, 64)
	l.Unnamed = s.unnamed || mode == export.ModeRequestRate && l.Value == 0
	if m == nil {
		return l
	}
	if s.own && m.Load != "" {
		l.Name, l.Unnamed = strings.ToUpper(m.Load[:1])+m.Load[1:], false
	}
	if c, _ := m.Client.Possible(); c != nil {
		if c.CPU != nil {
			l.OverheadPct = new(c.CPU.Share * 100)
		}
		l.SentPerSecond = c.AchievedPerSecond
		l.note("Requests held back", c.HeldBack, " (the limit of requests in flight was reached)")
	}
	l.note("Failed requests", m.Failed, "")
	l.note("Cancelled requests", m.Cancelled, "")
	l.note("Requests sent again", m.Resent, " (their connections were closed under them)")
	return l
}

// note adds a line about n requests, unless n is 0.
func (l *Level) note(what string, n int, why string) {
	if n > 0 {
		l.Notes = append(l.Notes, fmt.Sprintf("%s: %d%s", what, n, why))
	}
}

// number returns the number of the level for the first column of the CSV file and
// for the summary.
func (l *Level) number() string {
	if l.Mode == export.ModeRequestRate && l.Value == 0 {
		return "1" // a fixed schedule leaves the rate at its default
	}
	return six(l.Value)
}

func (l *Level) throughput(s *Settings) float64 {
	return l.Summary.PerSecond(l.Summary.Requests * max(s.BatchSize, 1))
}

// delayedPct returns the percentage of requests that were sent late.
func (l *Level) delayedPct() float64 {
	return float64(l.Summary.Delayed) / float64(l.Summary.Requests) * 100
}
