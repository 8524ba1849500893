// Package progress shows a run of pa-record that is under way: one or two lines that are drawn again and again
// on a terminal, elsewhere a line every ten seconds.
//
// A [Display] writes the snapshots that the recorder hands to its callback. The lines fit the width of the
// terminal: what matters least is left out first.
package progress
