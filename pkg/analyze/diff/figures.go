package diff

import (
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/serverfigures"
)

// ofLevel is the subject of the figures of a whole level.
const ofLevel = "the level"

// levelFigures returns the figures of economics, prefix cache and phases of a level. They are compared
// like the figures of servers: without a verdict, and with an interval if there are several runs a side.
func levelFigures(e *analyze.Experiment) []serverfigures.Figure {
	var all []analyze.LevelFigure
	if e.Economics != nil {
		all = append(all, e.Economics.Figures...)
	}
	if e.Prefix != nil {
		all = append(all, e.Prefix.Figures...)
	}
	if e.Phases != nil {
		all = append(all, e.Phases.Figures...)
	}
	var figures []serverfigures.Figure
	for i := range all {
		f := &all[i]
		figures = append(figures, serverfigures.Figure{Name: f.Label, Metric: f.Key, Kind: serverfigures.Gauge, Of: ofLevel, Unit: f.Unit, N: uint64(e.OK), Mean: f.Value, NA: f.Why})
	}
	return figures
}
