package summary

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/pa-tools/pa/cmd/pa-record/internal/runindex"
	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// mostSummarized is the largest number of responses of a run whose figures are
// printed at its end. Exact percentiles take 8 bytes of memory for each response and
// 100 for each request, and as much time as pa-analyze takes.
const mostSummarized = 8_000_000

// A Summary computes the figures of a run while its exports are written. They equal
// the figures that pa-analyze computes from the export.
type Summary struct {
	ctx       context.Context // its end cancels the computation
	responses int64           // number in the run so far
	most      int64           // mostSummarized, except in tests

	unstreamed string // advice for answers that were not streamed; "" prints no note

	done bool // report and err are set
	// report is nil if there are no figures; err then says why.
	report *analyze.Report
	err    error
}

// New returns the summary of a run. The end of ctx cancels its computation. unstreamed is the
// advice for answers that were not streamed; "" prints no note about them.
func New(ctx context.Context, unstreamed string) *Summary {
	return &Summary{ctx: ctx, most: mostSummarized, unstreamed: unstreamed}
}

// Add counts the responses of a request of the run.
func (s *Summary) Add(q *export.Request) { s.responses += int64(len(q.Responses)) }

// Open opens the journal of a run.
type Open = func(context.Context) (export.Reader, error)

// Compute computes the figures from the journal that open opens.
func (s *Summary) Compute(open Open) {
	s.done = true
	if s.responses > s.most {
		s.err = fmt.Errorf("more than %s responses", plural.Grouped(s.most))
		return
	}
	if s.report, s.err = analyzeJournal(s.ctx, open); errors.Is(s.err, context.Canceled) {
		s.err = errors.New("a second signal ended the run")
	}
}

// analyzeJournal returns the report that pa-analyze computes from an export of the
// journal that open opens.
func analyzeJournal(ctx context.Context, open Open) (*analyze.Report, error) {
	r, err := open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }() // only read
	rep, err := analyze.Run(ctx, r, analyze.Config{})
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	_ = err // the export reports a cut journal; the figures cover the rows that it has
	return rep, nil
}

// measured reports whether a level of the report has a request that counts.
func measured(rep *analyze.Report) bool {
	for i := range rep.Experiments {
		if rep.Experiments[i].OK > 0 {
			return true
		}
	}
	return false
}

// CountsResponses reports whether the figures of a level count each response as a token, because
// the server counted none and no tokenizer did.
func (s *Summary) CountsResponses() bool {
	return s.report != nil && slices.ContainsFunc(s.report.Experiments, func(e analyze.Experiment) bool {
		return e.OK > 0 && e.TokenSource == answer.TokenResponses
	})
}

// Print writes the figures of a run, one line for each level. It prints nothing for
// a run that measured nothing. shown says that perf_analyzer's console was printed
// before.
func (s *Summary) Print(stdout, stderr io.Writer, of runindex.Index, shown bool) {
	switch {
	case !s.done:
	case s.err != nil:
		fmt.Fprintf(stderr, "pa-record: note: %sno figures: %v; pa-analyze report computes them\n", of.Prefix(), s.err)
	case measured(s.report):
		switch {
		case shown:
			fmt.Fprintln(stdout)
		case of.Of > 0:
			fmt.Fprintln(stdout, of.Title())
		}
		_ = report.Brief(s.report)(stdout) // an error shows when stdout is flushed, as with all results
		warn := func(lines []string) {
			for _, line := range lines {
				fmt.Fprintf(stderr, "pa-record: warning: %s%s\n", of.Prefix(), line)
			}
		}
		note := func(text string) { fmt.Fprintf(stderr, "pa-record: note: %s%s\n", of.Prefix(), text) }
		if text := sentTwice(s.report); text != "" {
			note(text)
		}
		warn(s.warnings(func(w *analyze.Warning) bool { return w.Kind == analyze.KindCache }))
		notStreamed := s.warnings(func(w *analyze.Warning) bool { return w.Kind == analyze.KindNotStreamed })
		if warn(notStreamed); notStreamed == nil && hasUnstreamed(s.report) && s.unstreamed != "" {
			note("the answers were not streamed, so there is no TTFT and no ITL; " + s.unstreamed)
		}
		warn(s.warnings(func(w *analyze.Warning) bool {
			return w.Sub == analyze.SubAskedInput || w.Sub == analyze.SubAskedOutput
		}))
	}
}

// sentTwice returns a note about levels whose prompts the server had in its cache because the
// level itself had sent them before; "" if there is none.
func sentTwice(rep *analyze.Report) string {
	where, worst, levels := "", 0.0, 0
	for i := range rep.Experiments {
		e := &rep.Experiments[i]
		if e.Cached == nil || e.Cached.Twice <= analyze.CachedThreshold {
			continue
		}
		if levels++; e.Cached.Twice > worst {
			where, worst = report.LevelName(e), e.Cached.Twice
		}
	}
	share, sender := fmt.Sprintf("%.0f %%", 100*worst), "the level"
	switch {
	case levels == 0:
		return ""
	case levels > 1:
		where += " and " + plural.Of(levels-1, "other level")
		share, sender = "up to "+share, "each"
	}
	return fmt.Sprintf("%s: %s of the input tokens were in the server's cache, because %s sent prompts more than once; give it more: --num-dataset-entries makes up more, or more input data", where, share, sender)
}

// warnings returns the warnings about levels for which keep is true, with one line for all
// warnings about the same subject.
func (s *Summary) warnings(keep func(*analyze.Warning) bool) []string {
	only := analyze.Report{Run: s.report.Run}
	for _, e := range s.report.Experiments {
		e.Warnings = slices.DeleteFunc(slices.Clone(e.Warnings), func(err error) bool { return !keep(analyze.AsWarning(err)) })
		only.Experiments = append(only.Experiments, e)
	}
	return report.Warnings([]report.Input{{Report: &only}}, false)
}

// hasUnstreamed reports whether a level has answers with output tokens but no TTFT: they
// were not streamed.
func hasUnstreamed(rep *analyze.Report) bool {
	for i := range rep.Experiments {
		if e := &rep.Experiments[i]; e.OK > 0 && e.Throughput.OutputTokens.OK && e.Metric(answer.TTFT) == nil {
			return true
		}
	}
	return false
}
