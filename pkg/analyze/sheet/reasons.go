package sheet

import (
	"iter"
	"slices"
	"strings"
)

// Reasons collects figures that have no value, by reason, so that a report says each reason once. The zero
// value is empty.
type Reasons struct {
	whys  []string
	names [][]string // for each reason, the names of its figures
}

// Add adds the figure with a name, and why it has no value. It does not repeat a name.
func (r *Reasons) Add(name, why string) {
	i := slices.Index(r.whys, why)
	if i < 0 {
		i = len(r.whys)
		r.whys, r.names = append(r.whys, why), append(r.names, nil)
	}
	if !slices.Contains(r.names[i], name) {
		r.names[i] = append(r.names[i], name)
	}
}

// Len returns the number of reasons.
func (r *Reasons) Len() int { return len(r.whys) }

// All yields the names of figures, "queue, prefill", and the reason that they share, in the order in which
// the reasons were added. A reason may be a text from a server or a file.
func (r *Reasons) All() iter.Seq2[string, string] {
	return func(yield func(names, why string) bool) {
		for i, why := range r.whys {
			if !yield(strings.Join(r.names[i], ", "), why) {
				return
			}
		}
	}
}
