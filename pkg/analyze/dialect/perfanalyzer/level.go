package perfanalyzer

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/pawindow"
)

// A Level is a load level as a report shows it.
type Level struct {
	// Mode and Value describe the load as in the export: [export.ModeConcurrency] and a
	// number of requests, or [export.ModeRequestRate] and requests per second, 0
	// for a fixed schedule.
	Mode  string
	Value float64
	// Unnamed says that perf_analyzer prints no line above the level: that of
	// intervals or a fixed schedule.
	Unnamed bool
	// Name names a load that perf_analyzer does not report, such as "Session
	// concurrency 4"; "" for other loads.
	Name string

	// Windows are all windows of the level, in order.
	Windows []pawindow.Summary
	// Summary is what the last of them come to together.
	Summary pawindow.Summary
	// Unreported says that perf_analyzer did not get as far as to report the level,
	// which it was measuring when it was interrupted.
	Unreported bool
	// NoRate and NoLatency say why the throughput and the latencies cannot be
	// told, of a file that does not hold what they are made of; "" when they can.
	NoRate, NoLatency string
	// Sequences says that requests belong to sequences.
	Sequences bool
	// SentPerSecond is how many requests were sent per second of the windows that
	// are reported. It shows when more than 1 % of the requests were delayed.
	SentPerSecond float64

	// Times are the means within the client; nil when they are not known.
	Times *pawindow.MeanTimes
	// OverheadPct is how much of the time the client was busy; nil when that is
	// not known.
	OverheadPct *float64
	// Server is what the server counted of the model; nil when that is not known, or
	// there were several.
	Server *Model
	// Servers are what it counted of several models, which perf_analyzer never asks.
	Servers []Model
	// NoServer says that there is none of that: the server is of a kind that
	// counts nothing, or does not tell.
	NoServer bool
	// GPUs are what the server told of its GPUs; nil when it was not asked.
	GPUs *GPUs

	// Notes are lines that perf_analyzer has not, behind that of the request count.
	Notes []string
}

// Serve sets what the server counted, of each model that requests went to.
func (l *Level) Serve(models []Model) {
	switch len(models) {
	case 0:
	case 1:
		l.Server = &models[0]
	default:
		l.Servers = models
	}
}

// inUS returns times in whole microseconds, and what is left between sending and
// receiving.
func inUS(t *pawindow.MeanTimes) (request, send, receive, wait uint64) {
	request, send, receive = us(t.Request), us(t.Send), us(t.Receive)
	wait = request - min(send+receive, request)
	return request, send, receive, wait
}

// A Model is what a server counted of a model in the windows that are reported.
type Model struct {
	Name, Version string
	Stats
	// ResponseCache says that requests may be answered from the cache: of the
	// model, or of one that it is composed of.
	ResponseCache bool
	// TopLevelCache says that this is so for an ensemble itself.
	TopLevelCache bool
	// Composing are the models that requests are handed on to, by name and
	// version.
	Composing []Model
}

// Stats are the counters of a model: what they grew by in the windows.
type Stats struct {
	Inferences, Executions uint64
	// Success counts requests and the time from their arrival to the end, the
	// others what of it went by waiting, in the model, and with the response cache.
	Success, Queue, ComputeInput, ComputeInfer, ComputeOutput, CacheHit, CacheMiss Count
}

// A Count is how often something happened, and how long that took in all.
type Count struct{ N, NS uint64 }

// GPUs are the values of each GPU, by UUID in ascending order: the means of
// utilization (0 to 1) and power (W), the most memory used, and the memory there
// is (bytes).
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
	if c := m.Client; c != nil {
		if c.CPU != nil {
			pct := c.CPU.Share * 100
			l.OverheadPct = &pct
		}
		l.SentPerSecond = c.AchievedPerSecond
		l.note("Requests held back", c.HeldBack, " (as many were in flight as may be)")
	}
	l.note("Failed requests", m.Failed, "")
	l.note("Cancelled requests", m.Cancelled, "")
	l.note("Requests sent again", m.Resent, " (their connections were closed under them)")
	return l
}

// note adds a line about n, unless that is 0.
func (l *Level) note(what string, n int, why string) {
	if n > 0 {
		l.Notes = append(l.Notes, fmt.Sprintf("%s: %d%s", what, n, why))
	}
}

// number returns what stands in the first column of the CSV file and in the
// summary: the number of the level.
func (l *Level) number() string {
	if l.Mode == export.ModeRequestRate && l.Value == 0 {
		return "1" // a fixed schedule leaves the rate at its default
	}
	return six(l.Value)
}

func (l *Level) throughput(s *Settings) float64 {
	return l.Summary.PerSecond(l.Summary.Requests * max(s.BatchSize, 1))
}

// delayedPct is how many of the requests were sent later than due.
func (l *Level) delayedPct() float64 {
	return float64(l.Summary.Delayed) / float64(l.Summary.Requests) * 100
}
