package analyze

import (
	"errors"
	"strings"

	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/export"
)

// byModel gathers the values of a level's requests by their model, if the run had
// several. The zero value is ready.
type byModel struct {
	names  []string       // in the order in which they were first seen
	index  map[string]int // in names
	parts  []collector
	sel    *Selected    // the selected part of the level, whose requests are added; nil for the whole level
	flows  []*flowMeter // of the parts, with sel
	memory *stat.Store
	err    error // from finish: values could not be read back
}

// add counts a request.
func (b *byModel) add(p *Point) {
	i, ok := b.index[p.Model]
	if !ok {
		if b.index == nil {
			b.index = map[string]int{}
		}
		name := strings.Clone(p.Model)
		i = len(b.names)
		b.index[name] = i
		b.names, b.parts = append(b.names, name), append(b.parts, collector{})
		b.parts[i].useMemory(b.memory)
		if s := b.sel; s != nil {
			b.flows = append(b.flows, newFlowMeter([]uint64{s.FromNS, s.ToNS}, s.Level.ToNS))
		}
	}
	b.parts[i].add(p)
	if b.sel != nil {
		b.flows[i].add(p)
	}
}

// finish returns a part for each model: first the models of meta, in its order, then
// others that requests named. durationNS is the duration of the level.
func (b *byModel) finish(meta *export.RunMeta, durationNS int64) []ModelPart {
	var all []ModelPart
	for _, i := range b.order(meta.Models) {
		c := &b.parts[i]
		m := ModelPart{Model: b.names[i], OK: c.ok, Failed: figure.Total(c.failed.Counts()), Metrics: c.metrics()}
		b.err = errors.Join(b.err, c.err)
		if b.sel == nil {
			m.Throughput = c.throughput(durationNS, &export.Experiment{}) // there are no users of one model
		} else {
			m.Throughput = b.flows[i].finish()[0].throughput(b.sel.Counting().Seconds(), 0)
		}
		all = append(all, m)
	}
	return all
}

// order returns the indices of the models: first the models in first, then the others.
func (b *byModel) order(first []string) []int {
	var all []int
	taken := make([]bool, len(b.names))
	for _, name := range first {
		if i, ok := b.index[name]; ok {
			all, taken[i] = append(all, i), true
		}
	}
	for i := range b.names {
		if !taken[i] {
			all = append(all, i)
		}
	}
	return all
}

// severalModels reports whether the requests of a run went to several models. Each then
// names its model.
func severalModels(run *export.Run) bool { return run.Meta != nil && len(run.Meta.Models) > 1 }

// windowTable returns the windows of a level; of is the span of its points. The time of lost does not
// count. Values of a window that do not fit in memory move to a file; unread gets the error of reading them
// back.
func windowTable(e *export.Experiment, points eachPoint, of requestSpan, sel *Selected, lost *lostTime, cfg Config, memory *stat.Store, unread *error) ([]Window, error) {
	level, ok := of.extent(e)
	if !ok || cfg.Windows == (Windows{}) {
		return nil, nil
	}
	bounds, err := cfg.Windows.of(e, level, sel)
	if err != nil || len(bounds) < 2 {
		return nil, err
	}
	f := flows(points, bounds, level.ToNS)
	users := concurrency(e)
	var all []Window
	var part Selected
	var c collector
	begin := func() {
		i := len(all)
		part = Selected{Span: figure.Span{FromNS: bounds[i], ToNS: bounds[i+1]}, Level: level, lost: lost}
		c = collector{}
		c.useMemory(memory)
	}
	end := func() {
		all = append(all, Window{
			Span: part.Span, OffsetNS: int64(part.FromNS - level.FromNS), OK: c.ok, Failed: figure.Total(c.failed.Counts()),
			Metrics:    c.metrics(),
			Throughput: f[len(all)].throughput(part.Counting().Seconds(), users),
		})
		*unread = errors.Join(*unread, c.err)
	}
	begin()
	points(func(p *Point) bool {
		for p.PlaceNS >= part.FromNS && !part.has(p) {
			if end(); len(all) == len(f) {
				return false
			}
			begin()
		}
		if p.PlaceNS >= part.FromNS {
			c.add(p)
		}
		return true
	})
	for len(all) < len(f) {
		if end(); len(all) < len(f) {
			begin()
		}
	}
	return all, nil
}
