package analyze

import (
	"cmp"
	"slices"
)

// A Count is a number of things of one name.
type Count struct {
	Name string
	N    int
}

// total returns the sum of the counts.
func total(c []Count) int {
	n := 0
	for i := range c {
		n += c[i].N
	}
	return n
}

// A tally counts by name.
type tally map[string]int

func (t *tally) add(name string) {
	if *t == nil {
		*t = tally{}
	}
	(*t)[name]++
}

// counts returns the tally, most frequent first.
func (t tally) counts() []Count {
	var c []Count
	for name, n := range t {
		c = append(c, Count{name, n})
	}
	slices.SortFunc(c, func(a, b Count) int {
		return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.Name, b.Name))
	})
	return c
}
