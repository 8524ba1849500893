package stat

// SplitMixStep is the number by which SplitMix64 moves from one input of [Mix] to the next.
const SplitMixStep = 0x9e3779b97f4a7c15

// Mix returns a number that looks random and depends on x alone: the finalizer of SplitMix64 (Steele, Lea and Flood,
// Fast Splittable Pseudorandom Number Generators, OOPSLA 2014), a bijection in which each bit of x changes each bit of the
// result with probability about one half.
func Mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
