package analyze

import (
	"errors"
	"strings"

	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/pkg/analyze/summary"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// A ModelPart is the analysis of the requests to one of several models. Its rates are
// over the time of the level, or of its selected part.
type ModelPart struct {
	Model      string
	OK, Failed int
	Metrics    []summary.Metric
	Throughput Throughput
}

// Metric returns the summary of a metric; nil if it has no values.
func (m *ModelPart) Metric(x answer.Metric) *summary.Summary { return summary.Find(m.Metrics, x) }

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
		m := ModelPart{Model: b.names[i], OK: c.ok, Failed: total(c.failed.counts()), Metrics: c.metrics()}
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
