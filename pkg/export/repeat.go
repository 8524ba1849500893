package export

// RepeatMeta is a run's place in a series of runs of one command line (pa-record
// --repeat).
type RepeatMeta struct {
	Index int `json:"index"` // of this run, from 1
	Of    int `json:"of"`    // how many were asked for
	// Group is the same in all runs of the series and, for all practical
	// purposes, in no others.
	Group string `json:"group"`
	// Order says in which order the levels were measured, when that was not the
	// one of the list that was asked for: Order[i] is the index in that list of
	// the level that came as number i. The experiments of a file are in the
	// order of the list, those of a journal as they were measured; its readers
	// sort them.
	Order []int `json:"order,omitempty"`
}
