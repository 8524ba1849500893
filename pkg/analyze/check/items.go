package check

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// A checker decides the items of one level.
type checker struct {
	rep  *analyze.Report
	x    *analyze.Experiment
	p    *Profile
	sent *plannedTimes
	from answer.From
}

// items returns the items in the order of the checklist.
func (c *checker) items() []Item {
	all := []Item{
		c.warmup(), c.duration(), c.samples(), c.loop(), c.omission(), c.client(), c.clock(), c.tokens(), c.failures(), c.cache(), c.steady(), c.process(),
	}
	if c.p.Poisson {
		all = append(all, c.arrivals())
	}
	return append(all, c.values()...)
}

// decided returns an item that passes if ok.
func decided(name string, ok bool, value float64, unit, text string) Item {
	x := Item{Name: name, Status: Fail, Text: text, Value: value, HasValue: true, Unit: unit}
	if ok {
		x.Status = Pass
	}
	return x
}

// unknown returns an item that is n/a.
func unknown(name, why string) Item { return Item{Name: name, Status: NA, Text: why} }

// warmup asks whether requests before the measurement were left out.
func (c *checker) warmup() Item {
	const name = "warm-up"
	n := 0
	for _, e := range c.x.Excluded {
		if e.Name == "warmup" {
			n = e.N
		}
	}
	m := c.rep.Run.Meta
	switch {
	case n > 0:
		return decided(name, true, float64(n), "requests", plural.GroupedOf(n, "request")+" before the measurement left out")
	case m == nil:
		return unknown(name, "the file does not record requests of a warm-up")
	case m.Import != nil:
		return unknown(name, m.Import.Format+" holds no requests of a warm-up")
	}
	return decided(name, false, 0, "requests", "no request before the measurement")
}

// duration asks whether the level lasted long enough.
func (c *checker) duration() Item {
	const name = "duration"
	if c.x.DurationNS <= 0 {
		return unknown(name, "the times of the requests are not known")
	}
	d := time.Duration(c.x.DurationNS)
	return decided(name, d >= c.p.MinDuration, d.Seconds(), "s", fmt.Sprintf("%.1f s; at least %.0f s needed", d.Seconds(), c.p.MinDuration.Seconds()))
}

// samples asks whether there are enough requests for percentiles.
func (c *checker) samples() Item {
	text := fmt.Sprintf("%s; at least %s needed to certify p99", plural.GroupedOf(c.x.OK, "successful request"), plural.Grouped(c.p.MinSamples))
	return decided("samples", c.x.OK >= c.p.MinSamples, float64(c.x.OK), "requests", text)
}

// loop names the kind of load.
func (c *checker) loop() Item {
	const name = "load"
	switch {
	case c.x.Mode == export.ModeConcurrency && !c.scheduled():
		return decided(name, !c.p.Poisson, number(c.x.Value), "requests in flight", "closed loop of "+c.x.Value+": a slower server gets less load")
	case c.x.Mode == export.ModeRequestRate || c.scheduled():
		for _, w := range c.x.Warnings {
			if k := analyze.AsWarning(w); k.Sub == analyze.SubSent {
				return decided(name, false, c.x.Sent.PerSecond, "requests/s", k.Error())
			}
		}
		return decided(name, true, number(c.x.Value), "requests/s", "open loop: the schedule does not wait for answers")
	}
	return unknown(name, "the file does not say whether the load waited for answers")
}

// number returns the value of a level; 0 if it is no finite number.
func number(value string) float64 {
	v, err := strconv.ParseFloat(value, 64)
	if err != nil || !stat.Finite(v) {
		return 0
	}
	return v
}

// scheduled reports whether requests have a schedule.
func (c *checker) scheduled() bool { return len(c.sent.lateness) > 0 }

// omission asks whether latencies leave out the time that requests waited in the client. A client that
// stalls sends few requests late, because it sends none while it stalls. So the p99 of their delay may be
// small, and the mean and the maximum show it.
func (c *checker) omission() Item {
	const name = "coordinated omission"
	if !c.scheduled() {
		if c.x.Mode == export.ModeConcurrency {
			return unknown(name, "a closed loop has no schedule that requests could miss")
		}
		return unknown(name, "the file holds no schedule of the requests")
	}
	slices.Sort(c.sent.lateness)
	late := stat.Quantile(c.sent.lateness, 0.99)
	text := "p99 of start − schedule is " + milliseconds(late)
	if c.from == answer.FromScheduled {
		return decided(name, true, late, "ns", text+"; latencies count from the schedule")
	}
	metric := answer.TTFT
	s := c.x.Metric(metric)
	if s == nil {
		metric = answer.E2EL
		s = c.x.Metric(metric)
	}
	if s == nil {
		return unknown(name, "no latency to compare the delay of requests with")
	}
	limit, mean, most := c.p.MaxLate*s.P(50), c.sent.meanLateness(), float64(c.sent.lateness[len(c.sent.lateness)-1])
	text = fmt.Sprintf("%s, at most %s allowed (%.0f %% of the median %s); the maximum is %s, at most %s allowed (p99 of %s); mean %s is %s from the start and %s from the schedule, at most %.0f %% more allowed",
		text, milliseconds(limit), 100*c.p.MaxLate, metric.Label(), milliseconds(most), milliseconds(s.P(99)), metric.Label(),
		metric.Label(), milliseconds(s.Mean), milliseconds(s.Mean+mean), 100*c.p.MaxMeanLate)
	ok := late <= limit && mean <= c.p.MaxMeanLate*s.Mean && most <= s.P(99)
	if !ok {
		text += "; --from scheduled counts the wait"
	}
	return decided(name, ok, late, "ns", text)
}

// cache asks whether the server had prompts in its cache that the requests of the level do
// not share.
func (c *checker) cache() Item {
	const name = "prompt cache"
	cached := c.x.Cached
	for _, w := range c.x.Warnings {
		if k := analyze.AsWarning(w); k.Kind == analyze.KindCache && cached != nil {
			if !cached.Known && !cached.Again {
				return unknown(name, k.Error()) // the requests of the level may share their prompts
			}
			return Item{Name: name, Status: Fail, Text: k.Error(), Value: cached.Share, HasValue: true, Unit: "ratio"}
		}
	}
	switch {
	case cached == nil:
		why := "no answer states cached tokens"
		if kind := c.rep.Run.ServiceKind; kind != nil && *kind == "openai" && c.rep.FromRecorder() {
			why += "; vLLM states them with --enable-prompt-tokens-details, SGLang with --enable-cache-report"
		}
		return unknown(name, why)
	case cached.Share <= figure.CachedThreshold:
		return decided(name, true, cached.Share, "ratio", fmt.Sprintf("%.1f %% of the input tokens were in the server's cache", 100*cached.Share))
	}
	text := fmt.Sprintf("%.1f %% of the input tokens were in the server's cache, which requests of this level share", 100*cached.Share)
	if cached.Twice > figure.CachedThreshold {
		text += fmt.Sprintf(", %.1f %% because it sends prompts more than once", 100*cached.Twice)
	}
	return decided(name, true, cached.Share, "ratio", text)
}

// client asks whether the client was the limit.
func (c *checker) client() Item {
	const name = "client"
	for _, w := range append(append([]error{}, c.x.Warnings...), c.rep.Warnings...) {
		if analyze.AboutClient(w) {
			return Item{Name: name, Status: Fail, Text: analyze.AsWarning(w).Error()}
		}
	}
	m := c.x.Client
	switch {
	case m == nil:
		return unknown(name, "the file holds no measurements of the client itself")
	case m.CPU == nil:
		return Item{Name: name, Status: Pass, Text: "no sign that the client was the limit; its CPU time is not known"}
	}
	return decided(name, true, m.CPU.Share, "ratio", fmt.Sprintf("%.0f %% of the CPU time of %s, and no sign that the client was the limit", 100*m.CPU.Share, plural.Of(m.CPU.Cores, "core")))
}

// clock asks how far times are from the truth.
func (c *checker) clock() Item {
	const name = "clock"
	if c.x.Backward > 0 {
		return decided(name, false, float64(c.x.Backward), "gaps", plural.GroupedOf(c.x.Backward, "gap")+" between tokens below 0: the clock was set back")
	}
	for _, w := range c.rep.Warnings {
		if k := analyze.AsWarning(w); k.Kind == analyze.KindImpossible && k.Sub == analyze.SubCalibration {
			return Item{Name: name, Status: Fail, Text: k.Error()}
		}
	}
	calibration := c.rep.Calibration()
	if m := c.rep.Run.Meta; calibration == nil {
		if m != nil && m.Import != nil {
			return unknown(name, m.Import.Format+" holds no calibration of its times")
		}
		if !c.rep.FromRecorder() {
			return unknown(name, "the file holds no calibration of its times")
		}
		return unknown(name, "the file holds no calibration; pa-record --calibrate measures the error")
	}
	worst, found := int64(0), false
	for _, s := range calibration.Services {
		for _, r := range s.Recordings {
			if r.Receive != nil && (r.Stamps == "kernel") == (c.x.Stamps.Kernel > 0) {
				worst, found = max(worst, r.Receive.P99NS), true
			}
		}
	}
	if !found {
		return unknown(name, "the calibration has no times of the kind that the run has")
	}
	limit := c.p.MaxClockError
	return decided(name, time.Duration(worst) <= limit, float64(worst), "ns", fmt.Sprintf("p99 error of received times is %s, at most %s allowed", milliseconds(float64(worst)), milliseconds(float64(limit))))
}

// values asks whether all numbers of the file can be true: an item that fails if some cannot, else none.
func (c *checker) values() []Item {
	var wrong []string
	for _, w := range slices.Concat(c.rep.Warnings, c.x.Warnings) { // other items are about the client and the calibration
		if k := analyze.AsWarning(w); k.Kind == analyze.KindImpossible && k.Sub != analyze.SubClient && k.Sub != analyze.SubCalibration {
			wrong = append(wrong, k.Error())
		}
	}
	for i := range c.x.Server {
		if f := &c.x.Server[i]; f.Impossible {
			wrong = append(wrong, fmt.Sprintf("%s of %s: %s", f.Name, sanitize.Clip(f.Of, maxQuotedBytes), f.NA))
		}
	}
	if wrong == nil {
		return nil
	}
	text := wrong[0]
	if n := len(wrong) - 1; n > 0 {
		text += "; " + plural.Of(n, "further warning") + " in the report"
	}
	return []Item{{Name: "values", Status: Fail, Text: text}}
}

// maxQuotedBytes bounds names from servers.
const maxQuotedBytes = 200

// tokens asks whether token counts are counts of tokens.
func (c *checker) tokens() Item {
	const name = "token source"
	switch s := c.x.TokenSource; s {
	case answer.TokenUsage, answer.TokenTokenizer, answer.TokenStated, answer.TokenIDs:
		return Item{Name: name, Status: Pass, Text: "output tokens by " + map[answer.TokenSource]string{
			answer.TokenUsage: "the server's usage", answer.TokenTokenizer: "the tokenizer", answer.TokenStated: "the file's own counts", answer.TokenIDs: "the answers' token ids",
		}[s]}
	case answer.TokenResponses:
		return Item{Name: name, Status: Fail, Text: "output tokens are counts of chunks, which can hold several tokens; --tokenizer counts them"}
	case answer.TokenMixed:
		return Item{Name: name, Status: Fail, Text: "output tokens come from several sources; --token-source chooses one"}
	}
	return unknown(name, "no output tokens are counted")
}

// failures asks how many requests failed.
func (c *checker) failures() Item {
	const name = "failures"
	failed := c.x.FailedRequests()
	all := failed + c.x.OK
	if why, partial := c.rep.Run.LevelLacks(c.x.Mode, c.x.Value, export.PartRequests); partial {
		return unknown(name, why)
	}
	if all == 0 {
		return unknown(name, "no measured request")
	}
	share := float64(failed) / float64(all)
	return decided(name, share <= c.p.MaxFailed, share, "ratio", fmt.Sprintf("%s of %s (%.2f %%), at most %g %% allowed", plural.Grouped(failed), plural.GroupedOf(all, "request"), 100*share, 100*c.p.MaxFailed))
}

// leastSteady is the number of requests from which analysis compares the first tenth of a level
// with the rest.
const leastSteady = 100

// steady asks whether the level was in a steady state.
func (c *checker) steady() Item {
	const name = "steady state"
	_, noStarts := c.rep.Run.LevelLacks(c.x.Mode, c.x.Value, export.PartStarts)
	var why []string
	for _, u := range slices.Concat(c.x.Unsteady, c.x.Unsettled) {
		why = append(why, u.Error())
	}
	switch {
	case why != nil:
		return Item{Name: name, Status: Fail, Text: strings.Join(why, "; ")}
	case noStarts:
		return unknown(name, "the order of the requests is not known")
	case c.x.OK < leastSteady:
		return unknown(name, fmt.Sprintf("too few requests to compare the first tenth with the rest: %s, %d needed", plural.Grouped(c.x.OK), leastSteady))
	}
	return Item{Name: name, Status: Pass, Text: "the first tenth, the first and the last requests are like the rest, and latencies do not drift"}
}

// askedArrivals returns whether a description of a load names a rate, and the distribution of the gaps
// between its requests: "poisson" of "request rate 10, poisson, at most 4 in flight", "" for equal gaps.
func askedArrivals(load string) (rated bool, distribution string) {
	_, rest, rated := strings.Cut(load, "request rate ")
	_, rest, _ = strings.Cut(rest, ", ")
	if strings.HasPrefix(rest, "at most ") {
		return rated, ""
	}
	rest, _, _ = strings.Cut(rest, ",")
	distribution, _, _ = strings.Cut(rest, " of ")
	return rated, distribution
}

// process asks whether requests were sent as the process that the load names.
func (c *checker) process() Item {
	const name = "arrivals"
	rated, distribution := askedArrivals(c.x.Load)
	switch {
	case c.x.Mode == export.ModeConcurrency && !c.scheduled():
		return unknown(name, "a closed loop sends when an answer ends, so it has no arrival process")
	case distribution == "poisson":
	case distribution != "":
		return unknown(name, "only Poisson arrivals are tested, and the load asked for "+distribution+"-distributed gaps")
	case rated, c.x.Load == "" && c.rep.FromRecorder():
		return unknown(name, "only Poisson arrivals are tested, and the load asked for equal gaps; coordinated omission says how late requests were")
	case c.x.Load != "":
		return unknown(name, "only Poisson arrivals are tested, and the load is a recorded schedule")
	default:
		return unknown(name, "the file does not say which arrival process was asked for")
	}
	if _, noStarts := c.rep.Run.LevelLacks(c.x.Mode, c.x.Value, export.PartStarts); noStarts {
		return unknown(name, "the file does not say when requests were sent")
	}
	p, why := poissonOf(c.sent.starts)
	if why != "" {
		return unknown(name, why)
	}
	text := fmt.Sprintf("as a Poisson process: distance of the gaps from an exponential distribution %.3f, at most %.3f allowed; correlation of neighbouring gaps %.3f, at most ±%.3f; the second half of the gaps %.2f times as long as the first, at most %.2f or 1/%.2f",
		p.distance, poissonLimit, p.lag, p.lagLimit, p.halves, p.halvesLimit, p.halvesLimit)
	failed := p.failures()
	if len(failed) > 0 {
		text = "not " + text + "; " + strings.Join(failed, ", ")
	}
	return decided(name, len(failed) == 0, p.distance, "", text)
}

// arrivals asks whether requests arrived as a Poisson process.
func (c *checker) arrivals() Item {
	const name = "Poisson arrivals"
	if _, noStarts := c.rep.Run.LevelLacks(c.x.Mode, c.x.Value, export.PartStarts); noStarts {
		return unknown(name, "the file does not say when requests were sent")
	}
	what := "sent"
	if c.scheduled() {
		what = "scheduled"
	}
	if why := undoRounding(c.sent.arrivals); why != "" {
		return unknown(name, why)
	}
	d, ok := exponentialDistance(c.sent.arrivals)
	if !ok {
		return unknown(name, fmt.Sprintf("at least %d gaps between %s requests are needed", leastGaps, what))
	}
	return decided(name, d <= poissonLimit, d, "", fmt.Sprintf("distance %.3f of the gaps between %s requests from an exponential distribution, at most %.3f allowed (Kolmogorov–Smirnov after Lilliefors, %d %% false alarms)", d, what, poissonLimit, poissonLimitPct))
}

// milliseconds writes nanoseconds for a message.
func milliseconds(ns float64) string { return strconv.FormatFloat(ns/1e6, 'f', 3, 64) + " ms" }
