// Package reports has the commands of pa-analyze that report single runs: report, with the
// reports of other tools, html, definitions, check, requests, and the two averages of
// perf_analyzer's example scripts.
package reports
