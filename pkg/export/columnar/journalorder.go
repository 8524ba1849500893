package columnar

import (
	"slices"

	"github.com/pa-tools/pa/pkg/export"
)

// sortExperiments sorts the experiments of a journal from the order of measurement to the
// order of the levels on the command line. It stores the new index of each experiment in
// h.places. It does nothing if repeat.order is absent.
func (h *header) sortExperiments() {
	if h.run.Meta == nil || h.run.Meta.Repeat == nil || len(h.run.Meta.Repeat.Order) == 0 {
		return
	}
	measured := h.run.Experiments
	order := h.run.Meta.Repeat.Order
	if len(order) < len(measured) || !distinct(order) {
		h.warnings = append(h.warnings, export.Warning{
			Name: h.name, Offset: -1, Count: 1, Msg: "repeat.order does not name one level for each experiment; the experiments stay in the order of measurement",
		})
		return
	}
	// Levels that were not measured leave no gaps.
	order = order[:len(measured)]
	sorted := slices.Sorted(slices.Values(order))
	h.run.Experiments = make([]export.Experiment, len(measured))
	h.places = make([]int, len(measured))
	for i, level := range order {
		h.places[i], _ = slices.BinarySearch(sorted, level)
		h.run.Experiments[h.places[i]] = measured[i]
	}
}

// distinct reports whether no two values are equal.
func distinct(values []int) bool {
	sorted := slices.Sorted(slices.Values(values))
	return len(slices.Compact(sorted)) == len(values)
}
