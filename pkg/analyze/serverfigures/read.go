package serverfigures

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// A Level holds the facts of a load level that its figures need.
type Level struct {
	// FromNS and ToNS are the measurement: windows, or the selected part. A level
	// without a measurement has no figures.
	FromNS, ToNS uint64
	// EnergyFromNS and EnergyToNS are the time of Result.Energy; both 0 if it is not wanted.
	EnergyFromNS, EnergyToNS uint64
	// Stats holds Triton's counts at the edges of the measurement; nil if there are none,
	// or if a part of the level was selected.
	Stats *export.ServerStats
	// SeveralModels says that the requests of the level went to several models, and
	// SeveralResponses that streamed requests had more than one response.
	SeveralModels, SeveralResponses bool
	// ClientMean returns the mean of the recorder's metric over the requests to a model; ok
	// is false if there is none. If ClientMean is nil, figures are not compared.
	ClientMean func(model string, m answer.Metric) (mean float64, ok bool)
}

// A Result holds the figures of a level, and warnings about them.
type Result struct {
	Figures  []Figure
	Warnings []string
	// Energy has an entry for each GPU of the telemetry, in the order of their first samples; nil if
	// the level did not ask for it.
	Energy []Energy
}

// Read reads the telemetry of r and returns the figures of each of the levels. After an
// error, which comes from r or ctx, the figures cover what could be read.
func Read(ctx context.Context, r export.Reader, levels []Level) ([]Result, error) {
	hosts := map[string]string{}
	var sources []export.TelemetrySource
	if m := r.Run().Meta; m != nil {
		sources = m.Telemetry
		for _, s := range sources {
			hosts[s.Source] = s.Host
		}
	}
	watches := make([]*serverWatch, len(levels))
	energies := make([]*energyWatch, len(levels))
	for i := range levels {
		if l := &levels[i]; l.EnergyToNS > l.EnergyFromNS {
			energies[i] = newEnergyWatch(l.EnergyFromNS, l.EnergyToNS, sources)
		}
		if levels[i].ToNS > levels[i].FromNS {
			watches[i] = newWatch(levels[i].FromNS, levels[i].ToNS, hosts)
		}
	}
	err := r.Scrapes(ctx, func(s *export.Scrape) error {
		for _, w := range watches {
			if w != nil {
				w.add(s)
			}
		}
		for _, w := range energies {
			if w != nil {
				w.add(s)
			}
		}
		return nil
	})
	results := make([]Result, len(levels))
	for i, w := range energies {
		if w != nil {
			results[i].Energy = w.energies()
		}
	}
	for i, w := range watches {
		if w == nil {
			continue
		}
		triton := tritonFigures(&levels[i])
		all := append(w.figures(&levels[i], len(triton) > 0), triton...)
		for k := range all {
			all[k].dropImpossible()
		}
		results[i].Figures, results[i].Warnings = all, w.warnings(all)
	}
	return results, err
}

// maxQuotedBytes bounds names from servers in warnings.
const maxQuotedBytes = 200

// A serverWatch collects the series of one level.
type serverWatch struct {
	from, to uint64
	hosts    map[string]string // of the sources
	series   map[*export.Series]*seriesSum
	order    []*seriesSum // the series with a role
	// before holds the sources with a scrape from before the measurement. A counter of
	// such a source that appears later began at 0.
	before map[string]bool
	// within holds the sources with a scrape in the measurement.
	within map[string]bool
	// started holds the last ProcessStartMetric of each source.
	started map[string]float64
}

// A seriesSum sums up one series over the measurement.
type seriesSum struct {
	*export.Series
	roles  []seriesRole
	gauge  bool
	smooth bool

	n             uint64  // scrapes
	numberless    uint64  // scrapes in which a gauge was NaN or infinite
	sum, min, max float64 // of a gauge
	begin, end    float64 // of a counter
	begun, ended  bool
	tooHigh       string // why a value of a counter cannot be true; "" if all can
	reset         bool
	restarted     bool    // the reset is a restart of the server
	from, to      float64 // the values before and after the reset
	last          float64
	lastNS        float64 // from the start of the measurement: a float64 has no single nanoseconds since 1970
}

func (w *serverWatch) add(s *export.Scrape) {
	if s.Error != "" {
		return
	}
	if s.StartNS <= w.from {
		w.before[s.Source] = true
	}
	if s.EndNS >= w.from && s.StartNS <= w.to {
		w.within[s.Source] = true
	}
	var fell []*seriesSum
	rose, restarted := 0, false
	for i := range s.Samples {
		x := &s.Samples[i]
		if x.Series.Name == export.ProcessStartMetric {
			at, known := w.started[s.Source]
			restarted = restarted || known && at != x.Value
			w.started[s.Source] = x.Value
		}
		sum := w.series[x.Series]
		if sum == nil {
			sum = &seriesSum{Series: x.Series, roles: rolesOf(x.Series), min: math.Inf(1), max: math.Inf(-1), last: math.Inf(-1)}
			for _, r := range sum.roles {
				sum.gauge, sum.smooth = r.part == partGauge, r.metric.smooth
			}
			w.series[x.Series] = sum
			if sum.roles != nil {
				w.order = append(w.order, sum)
			}
		}
		switch {
		case sum.roles == nil || sum.ended:
		case !sum.gauge:
			switch {
			case !(sum.last > 0):
			case x.Value < sum.last:
				fell = append(fell, sum)
			default:
				rose++
			}
			sum.counter(s, x.Value, w)
		case s.EndNS < w.from || s.StartNS > w.to:
		case math.IsNaN(x.Value) || math.IsInf(x.Value, 0):
			sum.numberless++
		default:
			sum.n++
			sum.sum += x.Value
			sum.min, sum.max = min(sum.min, x.Value), max(sum.max, x.Value)
		}
	}
	for _, sum := range fell { // a counter that falls while others rise shows no restart
		sum.restarted = sum.reset && (restarted || rose == 0)
	}
}

// counter adds a value of a counter. The growth counts from the last scrape before the
// measurement to the first after it; for a smooth counter, the values at the edges of the
// measurement are interpolated.
func (c *seriesSum) counter(s *export.Scrape, v float64, w *serverWatch) {
	switch {
	case math.IsInf(v, 0):
		c.tooHigh = c.Name + " is infinite"
		return
	case v > mostOf || v < -mostOf:
		c.tooHigh = fmt.Sprintf("%s is as high as %v", c.Name, v)
		return
	}
	// The value is of an unknown instant of the scrape; the middle is assumed.
	atNS := float64(int64(s.StartNS-w.from)) + float64(s.EndNS-s.StartNS)/2
	on := func(ns float64) float64 { // the line from the last value to this one
		return c.last + (v-c.last)*(ns-c.lastNS)/(atNS-c.lastNS)
	}
	switch {
	case s.StartNS <= w.from:
		c.begin, c.begun, c.reset, c.n = v, true, false, 0
	case !c.begun:
		c.begun = true
		if c.smooth || !w.before[s.Source] { // the value at the beginning is unknown: count from here
			c.begin = v
		} else {
			c.n++ // the scrape before the series began, at 0
		}
	case v < c.last:
		if !c.reset {
			c.from, c.to = c.last, v
		}
		c.reset = true
	case c.smooth && c.n == 1 && c.lastNS <= 0:
		c.begin = on(0)
	}
	c.n++
	c.end = v
	if c.ended = s.StartNS >= w.to; c.ended && c.smooth && c.n > 1 && atNS > c.lastNS {
		c.end = on(float64(w.to - w.from))
	}
	c.last, c.lastNS = v, atNS
}

// growth returns the growth of a counter; ok is false if it is not known.
func (c *seriesSum) growth() (v float64, ok bool) {
	v = c.end - c.begin
	return v, c.begun && !c.reset && c.tooHigh == "" && v >= 0 && !math.IsInf(v, 0)
}

// why returns the reason why the growth is not known.
func (c *seriesSum) why() string {
	switch {
	case c.tooHigh != "":
		return c.tooHigh
	case c.reset && c.restarted:
		return "the server was started again"
	case c.reset:
		return fmt.Sprintf("%s fell from %v to %v", c.Name, c.from, c.to)
	}
	return c.Name + " is not a number"
}

// impossible returns the reason why the values of a gauge cannot be true; "" if they can.
// No known gauge is below 0, and a ratio is not above 1 except by rounding.
func (c *seriesSum) impossible(m *serverMetric) string {
	const rounding = 1e-6
	switch {
	case c.n == 0:
		return c.Name + " is not a number"
	case c.min < 0:
		return fmt.Sprintf("%s is as low as %v", c.Name, c.min)
	case m.unit == "ratio" && m.scaled(c.max) > 1+rounding:
		return fmt.Sprintf("%s is as high as %v", c.Name, c.max)
	}
	return ""
}

// newWatch returns a watch of the measurement between two instants. hosts holds the
// host of each source.
func newWatch(from, to uint64, hosts map[string]string) *serverWatch {
	return &serverWatch{from: from, to: to, hosts: hosts, series: map[*export.Series]*seriesSum{}, before: map[string]bool{}, within: map[string]bool{}, started: map[string]float64{}}
}

// warnings returns warnings about figures without a value, one for each name, about gauges without a scrape,
// and about gauges that were not numbers in some scrapes.
func (w *serverWatch) warnings(all []Figure) (warnings []string) {
	others := map[string]int{}
	var missed []string
	for i := range all {
		switch f := &all[i]; {
		case f.NA == noScrape && !slices.Contains(missed, f.Name):
			missed = append(missed, f.Name)
		case f.NA != "" && f.NA != noScrape:
			others[f.Name]++
		}
	}
	if n := len(missed); n > 0 {
		warnings = append(warnings, fmt.Sprintf("%s %s no value: %s, which took %s; a shorter --metrics-interval reads more often",
			strings.Join(missed, ", "), plural.Form(n, "has", "have"), noScrape, plural.Time(time.Duration(w.to-w.from))))
	}
	for i := range all {
		f := &all[i]
		n := others[f.Name]
		if f.NA == "" || f.NA == noScrape || n == 0 {
			continue
		}
		others[f.Name] = 0
		more := ""
		if n > 1 {
			more = fmt.Sprintf("; %d more %s none either", n-1, plural.Form(n-1, "has", "have"))
		}
		warnings = append(warnings, fmt.Sprintf("%s of %s has no value: %s%s", f.Name, sanitize.Clip(f.Of, maxQuotedBytes), f.NA, more))
	}
	var scrapes uint64
	var first *seriesSum
	for _, s := range w.order {
		if s.numberless == 0 || s.n == 0 {
			continue
		}
		if scrapes += s.numberless; first == nil {
			first = s
		}
	}
	if first != nil {
		warnings = append(warnings, fmt.Sprintf("left out, because not a number: %s of gauges; the first is of %s of %s", plural.GroupedOf(scrapes, "value"), first.Name, first.Source))
	}
	return warnings
}

// newFigure returns a figure that names the series and its subject and has no values yet.
func (w *serverWatch) newFigure(s *seriesSum, r *seriesRole) Figure {
	f := Figure{
		Name: r.metric.name, Metric: r.of, Unit: r.metric.unit, Source: s.Source,
		Host:  cmp.Or(s.Label("Hostname"), w.hosts[s.Source]), // DCGM's exporter knows better than its URL
		GPU:   cmp.Or(s.Label("gpu_uuid"), s.Label("UUID")),
		model: cmp.Or(s.Label("model_name"), s.Label("model")),
	}
	switch {
	case f.GPU != "":
		f.Of = f.GPU + " " + cmp.Or(f.Host, s.Source)
	case f.model != "":
		f.Of = f.model + " " + s.Source
	default:
		f.Of = s.Source
	}
	return f
}

// figures returns the figures of times, counters and gauges, each in the order of the
// tables of known metrics. withStatistics: there are ModelStatistics.
func (w *serverWatch) figures(e *Level, withStatistics bool) []Figure {
	var all []Figure
	for i := range serverTimes {
		if m := &serverTimes[i]; !withStatistics || !m.spare {
			all = append(all, w.timeFigures(e, m)...)
		}
	}
	for i := range serverCounters {
		if m := &serverCounters[i]; !withStatistics || !m.spare {
			all = append(all, w.counterFigures(m)...)
		}
	}
	for i := range serverGauges {
		all = append(all, w.gaugeFigures(&serverGauges[i])...)
	}
	return all
}

// each calls f for the series that are the given part of m.
func (w *serverWatch) each(m *serverMetric, part seriesPart, f func(s *seriesSum, r *seriesRole)) {
	for _, s := range w.order {
		for i := range s.roles {
			if r := &s.roles[i]; r.metric == m && r.part == part {
				f(s, r)
			}
		}
	}
}

// A figureOf names a metric and its subject.
type figureOf struct{ metric, of string }

func (f *Figure) key() figureOf { return figureOf{f.Metric, f.Of} }

// timeFigures computes Δsum/Δcount of the series of a metric. Series that differ only in ignored
// labels, such as engine or is_streaming, are one figure.
func (w *serverWatch) timeFigures(e *Level, m *serverMetric) []Figure {
	type sums struct {
		Figure
		total, n float64
		summed   bool
	}
	var all []*sums
	known := map[figureOf]*sums{}
	find := func(f Figure) *sums {
		x := known[f.key()]
		if x == nil {
			x = &sums{Figure: f}
			known[f.key()], all = x, append(all, x)
		}
		return x
	}
	doubt := func(x *sums, s *seriesSum, ok bool) {
		if !ok && x.NA == "" {
			x.NA, x.Impossible = s.why(), s.tooHigh != "" || !s.reset
		}
	}
	w.each(m, partSum, func(s *seriesSum, r *seriesRole) {
		x := find(w.newFigure(s, r))
		v, ok := s.growth()
		x.total, x.summed = x.total+v, true
		doubt(x, s, ok)
	})
	w.each(m, partCount, func(s *seriesSum, r *seriesRole) {
		x := find(w.newFigure(s, r))
		v, ok := s.growth()
		x.n += v
		doubt(x, s, ok)
	})
	var figures []Figure
	for _, x := range all {
		f := x.Figure
		f.Kind, f.Unit = Time, "ns"
		switch {
		case !x.summed || f.NA == "" && x.n < 1:
			continue
		case f.NA == "":
			f.N, f.Mean = uint64(x.n), x.total/x.n*cmp.Or(m.scale, 1e9)
			f.compare(e, f.model, m.client)
			if m.spare && e.SeveralResponses { // Triton's
				f.Incomparable = decoupledTime
			}
		}
		figures = append(figures, f)
	}
	return figures
}

// counterFigures computes the growth of counters. It adds series that differ only in ignored
// labels, such as finished_reason, except energies.
func (w *serverWatch) counterFigures(m *serverMetric) []Figure {
	var all []Figure
	var series []*seriesSum
	bad := map[int]bool{}
	known := map[figureOf]int{}
	w.each(m, partCounter, func(s *seriesSum, r *seriesRole) {
		f := w.newFigure(s, r)
		v, ok := s.growth()
		f.Kind, f.N, f.Total = Counter, s.n, m.scaled(v)
		i, there := known[f.key()]
		if there && !m.smooth {
			all[i].N, all[i].Total = max(all[i].N, f.N), all[i].Total+f.Total
		} else {
			i = len(all)
			known[f.key()] = i
			all, series = append(all, f), append(series, s)
		}
		if !ok && all[i].NA == "" {
			all[i].NA, all[i].Impossible = s.why(), s.tooHigh != "" || !s.reset
		}
		bad[i] = bad[i] || s.n < 2 // one scrape shows no growth
	})
	addDifferingLabels(all, series)
	var figures []Figure
	for i := range all {
		if bad[i] {
			continue
		}
		if f := &all[i]; f.NA != "" {
			f.N, f.Total = 0, 0
		}
		figures = append(figures, all[i])
	}
	return figures
}

// noScrape is the reason why a gauge has no value in a measurement between two scrapes.
const noScrape = "no scrape fell into the measurement"

// gaugeFigures computes mean, minimum and maximum of gauges. A gauge that the scrapes of the measurement lack
// has no figure; if there are no scrapes, it has one without a value.
func (w *serverWatch) gaugeFigures(m *serverMetric) []Figure {
	var all []Figure
	var series []*seriesSum
	w.each(m, partGauge, func(s *seriesSum, r *seriesRole) {
		missed := s.n+s.numberless == 0
		if missed && w.within[s.Source] {
			return
		}
		f := w.newFigure(s, r)
		f.Kind = Gauge
		if missed {
			f.NA = noScrape
		} else if f.NA = s.impossible(m); f.NA != "" {
			f.Impossible = true
		} else {
			f.N, f.Mean, f.Min, f.Max = s.n, m.scaled(s.sum/float64(s.n)), m.scaled(s.min), m.scaled(s.max)
		}
		all, series = append(all, f), append(series, s)
	})
	addDifferingLabels(all, series)
	return all
}

// addDifferingLabels adds to figures with the same subject, such as engines of one server
// or parts of one GPU, the labels in which their series differ.
func addDifferingLabels(all []Figure, series []*seriesSum) {
	same := map[figureOf][]int{}
	for i := range all {
		same[all[i].key()] = append(same[all[i].key()], i)
	}
	for _, group := range same {
		if len(group) < 2 {
			continue
		}
		// alike counts, for each label, the series with the same value as the first series
		// that has the label. The series differ in a label if not all are alike.
		first, alike := map[string]string{}, map[string]int{}
		for _, i := range group {
			for _, l := range series[i].Labels {
				if _, ok := first[l.Name]; !ok {
					first[l.Name] = l.Value
				}
				if first[l.Name] == l.Value {
					alike[l.Name]++
				}
			}
		}
		for _, i := range group {
			var differ []string
			for _, l := range series[i].Labels {
				if alike[l.Name] < len(group) {
					differ = append(differ, l.Name+"="+l.Value)
				}
			}
			if differ != nil {
				all[i].Of += " " + strings.Join(differ, ",")
			}
		}
	}
}
