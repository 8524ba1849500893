package recorder

import (
	"fmt"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/export"
)

// Telemetry collects metrics of servers and GPUs; package observe implements it. Its
// methods are called from one goroutine and, except Wait and Stop, must not block.
type Telemetry interface {
	// Start starts scraping.
	Start()
	// ScrapeNow requests a scrape at an edge of the measurement.
	ScrapeNow()
	// Wait waits until the requested scrapes have ended, but not for long: a source may hang. It is
	// called when no load is on.
	Wait()
	// Take returns the scrapes since the last call.
	Take() []*export.Scrape
	// Stop ends the scraping within about a second. Take returns the rest afterwards.
	Stop() []export.TelemetrySource
}

// ServerStats reads the model statistics of a Triton server; package observe
// implements it. Its methods are called from one goroutine.
type ServerStats interface {
	// Edge requests the statistics in the background, at an edge of the level. It must
	// not block.
	Edge(edge export.StatsEdge, window int)
	// Wait waits for the requested statistics. It is called when no load is on.
	Wait()
	// Level waits for the statistics requested since the last call and returns them;
	// nil if there are none. It is called when no load is on.
	Level() *export.ServerStats
}

// edge notifies Telemetry and ServerStats of an edge of the level.
func (l *levelRun) edge(edge export.StatsEdge, window int) {
	if l.cfg.Telemetry != nil {
		l.cfg.Telemetry.ScrapeNow()
	}
	if l.cfg.ServerStats != nil {
		l.cfg.ServerStats.Edge(edge, window)
	}
}

// edgeAtRest is edge for a moment without load. It waits for the server's answers, so that
// the counters include no request that is sent afterwards, and no gauge in the measurement is of the server at rest.
func (l *levelRun) edgeAtRest(edge export.StatsEdge) {
	l.edge(edge, 0)
	if l.cfg.Telemetry != nil {
		l.cfg.Telemetry.Wait()
	}
	if l.cfg.ServerStats != nil {
		l.cfg.ServerStats.Wait()
	}
}

// edges calls edge for the windows that have ended since the last call.
func (l *levelRun) edges() {
	for l.meter != nil && l.edged < len(l.meter.Windows()) {
		l.edge(export.EdgeWindow, l.edged)
		l.edged++
	}
}

// writeScrapes writes the scrapes since the last call.
func (r *runState) writeScrapes() error {
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

// endTelemetry stops the telemetry, writes its last scrapes, and adds its sources and
// warnings to the metadata and the result.
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
			warn("%s: %s %s dropped, because the buffer was full", s.Source, plural.GroupedOf(s.Dropped, "scrape"), plural.Form(s.Dropped, "was", "were"))
		}
		if s.LeftOut > 0 {
			warn("%s: too many series: the first %s were kept, and %s left out; nothing is left of %s", s.Source, plural.Grouped(s.Series), plural.GroupedOf(s.LeftOut, "sample")+" of others", plural.GroupedOf(s.Emptied, "scrape"))
		}
		if s.Gone > 0 {
			warn("%s: %s series came or went during the run: its label sets change, and figures are of a part of the run", s.Source, plural.Grouped(s.Gone))
		}
		if s.Repeated > 0 {
			warn("%s: %s %s of a series that had one in the same answer: left out", s.Source, plural.GroupedOf(s.Repeated, "sample"), plural.Form(s.Repeated, "was", "were"))
		}
		if s.BadLines > 0 {
			warn("%s: %s %s no sense: left out; the first was line %d of an answer", s.Source, plural.GroupedOf(s.BadLines, "line"), plural.Form(s.BadLines, "makes", "make"), s.FirstBadLine)
		}
	}
	if r.writeFailed {
		return nil
	}
	return r.writeScrapes()
}
