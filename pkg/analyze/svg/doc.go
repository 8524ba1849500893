// Package svg draws charts as SVG: lines, steps, points, intervals, bars, cells of a heat map and
// reference lines, on linear, logarithmic and percentile axes.
//
//	f := svg.Figure{Title: "TTFT", Panels: []svg.Panel{{
//		X:      svg.Axis{Label: "concurrency", Scale: svg.Log},
//		Y:      svg.Axis{Label: "TTFT p99", Unit: svg.Nanoseconds},
//		Series: []svg.Series{{Name: "a.json", Shape: svg.LinePoints, Points: points}},
//	}}}
//	err := f.Write(os.Stdout)
//
// A picture works without JavaScript and in print. It holds its own colors for light and dark
// backgrounds, follows the reader's choice, and takes other colors from the CSS custom properties
// --pa-… of a page around it. Styles differ in color, dash and marker. All text that it shows stays
// text. The same figure gives the same bytes on every machine.
//
// The package suits about 2,000 marks; a caller with more reduces them first and says so in the
// subtitle. It knows nothing about runs: see package plot.
package svg
