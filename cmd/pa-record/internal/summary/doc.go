// Package summary prints the figures of a run when it ends: one line for each load
// level. The figures are those of pa-analyze, computed from the run's journal. See
// [Summary].
package summary
