package jsonfile

// Skips counts the requests that a reader left out, by experiment.
type Skips []struct{ counted, excluded int }

// Add counts a request of experiment. excluded reports that the file excludes it.
func (s *Skips) Add(experiment int, excluded bool) {
	for len(*s) <= experiment {
		*s = append(*s, struct{ counted, excluded int }{})
	}
	if excluded {
		(*s)[experiment].excluded++
	} else {
		(*s)[experiment].counted++
	}
}

// Of returns the counts of experiment, 0 if there is no such experiment.
func (s Skips) Of(experiment int) (counted, excluded int) {
	if experiment < 0 || experiment >= len(s) {
		return 0, 0
	}
	return s[experiment].counted, s[experiment].excluded
}
