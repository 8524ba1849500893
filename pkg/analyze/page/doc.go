// Package page writes recorded runs as one HTML file that needs nothing else: no network, no font, no
// other file.
//
//	err := page.HTML(page.Page{Runs: []page.Run{{Run: run}}})(w)
//
// The page begins with verdicts: is the objective met, did the client keep up, is the level steady,
// how large is the error of the clock, how many requests failed. Then come the sweep, the Pareto
// frontier, distributions, series over time, the waterfall of requests, heat maps of gaps between
// tokens, the time to the first token against uncached input tokens, stalls and errors, and the facts
// and definitions. A comparison begins with its headline and table.
//
// Charts are SVG of package plot and need no JavaScript. Series over time are drawn by uPlot
// (third_party/uplot), the waterfall by the page's own script. A Content-Security-Policy allows only
// these scripts and style sheets, by their hashes. Text of a server or a file passes package sanitize
// and stays text.
//
// Every number of the report stands in an element with the attributes data-run, data-level, data-metric,
// data-stat, data-path and data-value. data-path is the place of the number in the JSON of package report, and
// data-value is the text of the number in that JSON.
package page
