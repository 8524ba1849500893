package recordlog

import "slices"

// sortLevels sorts the experiments and the levels from the order of measurement to the order
// of the levels on the command line. It does nothing if repeat.order is absent.
func (r *Reader) sortLevels() {
	if r.run.Meta == nil || r.run.Meta.Repeat == nil || len(r.run.Meta.Repeat.Order) == 0 {
		return
	}
	measured := r.run.Experiments
	order := r.run.Meta.Repeat.Order
	if distinct := slices.Compact(slices.Sorted(slices.Values(order))); len(order) < len(measured) || len(distinct) < len(order) {
		r.warn("order", -1, "repeat.order does not name one level for each experiment; the experiments stay in the order of measurement")
		return
	}
	// Levels that were not measured leave no gaps.
	order = order[:len(measured)]
	sorted := slices.Sorted(slices.Values(order))
	experiments, levels := slices.Clone(measured), slices.Clone(r.levels)
	for i, level := range order {
		place, _ := slices.BinarySearch(sorted, level)
		experiments[place], levels[place] = measured[i], r.levels[i]
	}
	r.run.Experiments, r.levels = experiments, levels
}
