package columnar

import (
	"slices"

	"github.com/pa-tools/pa/pkg/export"
)

// sortExperiments sorts the experiments of a journal from the order in which they were
// measured to the order in which the levels were asked for, and stores where each
// went. It does nothing when the two orders are the same.
func (h *header) sortExperiments() {
	if h.run.Meta == nil || h.run.Meta.Repeat == nil || len(h.run.Meta.Repeat.Order) == 0 {
		return
	}
	measured := h.run.Experiments
	order := h.run.Meta.Repeat.Order
	if len(order) < len(measured) || !distinct(order) {
		h.warnings = append(h.warnings, export.Warning{
			Name: h.name, Offset: -1, Count: 1, Msg: "repeat.order does not say where each experiment belongs; they stay as they were measured",
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

func distinct(values []int) bool {
	sorted := slices.Sorted(slices.Values(values))
	return len(slices.Compact(sorted)) == len(values)
}
