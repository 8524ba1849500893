package diff

import (
	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze/tabular"
)

// A Sheet is a comparison in words and tables, as [Text] writes it, for other layouts. All texts are
// safe to show.
type Sheet struct {
	Headline    string
	LeftOut     string // names the runs that do not count; "" if all count
	Title       string // names the two sides
	Measured    string // the definitions, and the requests that count
	Differences tabular.Table
	// Together is about all levels of a sweep; nil without [Result.Together].
	Together *SheetLevel
	// Levels has an entry for each of [Result.Levels].
	Levels []SheetLevel
	Lines  []string // levels of one side only, and the outcomes of gates
	Notes  []string // how it was judged
}

// A SheetLevel is a load level in a [Sheet]. After its head, Metrics has a row for each of
// [LevelResult.Rows], with the columns name, old, new, change, interval, verdict.
type SheetLevel struct {
	Title           string
	Parts           []string // the selected parts
	Metrics, Server tabular.Table
}

// Sheet returns the comparison in words and tables.
func (r *Result) Sheet() Sheet {
	u := r.units()
	s := Sheet{
		Headline: r.Headline(), LeftOut: r.leftOut(), Title: r.title(), Measured: sanitize.Text(r.measured()), Differences: r.differenceTable(),
		Lines: r.lines(), Notes: r.explanation(),
	}
	if unknown := r.notKnown(); unknown != "" {
		s.Measured += "; " + unknown
	}
	for _, l := range r.allLevels() {
		x := SheetLevel{Title: r.levelTitle(l), Metrics: l.table(u, false), Server: l.serverTable(u)}
		for _, part := range l.parts() {
			x.Parts = append(x.Parts, sanitize.Text(part))
		}
		if l == r.Together {
			s.Together = &x
		} else {
			s.Levels = append(s.Levels, x)
		}
	}
	for i := range s.Lines {
		s.Lines[i] = sanitize.Text(s.Lines[i])
	}
	for i := range s.Notes {
		s.Notes[i] = sanitize.Text(s.Notes[i])
	}
	return s
}
