package sheet

import (
	"iter"
	"strings"
)

// Reasons collects figures that have no value, by reason, so that a report says each reason once. The zero
// value is empty.
type Reasons struct {
	whys  []string
	names [][]string     // for each reason, the names of its figures
	at    map[string]int // of a reason
	has   map[named]bool
}

// A named is a name among the figures of a reason.
type named struct {
	reason int
	name   string
}

// Add adds the figure with a name, and why it has no value. It does not repeat a name.
func (r *Reasons) Add(name, why string) {
	if r.at == nil {
		r.at, r.has = map[string]int{}, map[named]bool{}
	}
	i, known := r.at[why]
	if !known {
		i = len(r.whys)
		r.at[why] = i
		r.whys, r.names = append(r.whys, why), append(r.names, nil)
	}
	if x := (named{i, name}); !r.has[x] {
		r.has[x] = true
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
