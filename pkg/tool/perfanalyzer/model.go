package perfanalyzer

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/pawindow"
)

// ModelsOf returns the server's statistics of each model that requests went to, from the
// beginning of the first reported window to the end of the last. windows is the number of
// all windows of the level. The result is nil if the file has no statistics. The error
// says why if they were requested.
func ModelsOf(stats *export.ServerStats, windows int) ([]Model, error) {
	if stats == nil || len(stats.Models) == 0 {
		return nil, nil
	}
	first := max(windows-pawindow.StableOver, 0)
	begin, _ := stats.Window(first)
	_, end := stats.Window(windows - 1)
	if begin == nil || end == nil {
		return nil, fmt.Errorf("the server was not asked at the edges of all windows%s", why(stats))
	}
	delta, reset := export.Between(begin, end)
	if reset {
		return nil, errors.New("the server's counters were reset meanwhile")
	}
	var all []Model
	for i := range stats.Models {
		info := &stats.Models[i]
		if i > 0 && !info.Asked {
			continue
		}
		m := &modelReader{stats: stats, delta: delta, left: maxModels}
		model := m.model(i, 0)
		if model == nil {
			return nil, fmt.Errorf("the server has no statistics of the model %q%s", info.Name, why(stats))
		}
		model.ResponseCache = m.cached
		model.TopLevelCache = info.Ensemble() && info.ResponseCache
		all = append(all, *model)
	}
	return all, nil
}

// Decoupled reports whether a model answers with any number of responses, by the
// statistics.
func Decoupled(stats *export.ServerStats) bool {
	return stats != nil && len(stats.Models) > 0 && stats.Models[0].Decoupled
}

// why returns a colon and the first error of the statistics.
func why(stats *export.ServerStats) string {
	if len(stats.Errors) == 0 {
		return ""
	}
	return ": " + stats.Errors[0]
}

// A modelReader builds a Model from two snapshots of the statistics.
type modelReader struct {
	stats *export.ServerStats
	delta []export.ModelStats
	left  int // of maxModels
	// cached is set if one of the models has a response cache.
	cached bool
}

// maxModels bounds the models of a file whose ensembles contain each other.
const maxModels = 1000

// model returns the model of an index, with its composing models by name and
// version; nil without statistics of it.
func (r *modelReader) model(index, depth int) *Model {
	if r.left--; r.left < 0 || index < 0 || index >= len(r.stats.Models) || depth > len(r.stats.Models) {
		return nil
	}
	info := &r.stats.Models[index]
	r.cached = r.cached || info.ResponseCache
	d := r.version(info)
	if d == nil {
		return nil
	}
	m := &Model{Name: info.Name, Version: d.Version, Stats: Stats{d.InferenceCount, d.ExecutionCount, d.InferenceStats}}
	for _, i := range info.Composing {
		if c := r.model(i, depth+1); c != nil {
			m.Composing = append(m.Composing, *c)
		}
	}
	slices.SortFunc(m.Composing, func(a, b Model) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Version, b.Version))
	})
	return m
}

// version returns the statistics of the requested version of a model. If any version
// was requested, it takes the highest one with requests in its queue, as
// perf_analyzer does, else the highest.
func (r *modelReader) version(info *export.ServerModel) *export.ModelStats {
	var best *export.ModelStats
	better := func(d *export.ModelStats) bool {
		if best == nil {
			return true
		}
		used, other := d.InferenceStats.Queue.Count > 0, best.InferenceStats.Queue.Count > 0
		if used != other {
			return used
		}
		a, _ := strconv.Atoi(d.Version)
		b, _ := strconv.Atoi(best.Version)
		return a > b
	}
	for i := range r.delta {
		d := &r.delta[i]
		if d.Name == info.Name && (info.Version == "" || info.Version == d.Version) && better(d) {
			best = d
		}
	}
	return best
}
