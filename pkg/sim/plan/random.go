package plan

import "github.com/pa-tools/pa/internal/stat"

// Every random value is a hash of seed, request, purpose and token. No generator keeps a
// state, so neither the order of events nor the number of cores can change a value.
//
//	bits(seed, request, what, token) = m(m(m(m(seed) ^ request) ^ what) ^ token)
//
// m is [Mix]. Two draws coincide only if their arguments do, or by a collision of
// 64-bit values at one of the three xors.

// A draw is the purpose of a random value. Values for different purposes are
// independent.
type draw uint64

const (
	drawTTFT draw = iota + 1
	drawITL
	drawLength
	drawText
)

// Mix is the step and finalizer of splitmix64: a bijection that spreads every bit of x.
func Mix(x uint64) uint64 { return stat.Mix(x + stat.SplitMixStep) }

// bits returns 64 random bits.
func bits(seed, request uint64, what draw, token int) uint64 {
	return Mix(Mix(Mix(Mix(seed)^request)^uint64(what)) ^ uint64(token))
}

// uniform returns a number above 0 and at most 1: the centre of one of 2^53 equal cells, as
// a float64. Only the last cell rounds to 1, whose normal quantile is infinite.
func uniform(seed, request uint64, what draw, token int) float64 {
	return (float64(bits(seed, request, what, token)>>11) + 0.5) / (1 << 53)
}
