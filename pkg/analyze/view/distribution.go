package view

import (
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/answer"
)

// Percents are the percentiles of a [Distribution]: every half from 0 to 99, then a tail whose
// distance to 100 falls by factors of ten, and 100.
var Percents = percents()

// steps is the number of percentiles up to 99.
const steps = 199

func percents() (all [steps + 11]float64) {
	for i := range steps {
		all[i] = float64(i) / 2
	}
	copy(all[steps:], []float64{99.2, 99.5, 99.8, 99.9, 99.95, 99.98, 99.99, 99.995, 99.998, 99.999, 100})
	return all
}

// distributions returns the distributions of a level.
func distributions(e *analyze.Experiment) []Distribution {
	var all []Distribution
	for _, m := range [...]answer.Metric{answer.TTFT, answer.ITL, answer.TPOT, answer.E2EL} {
		if s := e.Metric(m); s != nil {
			all = append(all, Distribution{Metric: m, Summary: s, Value: s.Quantiles})
		}
	}
	return all
}
