package serverfigures

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/pa-tools/pa/pkg/export"
)

// An Energy is the electrical energy that one GPU took in a span of time, or the reason why it is not
// known.
type Energy struct {
	// Of names the GPU and its host for people. GPU is its UUID, else its number at the source; Host
	// is as in [Figure].
	Of, GPU, Host string
	// Metric is the source's name of the samples: of an energy counter, or of power if Sampled is set.
	Metric  string
	Sampled bool
	Joules  float64
	// ErrorJoules bounds the error that comes from the times between samples. For a counter it is the
	// energy between the samples around each end of the span. For power it is the sum of
	// |difference| / 2 · time of neighboring samples: the error is below that if power rises or falls
	// steadily between them. Energy of uncovered time counts whole.
	ErrorJoules float64
	// Covered is the share of the span, 0 to 1, that lies between samples. Joules is extended to the
	// whole span.
	Covered float64
	// N counts the samples in the span.
	N int
	// NA is the reason why Joules is not known; "" if it is.
	NA string
}

// leastCovered is the least Energy.Covered with a value.
const leastCovered = 0.9

// Samples of power further apart than mostIntervals intervals of their source, and than leastGap, have
// a gap between them.
const (
	mostIntervals = 3
	leastGap      = int64(time.Second)
)

// A gpuKey identifies a GPU. host is "" for a UUID.
type gpuKey struct{ host, gpu string }

// An energyWatch adds up the energy of all GPUs in a span.
type energyWatch struct {
	origin   uint64  // times count from here: a float64 has no single nanoseconds since 1970
	from, to float64 // ns
	hosts    map[string]string
	interval map[string]int64 // of the sources, in ns
	gpus     map[gpuKey]*gpuEnergy
	order    []*gpuEnergy
	series   map[*export.Series]energySeries
	scrapes  int
}

// An energySeries is a series of energy or power. Its meter is nil for another figure of a GPU, and gpu
// is nil for a series of anything else.
type energySeries struct {
	gpu   *gpuEnergy
	meter *namedMeter
	scale float64
}

// A gpuEnergy has the meters of one GPU by source and metric, in the order of their first samples.
type gpuEnergy struct {
	Energy
	meters []*namedMeter
}

// A namedMeter takes one sample of each scrape: series of one GPU that differ in their labels, such as
// the pod, continue one another.
type namedMeter struct {
	source, metric string
	sampled        bool
	meter
	scrape int // the last scrape with a sample
}

// A meter integrates samples in the order of their times.
type meter interface {
	// add takes a value in J or W at a time in ns.
	add(ns, value float64)
	// energy fills Joules, ErrorJoules, Covered, N and NA.
	energy(e *Energy)
}

// newEnergyWatch returns a watch of the time from one instant to another. sources describe the sources.
func newEnergyWatch(from, to uint64, sources []export.TelemetrySource) *energyWatch {
	w := &energyWatch{
		origin: from, to: float64(to - from), hosts: map[string]string{}, interval: map[string]int64{},
		gpus: map[gpuKey]*gpuEnergy{}, series: map[*export.Series]energySeries{},
	}
	for _, s := range sources {
		w.hosts[s.Source], w.interval[s.Source] = s.Host, s.IntervalNS
	}
	return w
}

// add takes the samples of a scrape. They count at the middle of its time.
func (w *energyWatch) add(s *export.Scrape) {
	if s.Error != "" {
		return
	}
	w.scrapes++
	ns := float64(int64(s.StartNS-w.origin)) + float64(s.EndNS-s.StartNS)/2
	for i := range s.Samples {
		x := &s.Samples[i]
		k, known := w.series[x.Series]
		if !known {
			k = w.find(x.Series)
			w.series[x.Series] = k
		}
		if k.meter == nil || math.IsNaN(x.Value) || math.IsInf(x.Value, 0) || x.Value < 0 {
			continue
		}
		if k.meter.scrape != w.scrapes {
			k.meter.scrape = w.scrapes
			k.meter.add(ns, x.Value*k.scale)
		}
	}
}

// find returns the GPU and the meter of a series.
func (w *energyWatch) find(s *export.Series) energySeries {
	for _, r := range rolesOf(s) {
		if !strings.HasPrefix(r.metric.name, "GPU ") {
			continue
		}
		x := energySeries{gpu: w.gpu(s), scale: cmp.Or(r.metric.scale, 1)}
		sampled := r.metric.name == gpuPower
		if !sampled && r.metric.name != gpuEnergyName {
			return x
		}
		for _, m := range x.gpu.meters {
			if m.source == s.Source && m.metric == s.Name {
				x.meter = m
				return x
			}
		}
		m := &namedMeter{source: s.Source, metric: s.Name, sampled: sampled}
		if sampled {
			limit := math.Inf(1)
			if ns := w.interval[s.Source]; ns > 0 {
				limit = float64(max(mostIntervals*ns, leastGap))
			}
			m.meter = &powerMeter{from: w.from, to: w.to, longest: limit}
		} else {
			m.meter = &counterMeter{from: w.from, to: w.to}
		}
		x.gpu.meters = append(x.gpu.meters, m)
		x.meter = m
		return x
	}
	return energySeries{}
}

// gpu returns the entry of the GPU that a series is about.
func (w *energyWatch) gpu(s *export.Series) *gpuEnergy {
	host := cmp.Or(s.Label("Hostname"), w.hosts[s.Source])
	uuid := cmp.Or(s.Label("gpu_uuid"), s.Label("UUID"))
	key := gpuKey{gpu: uuid}
	if uuid == "" {
		key = gpuKey{cmp.Or(host, s.Source), s.Label("gpu")}
	}
	g := w.gpus[key]
	if g == nil {
		g = &gpuEnergy{Energy: Energy{GPU: key.gpu, Host: host, Of: strings.TrimSpace(cmp.Or(key.gpu, "GPU") + " " + cmp.Or(host, s.Source))}}
		w.gpus[key], w.order = g, append(w.order, g)
	}
	return g
}

// energies returns the energy of each GPU: of the first counter that knows it, else of the first
// samples of power.
func (w *energyWatch) energies() []Energy {
	var all []Energy
	for _, g := range w.order {
		best := g.Energy
		best.NA = "the telemetry holds neither energy nor power of it"
		for i, m := range g.meters {
			e := g.Energy
			e.Metric, e.Sampled = m.metric, m.sampled
			m.energy(&e)
			if e.NA == "" && !(e.Joules >= 0 && e.Joules+e.ErrorJoules < mostOf) {
				e.NA, e.Joules, e.ErrorJoules = fmt.Sprintf("an energy of %v J is impossible", e.Joules), 0, 0
			}
			if e.NA != "" {
				e.NA = m.metric + ": " + e.NA
			}
			if i == 0 || e.NA == "" && (best.NA != "" || best.Sampled && !e.Sampled) {
				best = e
			}
		}
		all = append(all, best)
	}
	return all
}

// cover extends e from the covered time, in ns, to the whole span, or sets NA.
func (e *Energy) cover(covered, span float64) {
	e.Covered = min(covered/span, 1)
	if e.Covered < leastCovered {
		e.NA = fmt.Sprintf("the samples cover %.0f %% of the time; %.0f %% are needed", 100*e.Covered, 100*leastCovered)
		e.Joules, e.ErrorJoules = 0, 0
		return
	}
	whole := e.Joules / e.Covered
	e.ErrorJoules = e.ErrorJoules/e.Covered + whole - e.Joules
	e.Joules = whole
}

// A reading is a value of a counter at a time in ns.
type reading struct{ ns, v float64 }

// at returns the value at an instant on the line from r to next.
func (r reading) at(ns float64, next reading) float64 {
	if next.ns == r.ns {
		return next.v
	}
	return r.v + (next.v-r.v)*(ns-r.ns)/(next.ns-r.ns)
}

// An edge is an end of the span on a counter: the readings around it.
type edge struct {
	ns            float64
	before, after reading
	hasBefore     bool
	hasAfter      bool
	// next is the first value after before that differs from it: a source that keeps values for a
	// while repeats them.
	next    float64
	hasNext bool
}

func (e *edge) add(r reading) {
	if r.ns <= e.ns {
		e.before, e.hasBefore = r, true
		return
	}
	if !e.hasAfter {
		e.after, e.hasAfter = r, true
	}
	if !e.hasNext && (!e.hasBefore || r.v > e.before.v) {
		e.next, e.hasNext = r.v, true
	}
}

// value returns the counter at the edge, and the bound of its error: the larger of the distances to
// the value before and to the next value. step takes the place of an unknown next value: it is how
// much the counter grew at last.
func (e *edge) value(step float64) (v, bound float64) {
	v = e.before.at(e.ns, e.after)
	next := e.next
	if !e.hasNext {
		next = e.before.v + step
	}
	return v, max(v-e.before.v, next-v, 0)
}

// A counterMeter reads a counter at both ends of a span.
type counterMeter struct {
	from, to   float64
	begin, end edge
	first      reading // of all
	last       reading
	n, inside  int
	step       float64 // the last growth
	fell       bool    // between readings that matter
	fromV, toV float64 // the values before and after the fall
	done       bool
}

func (c *counterMeter) add(ns, v float64) {
	if c.done {
		return
	}
	r := reading{ns, v}
	if c.n == 0 {
		c.first = r
		c.begin.ns, c.end.ns = c.from, c.to
	}
	c.n++
	if ns >= c.from && ns <= c.to {
		c.inside++
	}
	switch {
	case c.n == 1:
	case v < c.last.v && c.end.hasAfter:
		c.done = true // after the span: the next value stays unknown
		return
	case v < c.last.v && ns <= c.from: // before the span: begin again
		c.begin, c.end = edge{ns: c.from}, edge{ns: c.to}
		c.first, c.step = r, 0
	case v < c.last.v:
		if !c.fell {
			c.fromV, c.toV = c.last.v, v
		}
		c.fell = true
	case v > c.last.v:
		c.step = v - c.last.v
	}
	c.last = r
	c.begin.add(r)
	c.end.add(r)
	c.done = c.end.hasNext && c.end.hasAfter
}

func (c *counterMeter) energy(e *Energy) {
	e.N = c.inside
	switch {
	case c.n == 0 || c.first.ns > c.to || c.last.ns < c.from:
		e.NA = "no sample in the time of the level"
		return
	case c.fell:
		e.NA = fmt.Sprintf("the counter fell from %v J to %v J", c.fromV, c.toV)
		return
	case c.first.ns == c.last.ns:
		e.NA = "one sample shows no growth"
		return
	}
	begin, beginBound := c.first.v, 0.0
	from, to := c.from, c.to
	if c.begin.hasBefore {
		begin, beginBound = c.begin.value(c.step)
	} else {
		from = c.first.ns
	}
	end, endBound := c.last.v, 0.0
	if c.end.hasAfter {
		end, endBound = c.end.value(c.step)
	} else {
		to = c.last.ns
	}
	if end <= begin {
		e.NA = "the counter did not grow"
		return
	}
	e.Joules, e.ErrorJoules = end-begin, beginBound+endBound
	e.cover(to-from, c.to-c.from)
}

// A powerMeter integrates samples of power by the trapezoidal rule.
type powerMeter struct {
	from, to float64
	longest  float64 // time between samples that is no gap, in ns
	last     reading
	n, in    int
	joules   float64
	bound    float64
	covered  float64 // ns
}

func (p *powerMeter) add(ns, v float64) {
	r := reading{ns, v}
	prev := p.last
	p.last = r
	p.n++
	if ns >= p.from && ns <= p.to {
		p.in++
	}
	begin, end := max(prev.ns, p.from), min(ns, p.to)
	if p.n == 1 || end <= begin || ns-prev.ns > p.longest {
		return
	}
	a, b := prev.at(begin, r), prev.at(end, r)
	p.joules += (a + b) / 2 * (end - begin) / 1e9
	p.bound += math.Abs(r.v-prev.v) / 2 * (end - begin) / 1e9
	p.covered += end - begin
}

func (p *powerMeter) energy(e *Energy) {
	e.N = p.in
	switch {
	case p.covered > 0:
	case p.in == 1:
		e.NA = "one sample shows no energy"
		return
	default:
		e.NA = "no sample in the time of the level"
		return
	}
	e.Joules, e.ErrorJoules = p.joules, p.bound
	e.cover(p.covered, p.to-p.from)
}
