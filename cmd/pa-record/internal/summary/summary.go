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
		s.printCached(stderr, of)
		if warned := s.warnNotStreamed(stderr, of); !warned && hasUnstreamed(s.report) && s.unstreamed != "" {
			fmt.Fprintf(stderr, "pa-record: note: %sthe answers were not streamed, so there is no TTFT and no ITL; %s\n", of.Prefix(), s.unstreamed)
		}
		for _, line := range lengthWarnings(s.report) {
			fmt.Fprintf(stderr, "pa-record: warning: %s%s\n", of.Prefix(), line)
		}
	}
}

// printCached prints the warnings about prompts that the server had in its cache, and a note
// about prompts that a level sent more than once.
func (s *Summary) printCached(stderr io.Writer, of runindex.Index) {
	for i := range s.report.Experiments {
		e := &s.report.Experiments[i]
		if c := e.Cached; c != nil && c.Twice > analyze.CachedThreshold {
			fmt.Fprintf(stderr, "pa-record: note: %s%s: %.0f %% of the input tokens were in the server's cache, because the level sent prompts more than once; send more prompts: a higher --num-dataset-entries, or more input data\n", of.Prefix(), report.LevelName(e), 100*c.Twice)
		}
		for _, err := range e.Warnings {
			if w := analyze.AsWarning(err); w.Kind == analyze.KindCache {
				fmt.Fprintf(stderr, "pa-record: warning: %s%s: %v\n", of.Prefix(), report.LevelName(e), w)
			}
		}
	}
}

// warnNotStreamed prints the warning that answers were whole although the requests asked for streams. It
// returns false if there is none.
func (s *Summary) warnNotStreamed(stderr io.Writer, of runindex.Index) bool {
	var same []*analyze.Warning
	for i := range s.report.Experiments {
		for _, err := range s.report.Experiments[i].Warnings {
			if w, ok := errors.AsType[*analyze.Warning](err); ok && w.Kind == analyze.KindNotStreamed {
				same = append(same, w)
			}
		}
	}
	if len(same) == 0 {
		return false
	}
	text, _ := analyze.Together(same)
	fmt.Fprintf(stderr, "pa-record: warning: %s%s\n", of.Prefix(), text)
	return true
}

// lengthWarnings returns the warnings about prompts and answers of another length than the
// flags asked for, one for all levels.
func lengthWarnings(rep *analyze.Report) []string {
	only := analyze.Report{Run: rep.Run}
	for _, e := range rep.Experiments {
		e.Warnings = slices.DeleteFunc(slices.Clone(e.Warnings), func(err error) bool {
			sub := analyze.AsWarning(err).Sub
			return sub != analyze.SubAskedInput && sub != analyze.SubAskedOutput
		})
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
