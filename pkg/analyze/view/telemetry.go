package view

import (
	"github.com/pa-tools/pa/pkg/analyze/serverfigures"
	"github.com/pa-tools/pa/pkg/export"
)

// MostSeries is the number of series of one source of telemetry that a [Run] keeps.
const MostSeries = 200

// courses collects the series of telemetry. Times are from the anchor.
type courses struct {
	reader *serverfigures.Courses
	points map[*serverfigures.Course]*thinner
	order  []*serverfigures.Course
}

func newCourses() *courses {
	reader := serverfigures.NewCourses(MostSeries)
	reader.OnlyFigures = true // pictures show no other series
	return &courses{reader: reader, points: map[*serverfigures.Course]*thinner{}}
}

// add adds a scrape. since returns the time from the anchor.
func (c *courses) add(s *export.Scrape, since func(uint64) (int64, bool)) {
	_, ok := since(s.StartNS)
	if _, ok2 := since(s.EndNS); !ok || !ok2 {
		return // a damaged time
	}
	c.reader.Add(s, func(x *serverfigures.Course, at uint64, v float64) {
		points := c.points[x]
		if points == nil {
			points = &thinner{}
			c.points[x] = points
			c.order = append(c.order, x)
		}
		ns, _ := since(at)
		points.add(ns, x.Scaled(v))
	})
}

// finish returns the series with values in the order in which they appeared.
func (c *courses) finish(originNS int64) (all []Series) {
	for _, x := range c.order {
		s := Series{Key: x.Series.String(), Label: x.Label(), Source: x.Source, Quantity: x.Quantity, Unit: x.Unit}
		c.points[x].fill(&s)
		if len(s.AtNS) == 0 {
			continue
		}
		for i := range s.AtNS {
			s.AtNS[i] -= originNS
		}
		all = append(all, s)
	}
	return all
}
