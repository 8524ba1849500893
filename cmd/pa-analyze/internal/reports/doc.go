// Package reports has the commands of pa-analyze that report the runs that they are given:
// report, with the reports of other tools and the HTML page, definitions, check, requests,
// and the two averages of perf_analyzer's example scripts.
package reports
