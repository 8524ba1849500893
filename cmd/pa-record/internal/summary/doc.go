// Package summary prints the figures of a run when it ends: one line for each load level.
// The figures are computed from the run's journal and equal pa-analyze's. See [Summary].
package summary
