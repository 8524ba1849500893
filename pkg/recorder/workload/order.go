package workload

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/pa-tools/pa/internal/stat"
)

// An Order defines the order in which the entries of a Source are sent. It depends only
// on the seed and the position, so it is the same in every run and on every machine, and
// it needs no memory. The zero value is sequential.
type Order struct {
	Kind OrderKind
	Seed uint64
}

// An OrderKind is a kind of order.
type OrderKind uint8

// The kinds of order, named as in --dataset-sampling-strategy.
const (
	// Sequential repeats the order of the source.
	Sequential OrderKind = iota
	// Shuffled sends each entry once per round, in a new random order each round:
	// sampling without replacement.
	Shuffled
	// Random draws each entry from all entries: sampling with replacement.
	Random
)

var orderNames = [...]string{"sequential", "shuffle", "random"}

// String returns "sequential", "shuffle" or "random".
func (k OrderKind) String() string {
	if int(k) < len(orderNames) {
		return orderNames[k]
	}
	return fmt.Sprintf("OrderKind(%d)", uint8(k))
}

// ParseOrderKind is the inverse of String.
func ParseOrderKind(name string) (OrderKind, error) {
	if i := slices.Index(orderNames[:], name); i >= 0 {
		return OrderKind(i), nil
	}
	return Sequential, fmt.Errorf("unknown order %q; expected sequential, shuffle or random", name)
}

// Index returns the entry at position i of a source with n entries, i ≥ 0, n > 0.
func (o Order) Index(i, n int) int {
	switch o.Kind {
	case Shuffled:
		return permute(mix(o.Seed, uint64(i/n)), i%n, n)
	case Random:
		return int(below(mix(o.Seed, uint64(i)), uint64(n)))
	}
	return i % n
}

// permute returns the image of i under the permutation of 0 … n−1 that key selects. It
// repeats a Feistel network over the next power of four until the result is below n (Black
// and Rogaway, "Ciphers with Arbitrary Finite Domains", 2002). This takes less than four
// steps on average, and no table.
func permute(key uint64, i, n int) int {
	half := (bits.Len64(uint64(n-1)) + 1) / 2
	mask := uint64(1)<<half - 1
	x := uint64(i)
	for {
		left, right := x>>half, x&mask
		for round := range uint64(6) {
			left, right = right, left^mix(key+round, right)&mask
		}
		if x = left<<half | right; x < uint64(n) {
			return int(x)
		}
	}
}

// below maps a random x to 0 … n−1, uniformly except for a bias of n/2⁶⁴.
func below(x, n uint64) uint64 {
	hi, _ := bits.Mul64(x, n)
	return hi
}

// mix hashes a and b to a random number.
func mix(a, b uint64) uint64 {
	return stat.Mix(stat.Mix(a+stat.SplitMixStep) + b + stat.SplitMixStep)
}
