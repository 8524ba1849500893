package main

import (
	"bytes"
	"fmt"
	"io"
	"slices"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/pawindow"
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
	gpus     *gpuTap // nil: the server's GPUs are not shown
}

// newConsole returns the console of a run with that header.
func newConsole(w io.Writer, title string, header *export.Run, s *settings) (*console, error) {
	show, err := perfanalyzer.SettingsOf(header)
	if err != nil {
		return nil, err
	}
	show.Verbose, show.VerboseCSV = s.verbose, s.VerboseCSV
	return &console{w: w, title: title, settings: show}, nil
}

// watching returns the telemetry to give to the recorder. For Triton servers, whose
// metrics perf_analyzer reads, the console takes the GPU metrics from it.
func (c *console) watching(t recorder.Telemetry) recorder.Telemetry {
	if c.settings.ServiceKind != kindTriton {
		return t
	}
	c.gpus = newGPUTap(t)
	return c.gpus
}

// level prints a level that is over.
func (c *console) level(l *recorder.Level) {
	if c.settings.ServiceKind == kindTriton && (l.Streamed || perfanalyzer.Decoupled(l.ServerStats)) {
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
		out.GPUs = c.gpus.figures(l)
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
					fmt.Fprintf(w, "%s, %s, %s\n", name, runs[j].index.place(), runs[j].settings.SummaryLine(l))
				}
			}
		}
	}
}

// A gpuTap passes telemetry on to the recorder and keeps the GPU metrics of Triton servers
// for the console. Only one goroutine may use it at a time.
type gpuTap struct {
	recorder.Telemetry
	taken []*export.Scrape // taken from Telemetry and not passed on yet
	seen  []*export.Scrape // GPU metrics of the present level
	// done holds the GPU figures of past levels, by the start of the reported time.
	done map[uint64]*perfanalyzer.GPUs
}

// maxGPUScrapes bounds the scrapes that are kept for a level. At least half as many, the
// latest, are kept: nine hours of one endpoint at a scrape a second.
const maxGPUScrapes = 1 << 16

// newGPUTap returns a tap of the telemetry t. The recorder gets the tap in place of t.
func newGPUTap(t recorder.Telemetry) *gpuTap {
	return &gpuTap{Telemetry: t, done: map[uint64]*perfanalyzer.GPUs{}}
}

// Take implements [recorder.Telemetry].
func (t *gpuTap) Take() []*export.Scrape {
	t.take()
	all := t.taken
	t.taken = nil
	return all
}

func (t *gpuTap) take() {
	for _, s := range t.Telemetry.Take() {
		t.taken = append(t.taken, s)
		if only := perfanalyzer.OnlyGPUs(s); only != nil {
			if len(t.seen) == maxGPUScrapes {
				t.seen = append([]*export.Scrape(nil), t.seen[maxGPUScrapes/2:]...)
			}
			t.seen = append(t.seen, only)
		}
	}
}

// figures returns the GPU figures of the reported time of a level. The first call for a level
// must follow its end directly.
func (t *gpuTap) figures(l *recorder.Level) *perfanalyzer.GPUs {
	begin := l.Reported.StartNS
	if t.done[begin] == nil {
		t.take()
		watch := perfanalyzer.NewGPUWatch(pawindow.Window{StartNS: begin, EndNS: l.Reported.EndNS})
		for _, s := range t.seen {
			watch.Add(s)
		}
		t.seen = nil
		t.done[begin] = watch.GPUs()
	}
	return t.done[begin]
}
