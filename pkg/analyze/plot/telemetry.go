package plot

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/analyze/svg"
	"github.com/pa-tools/pa/pkg/analyze/view"
)

// gauges are the gauges of servers and GPUs that a timeline shows, by the names of the report,
// in order.
var gauges = []string{"running requests", "waiting requests", "KV cache usage", "GPU utilization", "GPU power"}

// mostGauges is the number of series in a panel of gauges at most.
const mostGauges = 8

// A gauge is a series of telemetry of a run.
type gauge struct {
	run int
	*view.Series
}

// gaugesOf returns the series of all runs that the timeline shows.
func gaugesOf(runs []*view.Run) (all []gauge) {
	for i, r := range runs {
		for j := range r.Telemetry {
			if s := &r.Telemetry[j]; slices.Contains(gauges, s.Quantity) {
				all = append(all, gauge{i, s})
			}
		}
	}
	return all
}

// telemetry calls add with each known gauge that a run has.
func telemetry(runs []*view.Run, names []string, note func(string), add func(title, unit, reason string, series []svg.Series)) {
	all := gaugesOf(runs)
	for _, name := range gauges {
		var some []gauge
		perRun := make([]int, len(runs))
		for _, g := range all {
			if g.Quantity == name {
				some = append(some, g)
				perRun[g.run]++
			}
		}
		if some == nil {
			continue
		}
		if n := len(some) - mostGauges; n > 0 {
			note(fmt.Sprintf("%s: %s more are not drawn.", upper(name), plural.Of(n, "series")))
			some = some[:mostGauges]
		}
		unit := some[0].Unit
		switch unit {
		case "ratio":
			unit = string(svg.Share)
		case "count":
			unit = ""
		}
		var series []svg.Series
		for k, g := range some {
			points := courseOf(g.Series, 1, mostChanges/len(some), note)
			s := named(names, g.run, svg.Lines, points)
			if perRun[g.run] > 1 {
				// A style of its own, and the labels that tell it from the others.
				s.Style = len(runs) + k
				s.Name = strings.TrimSpace(s.Name + " " + name + " " + labelsOf(g.Series))
			}
			series = append(series, s)
		}
		add(upper(name), unit, "", series)
	}
}

// labelsOf returns the labels of a series, else its source.
func labelsOf(s *view.Series) string {
	if _, labels, ok := strings.Cut(s.Key, "{"); ok {
		return strings.TrimSuffix(labels, "}")
	}
	return s.Source
}
