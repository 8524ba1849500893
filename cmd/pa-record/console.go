package main

import (
	"bytes"
	"fmt"
	"io"
	"slices"

	"github.com/pa-tools/pa/cmd/pa-record/internal/gputap"
	"github.com/pa-tools/pa/cmd/pa-record/internal/settings"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder"
	"github.com/pa-tools/pa/pkg/tool/perfanalyzer"
)

// A console prints a run on standard output as perf_analyzer does: the settings,
// then each level as soon as it is over, and the summary at the end. Nothing is
// printed of a run that measured nothing.
type console struct {
	w        io.Writer
	title    string // above all of it
	settings perfanalyzer.Settings
	waiting  bytes.Buffer // levels before the first that measured something
	begun    bool
	gpus     *gputap.Tap // nil: the server's GPUs are not shown
}

// newConsole returns the console of a run with that header.
func newConsole(w io.Writer, title string, header *export.Run, s *settings.Settings) (*console, error) {
	show, err := perfanalyzer.SettingsOf(header)
	if err != nil {
		return nil, err
	}
	show.Verbose, show.VerboseCSV = s.Verbose, s.VerboseCSV
	return &console{w: w, title: title, settings: show}, nil
}

// watching returns the telemetry to give to the recorder. For Triton servers, whose
// metrics perf_analyzer reads, the console takes the GPU metrics from it.
func (c *console) watching(t recorder.Telemetry) recorder.Telemetry {
	if c.settings.ServiceKind != settings.Triton {
		return t
	}
	c.gpus = gputap.New(t)
	return c.gpus
}

// level prints a level that is over.
func (c *console) level(l *recorder.Level) {
	if c.settings.ServiceKind == settings.Triton && (l.Streamed || perfanalyzer.Decoupled(l.ServerStats)) {
		c.settings.Decoupled = true
	}
	if l.Sequences {
		c.settings.SetStateful()
	}
	to := c.w
	if !c.begun && l.OK == 0 {
		to = &c.waiting
	}
	if !c.begun && l.OK > 0 {
		c.begun = true
		fmt.Fprint(c.w, c.title)
		_ = c.settings.Write(c.w) // as with all results, an error shows when it is flushed
		_, _ = c.waiting.WriteTo(c.w)
	}
	shown := c.shown(l)
	_ = c.settings.WriteLevel(to, &shown)
}

// shown returns a level as perf_analyzer shows it.
func (c *console) shown(l *recorder.Level) perfanalyzer.Level {
	out := c.settings.NewLevel(l.Load.Mode(), l.Load.Value(), &export.ExperimentMeta{
		Load: l.Load.String(), RequestCounts: export.RequestCounts{Failed: l.Failed, Cancelled: l.Cancelled, Resent: l.Resent}, Client: l.Client,
	})
	for i := range l.Windows {
		out.Windows = append(out.Windows, l.Windows[i].Summary)
	}
	out.Summary, out.Times = l.Reported.Summary, l.Times
	served, _ := perfanalyzer.ModelsOf(l.ServerStats, len(l.Windows)) // what went wrong is among the warnings of the level
	out.Serve(served)
	out.Sequences = l.Sequences
	if c.gpus != nil {
		out.GPUs = c.gpus.Of(l)
	}
	if l.Latency.Approximate {
		out.Notes = append(out.Notes, "(so many requests that the percentiles are up to 0.03% too high; pa-analyze has exact ones)")
	}
	return out
}

// all returns levels as perf_analyzer shows them.
func (c *console) all(levels []recorder.Level) []perfanalyzer.Level {
	var all []perfanalyzer.Level
	for i := range levels {
		all = append(all, c.shown(&levels[i]))
	}
	return all
}

// summary prints a line for each level that measured something.
func (c *console) summary(levels []perfanalyzer.Level) {
	if c.begun {
		_ = c.settings.WriteSummary(c.w, levels)
	}
}

// printRuns writes the summary lines of several runs. The lines of one level follow each
// other.
func printRuns(w io.Writer, runs []runResult) {
	var names []string
	for j := range runs {
		for k := range runs[j].levels {
			if name := runs[j].levels[k].SummaryName(); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	fmt.Fprintln(w, runs[0].settings.SummaryHead()+", by Run")
	for _, name := range names {
		for j := range runs {
			for k := range runs[j].levels {
				if l := &runs[j].levels[k]; l.SummaryName() == name && l.Summary.Requests > 0 {
					fmt.Fprintf(w, "%s, %s, %s\n", name, runs[j].of.Place(), runs[j].settings.SummaryLine(l))
				}
			}
		}
	}
}
