package publish

// A place is where a figure or a histogram is in the runs.
type place struct {
	run, level, index int32
	histogram         bool
}

// A group holds the figures and histograms of a name, in the order of the runs.
type group struct {
	name   string
	places []place
}

// grouped returns the figures and histograms of runs by name, in the order in which the names appear.
func grouped(runs []*Run, figure func(*Figure) string, histogram func(*Histogram) string) (all []*group) {
	byName := map[string]*group{}
	add := func(name string, p place) {
		g := byName[name]
		if g == nil {
			g = &group{name: name}
			byName[name] = g
			all = append(all, g)
		}
		g.places = append(g.places, p)
	}
	for i, r := range runs {
		for j := range r.Levels {
			l := &r.Levels[j]
			for k := range l.Figures {
				add(figure(&l.Figures[k]), place{int32(i), int32(j), int32(k), false})
			}
			for k := range l.Histograms {
				add(histogram(&l.Histograms[k]), place{int32(i), int32(j), int32(k), true})
			}
		}
	}
	return all
}

// at returns the figure or the histogram at a place; the other one is nil.
func (p place) at(runs []*Run) (r *Run, l *Level, f *Figure, h *Histogram) {
	r = runs[p.run]
	l = &r.Levels[p.level]
	if p.histogram {
		return r, l, nil, &l.Histograms[p.index]
	}
	return r, l, &l.Figures[p.index], nil
}
