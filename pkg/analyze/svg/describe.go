package svg

import (
	"math"
	"strings"

	"github.com/pa-tools/pa/internal/plural"
)

// mostDescribed bounds the series of a panel that a description names.
const mostDescribed = 16

// describe returns the description for screen readers: Desc, and for each panel its axes and the range
// of each series.
func (p *picture) describe() string {
	var parts []string
	for _, s := range []string{p.Subtitle, p.Desc} {
		if s != "" {
			parts = append(parts, cleanLong(s))
		}
	}
	for _, one := range p.panels {
		parts = append(parts, one.describe())
	}
	for _, n := range p.allNotes() {
		parts = append(parts, cleanLong(n))
	}
	for i, s := range parts {
		if !strings.HasSuffix(s, ".") {
			parts[i] = s + "."
		}
	}
	return strings.Join(parts, " ")
}

// allNotes returns the notes of the figure and of its panels.
func (p *picture) allNotes() []string {
	all := append([]string(nil), p.Notes...)
	for _, one := range p.panels {
		if one.absent > 0 {
			note := plural.Of(one.absent, "point") + " at 0 or below cannot be drawn on a logarithmic axis."
			if name := one.name(); name != "" && len(p.panels) > 1 {
				note = name + ": " + note
			}
			all = append(all, note)
		}
	}
	return all
}

// name returns what the panel shows.
func (p *panel) name() string {
	if p.Title != "" {
		return clean(p.Title)
	}
	return clean(p.Y.Label)
}

// nothing returns the text of a panel without data.
func (p *panel) nothing() string {
	if p.NoData == "" {
		return "no data"
	}
	return "no data (" + clean(p.NoData) + ")"
}

// describe returns the sentences about a panel.
func (p *panel) describe() string {
	var b strings.Builder
	if name := p.name(); name != "" {
		b.WriteString(name + ": ")
	}
	if p.Aside != "" {
		b.WriteString(clean(p.Aside) + "; ")
	}
	if !p.any {
		b.WriteString(p.nothing())
		return b.String()
	}
	b.WriteString(p.x.describe("x") + "; " + p.y.describe("y"))
	if p.key != nil {
		b.WriteString("; up to " + strings.TrimSpace(plural.Grouped(p.Cells.most())+" "+clean(p.Cells.Of)) + " in a cell")
	}
	for i := range p.Series {
		if i == mostDescribed {
			b.WriteString("; and " + plural.Grouped(len(p.Series)-i) + " more series")
			break
		}
		s := &p.Series[i]
		var ys []float64
		for _, v := range s.Points {
			if !math.IsNaN(p.X.place(v.X)) {
				ys = append(ys, v.Y)
			}
		}
		b.WriteString("; ")
		if s.Name != "" {
			b.WriteString(clean(s.Name) + ": ")
		}
		all, ok := spanOf(&p.Y, ys)
		switch {
		case !ok:
			b.WriteString("no data")
		case all.low == all.high:
			b.WriteString(plural.Of(len(ys), "point") + " at " + p.y.value(all.low))
		default:
			b.WriteString(plural.Of(len(ys), "point") + " from " + p.y.value(all.low) + " to " + p.y.value(all.high))
		}
	}
	for _, l := range p.Lines {
		if l.Label != "" {
			b.WriteString("; line: " + clean(l.Label))
		}
	}
	return b.String()
}

// describe returns "x: concurrency from 1 to 64".
func (r *ruler) describe(name string) string {
	a := r.axis
	s := name
	if a.Label != "" {
		s += ": " + clean(a.Label)
	}
	if a.Scale == Names {
		return s + ", " + plural.Of(len(a.Names), "place")
	}
	return s + " from " + r.value(r.covers.low) + " to " + r.value(r.covers.high)
}
