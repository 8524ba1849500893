package report

import (
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
)

// level returns what text and Markdown say of a level.
func (t *table) level(e *analyze.Experiment) *sheet.Part {
	u := t.units
	p := &sheet.Part{Title: LevelName(e), After: requests(e)}
	if e.DurationNS > 0 {
		p.After += " in " + u.duration.Span(float64(e.DurationNS))
	}
	if e.Selected != nil {
		p.Lines(Selected(e.Selected))
	}
	if t.o.Percentiles {
		p.Table(tall(e, u)).Table(t.histograms(e))
	} else {
		p.Table(figures(e.Metrics, u))
	}
	p.Lines(rates(e), notes(t.rep, e), resent(e)).Lines(missing(t.rep, e)...)
	if !t.markdown {
		p.Lines(clientLine(e, u.client, t.o.Percentiles || t.o.AllWarnings))
	}
	if e.SLO != nil {
		p.List(objective(e.SLO, t.rep.SLOTarget)...)
	}
	if q := e.Quality; q != nil {
		p.Apart().Lines(qualitySettings(q)).Table(figures(q.Metrics, u)).List(qualityFigures(q)...).Lines(qualityPositions(q, u))
	}
	if x := e.Economics; x != nil {
		p.Apart().Lines(economicsSettings(x)).List(economicsFigures(x)...)
	}
	if x := e.Prefix; x != nil {
		p.Apart().List(prefixLines(x, u.server)...).Table(prefixBuckets(x, u.token))
	}
	if x := e.Phases; x != nil {
		p.Apart().Table(figures(x.Metrics, u)).List(phaseLines(x, u.server)...)
	}
	if len(e.Server) > 0 {
		p.Apart().Table(servers(e, u.server)).Lines(serverNotes(e)...)
	}
	if len(e.Models) > 0 {
		p.Apart().Table(models(e, u))
	}
	if len(e.Windows) > 0 {
		p.Apart().Lines(windowNote(e)).Table(windows(e, u)).Table(t.trends(windowLines(e)))
	}
	return p
}

// levels returns a line per load level, and how the levels meet the objective if there is one.
func (t *table) levels() *sheet.Part {
	p := (&sheet.Part{}).Table(levelLines(t.rep, t.units))
	if t.rep.SLO == nil {
		return p
	}
	p.Apart().Add(sheet.Block{Text: "SLO", Code: t.rep.SLO.String()}).Table(objectives(t.rep))
	if m := t.rep.MaxLoad(); m != nil {
		p.Lines(MaxLoad(m))
	}
	return p
}
