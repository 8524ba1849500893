// Package progress shows a run that is under way on standard error: one line that is
// redrawn on a terminal, or a line every ten seconds elsewhere. See [Display].
package progress
