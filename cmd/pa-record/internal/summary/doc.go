// Package summary prints the figures of a run when it ends: one line for each load
// level. The figures equal those that pa-analyze prints; they are computed from the run's journal. See
// [Summary].
package summary
