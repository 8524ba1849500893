package export

// RepeatMeta is a run's place in a series of runs of one command line (pa-record
// --repeat, or several servers with labels).
type RepeatMeta struct {
	// Label is the label of the server that the run was recorded against; "" if the
	// servers of the command line have no labels. Each label has runs 1 to Of.
	Label string `json:"label,omitempty"`
	Index int    `json:"index"` // of this run, from 1
	Of    int    `json:"of"`    // number of runs of the series, with labels of each label
	// Group is the same in all runs of the series and, for all practical
	// purposes, in no others.
	Group string `json:"group"`
	// Order is the order in which the levels were measured; nil if they were measured
	// in the order of the list that was asked for. Order[i] is the index in that list
	// of the level that was measured as number i. A file holds its experiments in the
	// order of the list. A journal holds them in the order of measurement, and its
	// readers sort them.
	Order []int `json:"order,omitempty"`
}
