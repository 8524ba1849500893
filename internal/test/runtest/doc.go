// Package runtest reads runs of package memrun as tests compare them: as a side of a comparison, and as a report. It also
// compares the reports of merged and whole runs.
package runtest
