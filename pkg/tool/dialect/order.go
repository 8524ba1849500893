package dialect

import (
	"cmp"
	"slices"
)

// InOrder returns the measurements of requests in the order in which the requests were
// issued: by id if all ids differ, otherwise by start time. It may sort all in place.
func InOrder[T any](all []T, id, startNS func(T) uint64) []T {
	byID := slices.Clone(all)
	slices.SortStableFunc(byID, func(a, b T) int { return cmp.Compare(id(a), id(b)) })
	for i := 1; i < len(byID); i++ {
		if id(byID[i]) == id(byID[i-1]) {
			slices.SortStableFunc(all, func(a, b T) int { return cmp.Compare(startNS(a), startNS(b)) })
			return all
		}
	}
	return byID
}

// Seconds returns the time from fromNS to toNS in seconds, rounded once.
func Seconds(fromNS, toNS uint64) float64 { return float64(int64(toNS-fromNS)) / 1e9 }
