// Package plot draws the charts of recorded runs as SVG: percentiles, figures over time, single
// requests, sweeps over load levels, frontiers, heat maps, latencies against prompt lengths, and
// metrics over many runs.
//
//	f := plot.CDF(runs, plot.Options{})
//	err := f.Write(os.Stdout)
//
// Each chart is a function from runs to a figure of package svg; several runs are laid over each
// other, with one entry in the legend each. The figures are plain data, so that a caller can change
// them before they are written. All numbers are those of package view and of the reports, and a chart
// that leaves values out says so in its subtitle. What is not known is no point, and a panel without
// points says why.
package plot
