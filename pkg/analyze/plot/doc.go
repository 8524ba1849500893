// Package plot draws the charts of recorded runs as SVG: percentiles, figures over time, single
// requests, sweeps over load levels, frontiers, heat maps, latencies against prompt lengths, and
// metrics over many runs.
//
//	f := plot.CDF(runs, plot.Options{})
//	err := f.Write(os.Stdout)
//
// Each chart is a function from runs to a figure of package svg. It draws several runs on the same
// axes, and the legend names each run. The figures are plain data, so that a caller can change them
// before they are written. The numbers come from package view and from the reports. A chart that
// leaves values out says so in its subtitle. An unknown value has no point, and a panel without points
// says why.
package plot
