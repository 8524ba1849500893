package workload

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// SessionsByOffset returns the sessions of all in the order of their Outline.Offset, and these in order. Sessions with equal ones stay in
// the order of the data. It returns an error for a session that is not Timed.
func SessionsByOffset(all Sessions) (Sessions, []time.Duration, error) {
	index, offsets := make([]int, all.Sessions()), make([]time.Duration, all.Sessions())
	for k := range index {
		o := all.Outline(k)
		if !o.Timed {
			return nil, nil, fmt.Errorf("session %q: no time at which it begins, such as the \"timestamp\" of its first entry; a schedule needs one of every session", o.ID)
		}
		index[k], offsets[k] = k, o.Offset
	}
	slices.SortStableFunc(index, func(a, b int) int { return cmp.Compare(offsets[a], offsets[b]) })
	slices.Sort(offsets)
	v := &sessionView{
		n: len(index), last: -1,
		outline: func(k int) Outline { return all.Outline(index[k]) },
		open:    func(k int) (*Session, error) { return all.Open(index[k]) },
	}
	v.count()
	return v, offsets, nil
}
