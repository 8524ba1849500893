package workload

// A Set identifies the made-up entries of one load level of one run of a series, both
// counted from 0. The zero value is the first set.
type Set struct{ Run, Level int }

// Seed returns the seed of the set: seed itself for the first set, another one for each
// other set.
func (s Set) Seed(seed uint64) uint64 {
	if s == (Set{}) {
		return seed
	}
	return mix(mix(seed, uint64(s.Run)), uint64(s.Level)) //nolint:gosec // not negative
}
