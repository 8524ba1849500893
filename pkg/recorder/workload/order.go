package workload

import (
	"fmt"
	"math/bits"
)

// An Order says in which order the entries of a Source are sent. It is a
// function of the seed and the place in the order, so no two machines and no two
// runs differ, whatever their cores and speed, and nothing is held in memory.
// The zero value is sequential.
type Order struct {
	Kind OrderKind
	Seed uint64
}

// An OrderKind names an order.
type OrderKind uint8

// The names are those of --dataset-sampling-strategy.
const (
	// Sequential is the order of the source, around and around.
	Sequential OrderKind = iota
	// Shuffled sends each entry once before any is sent again, in another
	// random order each time around: samples without replacement.
	Shuffled
	// Random draws each entry anew from all of them: samples with replacement.
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
	for i, n := range orderNames {
		if n == name {
			return OrderKind(i), nil
		}
	}
	return Sequential, fmt.Errorf("unknown order %q; it is sequential, shuffle or random", name)
}

// Index returns which of n entries stands at place i, i ≥ 0, n > 0.
func (o Order) Index(i, n int) int {
	switch o.Kind {
	case Shuffled:
		return permute(mix(o.Seed, uint64(i/n)), i%n, n)
	case Random:
		return int(below(mix(o.Seed, uint64(i)), uint64(n)))
	}
	return i % n
}

// permute returns where the permutation of 0 … n−1 that key chooses puts i. It is
// a Feistel network over the next even power of two, walked until it is back
// below n (Black and Rogaway, "Ciphers with Arbitrary Finite Domains", 2002):
// less than four steps on average, and no table.
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

// below maps a random x to 0 … n−1, each equally likely but for n/2⁶⁴.
func below(x, n uint64) uint64 {
	hi, _ := bits.Mul64(x, n)
	return hi
}

// mix returns a random number that is a function of a and b: two rounds of
// SplitMix64's finalizer (Steele, Lea and Flood, 2014).
func mix(a, b uint64) uint64 {
	return finalize(finalize(a+0x9e3779b97f4a7c15) + b + 0x9e3779b97f4a7c15)
}

func finalize(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
