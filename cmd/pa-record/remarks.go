package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder"
	"github.com/pa-tools/pa/pkg/recorder/load"
	"github.com/pa-tools/pa/pkg/recorder/window"
	"github.com/pa-tools/pa/pkg/recorder/workload/render"
	wireopenai "github.com/pa-tools/pa/pkg/wire/openai"
)

// A levelWarning is a warning about one or several levels.
type levelWarning struct {
	levels []string
	same   []*analyze.Warning // one for each level
	text   string
}

// mostNamed is the largest number of levels that a warning names one by one.
const mostNamed = 4

// printLevelWarnings writes the warnings about levels to w, one a line. Warnings of the recorder
// about the same subject on several levels are one line, which names the levels.
func printLevelWarnings(w io.Writer, index runIndex, levels []recorder.Level) {
	amounts := map[string]float64{} // a search does not measure levels in the order of their loads
	for i := range levels {
		amounts[fmt.Sprint(levels[i].Load)] = levels[i].Load.Traits().Amount
	}
	for _, lw := range levelWarnings(levels) {
		slices.SortStableFunc(lw.levels, func(a, b string) int { return cmp.Compare(amounts[a], amounts[b]) })
		where := strings.Join(lw.levels, ", ")
		switch n := len(lw.levels); {
		case n > 1 && n == len(levels):
			where = plural.All(n) + " levels"
		case n > mostNamed:
			where = fmt.Sprintf("%d of %d levels", n, len(levels))
		}
		fmt.Fprintf(w, "pa-record: warning: %s%s: %s\n", index.prefix(), where, lw.text)
	}
}

// levelWarnings returns the warnings of all levels in the order of their first level.
func levelWarnings(levels []recorder.Level) []levelWarning {
	var all []levelWarning
	for i := range levels {
		l := &levels[i]
		name := fmt.Sprint(l.Load)
		warn := func(format string, args ...any) {
			all = append(all, levelWarning{levels: []string{name}, text: fmt.Sprintf(format, args...)})
		}
		if n := l.Failed; n > 0 {
			warn("%s of %s failed; pa-analyze report shows why", plural.Grouped(n), plural.GroupedOf(n+l.OK, "request"))
		}
		if n := l.Overflowed; n > 0 {
			warn("%s did not fit into the context of the model (context_overflow); shorten the input data, or give the server a longer context", plural.GroupedOf(n, "request"))
		}
		if n := l.OutputsDropped; n > 0 {
			warn("the disk did not keep up: the outputs of %s are lost, their times are kept", plural.GroupedOf(n, "request"))
		}
		for i := range l.Pauses {
			warn("%s", pauseText(&l.Pauses[i], l.StartNS))
		}
		for _, why := range slices.Concat(l.Warnings, l.Saturated) {
			if !joinWarning(all, name, why) {
				all = append(all, levelWarning{[]string{name}, []*analyze.Warning{analyze.RecorderWarning(why)}, why})
			}
		}
		if l.Unstable() {
			warn("not stable within %s; measure longer (-p, --measurement-request-count), allow more spread (-s) or send a fixed number of requests (--request-count)", plural.GroupedOf(len(l.Windows), "window"))
		}
	}
	return all
}

// joinWarning adds the warning why of a level to the warning in all about the same subject
// on other levels. It returns false if there is no such warning, or if the two warnings have
// numbers that cannot be added.
func joinWarning(all []levelWarning, level, why string) bool {
	w := analyze.RecorderWarning(why)
	for i := range all {
		lw := &all[i]
		if lw.same == nil || lw.same[0].Kind != w.Kind || lw.same[0].Sub != w.Sub || slices.Contains(lw.levels, level) {
			continue
		}
		same := append(slices.Clone(lw.same), w)
		if text, ok := analyze.Together(same); ok {
			lw.levels, lw.same, lw.text = append(lw.levels, level), same, text
			return true
		}
	}
	return false
}

// pauseText returns the warning about a pause in a level that began at startNS.
func pauseText(p *export.Pause, startNS uint64) string {
	what := "this process was stopped"
	if p.Cause == export.PauseSuspended {
		what = "this machine was suspended"
	}
	after := time.Duration(max(p.StartNS, startNS) - startNS)
	return fmt.Sprintf("%s for %.3g s, %.3g s after the start of the level, which distorts its latencies and rates; pa-analyze report --without-pauses leaves out the affected requests",
		what, time.Duration(p.DurationNS).Seconds(), after.Seconds())
}

// levelSettings holds the settings of the levels of a run on which its notes depend.
type levelSettings struct {
	levels         int  // number of levels; 0 if each level decides about the next one
	stopOnUnstable bool // the first level that is not stable is the last one
	// measure holds the latency limit of a search, which is 0 without a search, and the
	// percentile that the limit is for.
	measure window.Measure
	// judge holds the objective of a search, with a verdict for each level that was measured;
	// nil without an objective.
	judge *figure.ObjectiveJudge
	// sweepConcurrency is the concurrency of the second level of an automatic sweep; 0 without
	// an automatic sweep.
	sweepConcurrency int
	// prompts says that the requests hold prompts of files, which a server may cache.
	prompts bool
}

// printLevelNotes prints what ended the levels of a run early, and what a sweep or a search found.
func printLevelNotes(stderr io.Writer, index runIndex, s *levelSettings, res *recorder.Result) {
	for _, note := range []string{sweepNote(s, res), searchNote(s, res), stopNote(s, res), againNote(s, res)} {
		if note != "" {
			fmt.Fprintf(stderr, "pa-record: note: %s%s\n", index.prefix(), note)
		}
	}
}

// againNote says which levels sent prompts of files that an earlier level or run had sent,
// because there were no others; "" if none did.
func againNote(s *levelSettings, res *recorder.Result) string {
	if !s.prompts {
		return ""
	}
	var names []string
	again, last := 0, &export.LevelPrompts{}
	for i := range res.Levels {
		p := res.Levels[i].Prompts
		if p == nil || p.Restart || p.MadeUp || p.First == 0 || p.Again() == 0 {
			continue
		}
		names = append(names, fmt.Sprint(res.Levels[i].Load))
		again += p.Again()
		last = p
	}
	what := "prompt"
	if last.Conversations > 0 {
		what = "conversation"
	}
	switch {
	case len(names) == 0:
		return ""
	case len(names) > mostNamed:
		names = []string{fmt.Sprintf("%d levels", len(names))}
	}
	return fmt.Sprintf("the input data has only %s and began again: %s sent %s again, which the server may have cached; give more data, or --cache-bust",
		plural.GroupedOf(last.Of, what), strings.Join(names, ", "), plural.GroupedOf(again, what))
}

// stopNote says that an unstable level was the last one because of
// --stop-on-unstable; "" if it was the last one anyway.
func stopNote(s *levelSettings, res *recorder.Result) string {
	n := len(res.Levels)
	if !s.stopOnUnstable || n == 0 || !res.Levels[n-1].Unstable() || n == s.levels {
		return ""
	}
	return fmt.Sprintf("%v was not stable, so no more levels were measured (--stop-on-unstable)", res.Levels[n-1].Load)
}

// searchNote says which level a search found; "" if there was no search, or it was
// interrupted.
func searchNote(s *levelSettings, res *recorder.Result) string {
	if s.measure.LatencyLimit == 0 && s.judge == nil || res.Interrupted || len(res.Levels) == 0 || s.levels > 0 && res.Levels[0].Within() {
		return ""
	}
	var best, over *recorder.Level // the highest level within the limit, and the lowest level beyond it
	for i := range res.Levels {
		switch l := &res.Levels[i]; {
		case l.Within():
			if best == nil || l.Load.Traits().Amount > best.Load.Traits().Amount {
				best = l
			}
		case over == nil || l.Load.Traits().Amount < over.Load.Traits().Amount:
			over = l
		}
	}
	if s.judge != nil {
		return objectiveNote(s, res, best, over)
	}
	switch limit := plural.Time(s.measure.LatencyLimit); {
	case best == nil:
		return fmt.Sprintf("no level is below the latency limit of %s: %v %s", limit, over.Load, cameTo(s, over))
	case over == nil:
		return fmt.Sprintf("all levels are below the latency limit of %s: %v %s", limit, best.Load, cameTo(s, best))
	default:
		return fmt.Sprintf("%v is the highest level found below the latency limit of %s: it %s, %v %s", best.Load, limit, cameTo(s, best), over.Load, cameTo(s, over))
	}
}

// objectiveNote says which level a search found that meets its objective. best is the highest
// level that does, over the lowest that does not; nil for none.
func objectiveNote(s *levelSettings, res *recorder.Result, best, over *recorder.Level) string {
	verdicts := s.judge.Verdicts
	had := func(l *recorder.Level) string {
		for i := range res.Levels {
			if l == &res.Levels[i] && i < len(verdicts) {
				return "had " + verdicts[i].Figures
			}
		}
		return "was not judged"
	}
	note := ""
	switch {
	case best == nil:
		note = fmt.Sprintf("no level meets %s: %v %s", s.judge, over.Load, had(over))
	case over == nil:
		note = fmt.Sprintf("all levels meet %s: %v %s", s.judge, best.Load, had(best))
	default:
		note = fmt.Sprintf("%v is the highest level found to meet %s: it %s; %v %s", best.Load, s.judge, had(best), over.Load, had(over))
	}
	mode, loads := export.ModeConcurrency, []figure.LoadLevel(nil)
	for i := range res.Levels {
		l := &res.Levels[i]
		named := l.Load.Traits().Amount
		sent := named
		if _, ok := l.Load.(load.Rate); ok {
			mode = export.ModeRequestRate
			if l.Client != nil && l.Client.AchievedPerSecond > 0 {
				sent = l.Client.AchievedPerSecond
			}
		}
		loads = append(loads, figure.LoadLevel{Load: sent, Value: strconv.FormatFloat(named, 'f', -1, 64)})
	}
	if m := s.judge.MaxLoad(mode, loads); m != nil {
		note += "; " + report.MaxLoad(m)
	}
	return note
}

// cameTo returns the latency of a level as the end of a sentence about the level.
func cameTo(s *levelSettings, l *recorder.Level) string {
	if l.Reported.Requests == 0 {
		return "gave no answer in time"
	}
	what := "an average"
	if pct := s.measure.Percentile; pct > 0 {
		what = fmt.Sprintf("a p%d", pct)
	}
	return fmt.Sprintf("reached %s of %s", what, plural.Time(l.Reported.Latency.Round(time.Microsecond)))
}

// sweepNote says why an automatic sweep has measured no rates; "" if it has, or if there was no
// sweep.
func sweepNote(s *levelSettings, res *recorder.Result) string {
	if s.sweepConcurrency == 0 || len(res.Levels) != 2 || res.Interrupted {
		return ""
	}
	return fmt.Sprintf("%d requests at a time gave hardly more requests/s than one, so there are no rates in between to measure", s.sweepConcurrency)
}

// explain adds advice to the error of a run in which too many requests failed. It
// gives the errors of --max-error-rate and --max-overflow-rate their exit code.
func explain(err error, t *target) error {
	var fe *recorder.FailedError
	var re *recorder.ErrorRateError
	var oe *recorder.OverflowRateError
	switch {
	case errors.As(err, &oe):
		return &cmdline.CodeError{Code: cmdline.ExitGate, Err: err}
	case errors.As(err, &re):
		return &cmdline.CodeError{Code: cmdline.ExitGate, Err: checkWhat(err, &re.Common, t)}
	case !errors.As(err, &fe):
		return err
	case fe.OK > 0:
		return fmt.Errorf("%w; is the server still running?", err)
	}
	return checkWhat(err, &recorder.FailureKind{Status: fe.Status, Code: fe.Code, Message: fe.Message}, t)
}

// checkWhat adds to err what to look at when requests fail in this way.
func checkWhat(err error, failure *recorder.FailureKind, t *target) error {
	s := t.s
	status, code := failure.Status, failure.Code
	check := "the server's log may say why"
	switch {
	case status == export.StatusConnectError, status == export.StatusProtocolError:
		return err // its message says it
	case status == export.StatusTimeout:
		check = "is --request-timeout long enough?"
	case status == export.StatusTruncated:
	case status == export.StatusContextOverflow:
		check = "is the context of the model long enough for the prompts of --input-data?"
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		check = "is the API key right?"
	case code == http.StatusTooManyRequests:
		check = "the server limits the rate; lower the load"
	case (code == http.StatusBadRequest || code == http.StatusUnprocessableEntity) && s.otherLengthField(failure.Message) != "":
		check = "the server may want another member for the length of the answer: --max-tokens-field " + s.otherLengthField(failure.Message)
	case code >= 400 && code < 500 && s.IncludeUsage && strings.Contains(failure.Message, "stream_options"):
		check = "the server may not know stream_options; --include-usage=false leaves it out"
	case len(t.ifRefused) > 0:
		check = strings.Join(t.ifRefused, "; ")
	case status != export.StatusHTTPError && status != export.StatusRPCError:
	case code == http.StatusNotFound && s.Endpoint != "":
		check = "are --endpoint (" + s.Endpoint + ") and the model right?"
	case code >= 300 && code < 400:
		check = "is -u right?"
	case s.madeTensors(), s.ServiceKind == kindTriton && len(s.InputData) == 0 && !s.namesDataset() && s.inputLengths == nil:
		check = "the inputs were synthetic; --input-data FILE sends real ones"
	case code >= 400 && code < 500 && len(s.InputData) > 0:
		check = "does the server take what --input-data holds?"
	}
	return fmt.Errorf("%w; %s", err, check)
}

// otherLengthField returns the member that a server may want for the length of the answer, by the
// message with which it refuses a request; "" if the message is about something else.
func (s *settings) otherLengthField(refusal string) string {
	api, _ := s.api()
	if s.ServiceKind != kindOpenAI || s.template != nil || api != render.Chat && api != render.Completions {
		return ""
	}
	return wireopenai.OtherLengthMember(refusal, s.lengthName(api))
}
