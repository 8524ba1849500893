package svg

import (
	"math"
	"strings"

	"github.com/pa-tools/pa/internal/plural"
)

// A heatStep is a range of counts that share a color.
type heatStep struct {
	role     role
	from, to uint64
}

// heatKey returns the colors for counts from 1 to most, with equal ratios between them.
func heatKey(most uint64) (key []heatStep) {
	from := uint64(1)
	for i := range heatSteps {
		to := most
		if i < heatSteps-1 {
			to = uint64(math.Ceil(math.Pow(float64(most), float64(i+1)/heatSteps)))
			if most <= heatSteps {
				to = uint64(i + 1)
			}
		}
		to = min(to, most)
		if to < from {
			continue
		}
		key = append(key, heatStep{firstHeat + role(i), from, to})
		if from = to + 1; to == most {
			break
		}
	}
	return key
}

// name returns the counts of a step: "5" or "5–8".
func (s heatStep) name() string {
	if s.from == s.to {
		return plural.Grouped(s.from)
	}
	return plural.Grouped(s.from) + "–" + plural.Grouped(s.to)
}

// drawKey draws which color stands for which count, in one line from x, y.
func (p *panel) drawKey(w *writer, x, y float64) {
	end := p.wide
	of := clean(p.Cells.Of)
	if of != "" {
		of = fit(of+":", tickSize, (p.wide+p.left)/3)
		w.element("text", of, append(quiet.class(), "x", px(x), "y", px(y+10), "font-size", px(tickSize), "fill", "currentColor")...)
		x += width(of, tickSize) + 6
	}
	total := 0.0
	for _, s := range p.key {
		total += 12 + 4 + width(s.name(), tickSize) + 8
	}
	short := x+total > end
	for i, s := range p.key {
		name := s.name()
		switch {
		case !short:
		case i == 0 || i == len(p.key)-1: // the ends must do
			name = plural.Grouped(map[bool]uint64{true: s.from, false: s.to}[i == 0])
		default:
			name = ""
		}
		w.empty("rect", s.name(), append(s.role.class(), "x", px(x), "y", px(y), "width", "12", "height", "12", "fill", "currentColor")...)
		x += 12
		if name != "" {
			w.element("text", name, append(quiet.class(), "x", px(x+4), "y", px(y+10), "font-size", px(tickSize), "fill", "currentColor")...)
			x += 4 + width(name, tickSize) + 8
		}
	}
	w.line()
}

// cells draws the cells of a heat map, grouped by color.
func (p *panel) cells(w *writer) {
	c := p.Cells
	for _, s := range p.key {
		begun := false
		for i := range len(c.X) - 1 {
			for j := range len(c.Y) - 1 {
				n := c.at(i, j)
				if n < s.from || n > s.to {
					continue
				}
				x0, x1 := p.x.edge(c.X[i]), p.x.edge(c.X[i+1])
				y0, y1 := p.y.edge(c.Y[j]), p.y.edge(c.Y[j+1])
				if math.IsNaN(x0 + x1 + y0 + y1) {
					continue
				}
				if !begun {
					w.begin("g", append(s.role.class(), "fill", "currentColor", "shape-rendering", "crispEdges")...)
					w.line()
					begun = true
				}
				title := strings.Join([]string{p.x.cellLine(c.X[i], c.X[i+1]), p.y.cellLine(c.Y[j], c.Y[j+1]), strings.TrimSpace(plural.Grouped(n) + " " + clean(c.Of))}, "\n")
				w.empty("rect", title, "x", px(x0), "y", px(min(y0, y1)), "width", px(x1-x0), "height", px(math.Abs(y1-y0)))
				w.line()
			}
		}
		if begun {
			w.end()
			w.line()
		}
	}
}

// cellLine returns "ITL: 1 ms to 2 ms".
func (r *ruler) cellLine(from, to float64) string {
	s := r.value(from) + " to " + r.value(to)
	if r.axis.Label == "" {
		return s
	}
	return clean(r.axis.Label) + ": " + s
}
