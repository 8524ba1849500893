package recorder

import (
	"fmt"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/export"
)

// Telemetry is what watches servers and GPUs: package telemetry. None of its
// methods but Stop may block; they are called from one goroutine.
type Telemetry interface {
	// Start begins to ask.
	Start()
	// Ask asks right now, at an edge of the measurement.
	Ask()
	// Take returns what has come since the last call.
	Take() []*export.Scrape
	// Stop ends it, within about a second; Take gives the rest then.
	Stop() []export.TelemetrySource
}

// ServerStats is what asks a Triton server for the statistics of its models:
// package serverstat. Its methods are called from one goroutine.
type ServerStats interface {
	// Edge asks in the background, because the level has come to an edge. It
	// must not block.
	Edge(edge export.StatsEdge, window int)
	// Wait waits for what was asked. It is called when no load is on.
	Wait()
	// Level waits for what was asked since it was last called and returns it; nil
	// when there is nothing. It is called when no load is on.
	Level() *export.ServerStats
}

// edge tells those who watch that the level has come to an edge.
func (l *levelRun) edge(edge export.StatsEdge, window int) {
	if l.cfg.Telemetry != nil {
		l.cfg.Telemetry.Ask()
	}
	if l.cfg.ServerStats != nil {
		l.cfg.ServerStats.Edge(edge, window)
	}
}

// edgeAtRest is edge where no load is on: what comes next waits for the server's
// answer, so that no request of it is in the counters.
func (l *levelRun) edgeAtRest(edge export.StatsEdge) {
	l.edge(edge, 0)
	if l.cfg.ServerStats != nil {
		l.cfg.ServerStats.Wait()
	}
}

// edges tells them of the windows that have ended since it was last called.
func (l *levelRun) edges() {
	for l.meter != nil && l.edged < len(l.meter.Windows()) {
		l.edge(export.EdgeWindow, l.edged)
		l.edged++
	}
}

// telemetry writes what was seen so far.
func (r *runState) telemetry() error {
	if r.cfg.Telemetry == nil {
		return nil
	}
	for _, s := range r.cfg.Telemetry.Take() {
		if err := r.cfg.Writer.WriteScrape(s); err != nil {
			return err
		}
	}
	return nil
}

// endTelemetry ends the watching, and says in the result and the metadata what
// became of it.
func (r *runState) endTelemetry(res *Result, meta *export.RunMeta) error {
	if r.cfg.Telemetry == nil {
		return nil
	}
	warn := func(format string, args ...any) {
		w := fmt.Sprintf(format, args...)
		res.Warnings, meta.Warnings = append(res.Warnings, w), append(meta.Warnings, w)
	}
	meta.Telemetry = r.cfg.Telemetry.Stop()
	for _, s := range meta.Telemetry {
		switch {
		case s.Failed > 0 && s.Failed == s.Scrapes:
			warn("no metrics from %s: %s", s.Source, s.Error)
		case s.Failed > 0:
			warn("%s gave no metrics %s of %s times: %s", s.Source, plural.Grouped(s.Failed), plural.Grouped(s.Scrapes), s.Error)
		case s.Scrapes == 0:
			warn("no metrics from %s: it did not answer while the run was on", s.Source)
		case s.Series == 0:
			warn("no metrics from %s: its answers are empty", s.Source)
		}
		if s.Dropped > 0 {
			warn("%s: %s scrapes were dropped, because there was no room for them", s.Source, plural.Grouped(s.Dropped))
		}
		if s.LeftOut > 0 {
			warn("%s: too many series: the first %s were kept, and %s left out; nothing is left of %s", s.Source, plural.Grouped(s.Series), plural.GroupedOf(s.LeftOut, "sample")+" of others", plural.GroupedOf(s.Emptied, "scrape"))
		}
		if s.Gone > 0 {
			warn("%s: %s series came or went during the run: its label sets change, and figures are of a part of the run", s.Source, plural.Grouped(s.Gone))
		}
		if s.Repeated > 0 {
			warn("%s: %s samples were of a series that had one in the same answer, and were left out", s.Source, plural.Grouped(s.Repeated))
		}
		if s.BadLines > 0 {
			warn("%s: %s lines make no sense and were left out; the first was line %d of an answer", s.Source, plural.Grouped(s.BadLines), s.FirstBadLine)
		}
	}
	if r.writeFailed {
		return nil
	}
	return r.telemetry()
}
