package serverfigures

import (
	"math"
	"strings"

	"github.com/pa-tools/pa/pkg/export"
)

// Courses follows the series of telemetry over time: a gauge as it is, a counter by its growth per second.
type Courses struct {
	// OnlyFigures follows only series that belong to a figure of the report. Others are not in LeftOut.
	OnlyFigures bool
	// LeftOut counts the series that are left out because their source has too many, in the order in which
	// they appeared.
	LeftOut []LeftOut

	most    int
	sources map[string]*courseSource
}

// A LeftOut counts the series of a quantity that are left out of a source.
type LeftOut struct {
	Source, Quantity string // as in Course
	Series           int
}

// A courseSource is one source of telemetry.
type courseSource struct {
	courses map[*export.Series]*Course // nil for a series that has no course
	kept    int                        // courses that are not nil
}

// A Course is the course of one series.
type Course struct {
	Source string
	Series *export.Series
	// PerSecond says that the values are the growth of a counter per second.
	PerSecond bool
	// Quantity is the name of the figure that the series belongs to, as in [Figure.Name]: "KV cache
	// usage". Unit is the unit of that figure, and for a counter "/s" after it. Both are "" for
	// series that belong to no gauge and no counter of the report.
	Quantity, Unit string

	scale float64
	seen  bool
	atNS  uint64
	value float64
}

// NewCourses returns Courses of at most that many series of each source.
func NewCourses(mostOfSource int) *Courses {
	return &Courses{most: mostOfSource, sources: map[string]*courseSource{}}
}

// Add calls value with the values that follow from a scrape, in the order of its samples. The time of a
// gauge is the middle of the scrape. The growth of a counter is known at the next scrape only, so its time
// is the middle of the scrape before. A counter that falls began anew, and its growth is not known.
func (c *Courses) Add(s *export.Scrape, value func(x *Course, atNS uint64, v float64)) {
	if s.Error != "" {
		return
	}
	source := c.sources[s.Source]
	if source == nil {
		source = &courseSource{courses: map[*export.Series]*Course{}}
		c.sources[s.Source] = source
	}
	at := s.StartNS + (s.EndNS-s.StartNS)/2
	for i := range s.Samples {
		sample := &s.Samples[i]
		x, known := source.courses[sample.Series]
		if !known {
			switch x = newCourse(s.Source, sample.Series); {
			case x == nil:
			case c.OnlyFigures && x.Quantity == "":
				x = nil
			case source.kept == c.most:
				c.leaveOut(x)
				x = nil
			default:
				source.kept++
			}
			source.courses[sample.Series] = x
		}
		if x != nil {
			x.add(at, sample.Value, value)
		}
	}
}

// leaveOut counts a series that is left out.
func (c *Courses) leaveOut(x *Course) {
	for i := range c.LeftOut {
		if l := &c.LeftOut[i]; l.Source == x.Source && l.Quantity == x.Quantity {
			l.Series++
			return
		}
	}
	c.LeftOut = append(c.LeftOut, LeftOut{x.Source, x.Quantity, 1})
}

// Label names the course for people: the series, and "per second" after a counter.
func (x *Course) Label() string {
	if x.PerSecond {
		return x.Series.String() + " per second"
	}
	return x.Series.String()
}

// Scaled returns a value of the series in Unit; without a Unit, it returns the value.
func (x *Course) Scaled(v float64) float64 {
	if x.scale == 0 {
		return v
	}
	return v * x.scale
}

// name sets what the report knows of the series.
func (x *Course) name() *Course {
	want := partGauge
	if x.PerSecond {
		want = partCounter
	}
	for _, r := range rolesOf(x.Series) {
		if r.part != want {
			continue
		}
		x.Quantity, x.Unit, x.scale = r.metric.name, r.metric.unit, r.metric.scale
		if x.PerSecond {
			x.Unit += "/s"
		}
		break
	}
	return x
}

// newCourse returns the course of a series; nil for the parts of histograms and summaries, which are no
// course of one figure.
func newCourse(source string, s *export.Series) *Course {
	switch s.Type {
	case "histogram", "summary":
		return nil
	case "counter":
		return (&Course{Source: source, Series: s, PerSecond: true}).name()
	}
	if strings.HasSuffix(s.Name, "_bucket") {
		return nil
	}
	return (&Course{Source: source, Series: s}).name()
}

// add passes on the value that follows from a sample.
func (x *Course) add(at uint64, v float64, value func(*Course, uint64, float64)) {
	if !x.PerSecond {
		value(x, at, v)
		return
	}
	if grown := v - x.value; x.seen && at > x.atNS && grown >= 0 && !math.IsInf(grown, 0) {
		value(x, x.atNS, grown/(float64(at-x.atNS)/1e9))
	}
	x.seen, x.atNS, x.value = true, at, v
}
