// Package progress shows a run that is under way on standard error: on a terminal two lines
// that are redrawn, how far the run is and the figures of its last seconds, or a line every
// ten seconds elsewhere. See [Display].
package progress
