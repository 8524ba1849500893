package recorder

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/load"
)

// loadDetail describes a level that Mode and Value do not determine, and returns "" for
// other levels.
func loadDetail(level load.Level) string {
	if level.Traits().Plain {
		return ""
	}
	return level.String()
}

// latencyUnstable is the warning of Measure.ThroughputSuffices.
const latencyUnstable = "the throughput is stable, the latency is not; that is enough for asynchronous sending, but a lower load may also give a stable latency"

// tooFewRequests returns a warning if the request count is below the concurrency of
// its level, else "". A count of 0 means that there is no limit.
func tooFewRequests(level load.Level, requests int) string {
	n := level.Slots()
	if _, open := level.(load.Open); !open && !level.Traits().PlaysData && 0 < requests && requests < n {
		return fmt.Sprintf("the request count of %s is below the concurrency, so at most %s of %s requests %s in flight; raise the count, or give it as a multiple such as 5x", plural.Grouped(requests), plural.Grouped(requests), plural.Grouped(n), plural.Form(requests, "was", "were"))
	}
	return ""
}

// sentWarning returns the warning that the rate of the level was not sent; "" if it was, or if
// Saturated says so. The export does not have the warning, because analysis finds it.
func (l *levelRun) sentWarning(m *export.ClientMeta) string {
	rate, ok := l.load.(load.Rate)
	unsent := func(why string) bool { return strings.Contains(why, export.UnsentWarning) }
	if !ok || slices.ContainsFunc(l.out.Saturated, unsent) {
		return ""
	}
	return export.SentWarning(rate.PerSecond/float64(max(l.cfg.share(rate).Size, 1)), m.AchievedPerSecond)
}

// experiment returns the level as the export shows it.
func (l *levelRun) experiment() *export.Experiment {
	e := &export.Experiment{Meta: &export.ExperimentMeta{
		ServerStats: l.out.ServerStats,
		Load:        loadDetail(l.load), StartNS: l.startNS, EndNS: l.cfg.Clock.NowNS(), Stable: l.out.Stable,
		RequestCounts: export.RequestCounts{
			Measured: l.out.OK, Failed: l.out.Failed, Warmup: l.out.Warmup, Late: l.out.Late, Cancelled: l.out.Cancelled,
			Resent: l.out.Resent, OutputsDropped: l.dropped,
		},
		Interrupted: l.stopped, OverLatencyLimit: l.out.OverLimit, Share: l.levelShare(), Prompts: l.prompts(),
	}}
	if d, ok := l.driver.(interface{ Sessions() *export.SessionCounts }); ok {
		l.out.Sessions = d.Sessions()
		e.Meta.Sessions = l.out.Sessions
	}
	l.out.Prompts = e.Meta.Prompts
	if l.late != "" {
		e.Meta.Warnings = append(e.Meta.Warnings, l.late)
	}
	if l.out.Unstable() {
		e.Meta.Warnings = append(e.Meta.Warnings, "not stable within "+plural.GroupedOf(len(l.out.Windows), "window"))
	}
	if l.dropped > 0 {
		e.Meta.Warnings = append(e.Meta.Warnings, fmt.Sprintf("the disk did not keep up: the outputs of %s are lost, their times are kept", plural.GroupedOf(l.dropped, "request")))
	}
	if l.client != nil {
		e.Meta.Client = l.client.Finish(l.driver.Offered(l.admission.BeganNS()))
		l.out.Latency = l.latencies.Summary()
		l.out.Client = e.Meta.Client
		l.out.Warnings = l.driver.Warnings()
		if w := tooFewRequests(l.load, l.cfg.measure(l.load).Requests); w != "" {
			l.out.Warnings = append(l.out.Warnings, w)
		}
		if l.cfg.ServerDetails && l.stated < l.out.OK {
			l.out.Warnings = append(l.out.Warnings, fmt.Sprintf("%d of %s %s no server times; vLLM needs --enable-per-request-metrics and answers with usage (--include-usage), SGLang states them in /generate only, llama.cpp in chats and completions, Dynamo if it supports nvext", l.out.OK-l.stated, plural.GroupedOf(l.out.OK, "answer"), plural.Form(l.out.OK-l.stated, "states", "state")))
		}
		if w := l.sequences.BrokenWarning(); w != "" {
			l.out.Warnings = append(l.out.Warnings, w)
		}
		if v := l.meter.Verdict(); v != nil && v.LatencyUnstable {
			l.out.Warnings = append(l.out.Warnings, latencyUnstable)
		}
		e.Meta.Warnings = append(e.Meta.Warnings, l.out.Warnings...)
		l.out.Saturated = saturation(e.Meta.Client, l.out.Latency.Percentiles[50])
		e.Meta.Warnings = append(e.Meta.Warnings, l.out.Saturated...)
		if w := l.sentWarning(e.Meta.Client); w != "" {
			l.out.Warnings = append(l.out.Warnings, w)
		}
	}
	l.out.OutputsDropped = l.dropped
	for i, w := range l.out.Windows {
		if i == 0 {
			e.WindowBoundaries = append(e.WindowBoundaries, w.StartNS)
		}
		e.WindowBoundaries = append(e.WindowBoundaries, w.EndNS)
	}
	return e
}
