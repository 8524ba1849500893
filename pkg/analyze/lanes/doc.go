// Package lanes puts the requests of a run into lanes, so that the requests of a lane do not overlap: the
// threads of a trace, or the rows of a waterfall.
package lanes
