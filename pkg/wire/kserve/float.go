package kserve

import (
	"math"
	"strconv"
)

// appendFloat appends f as perf_analyzer (RapidJSON) writes a double: the
// shortest digits that read back as f, always with a fraction or an exponent.
//
// With the digits d₁…dₙ and f = 0.d₁…dₙ × 10^p (so p digits stand before the
// point):
//
//	n ≤ p ≤ 21    d₁…dₙ0…0.0      1.0  1000.0
//	0 < p < n     d₁…d.d…dₙ       12.5
//	−6 < p ≤ 0    0.0…0d₁…dₙ      0.1  0.0000012
//	else          d₁.d₂…dₙe(p−1)  1e30  2.5e-8: no plus sign, no padding
//
// NaN, Infinity and -Infinity, which JSON does not have, are appended by these names,
// without quotes. The caller widens an FP32 first: 0.1 then has the 17 digits
// 0.10000000149011612.
func appendFloat(b []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(b, "NaN"...)
	case math.IsInf(f, 1):
		return append(b, "Infinity"...)
	case math.IsInf(f, -1):
		return append(b, "-Infinity"...)
	}
	if math.Signbit(f) {
		b = append(b, '-')
		f = -f
	}
	if f == 0 {
		return append(b, "0.0"...)
	}
	// d.ddde±xx: the digits without the point, and the exponent.
	var buf [32]byte
	sci := strconv.AppendFloat(buf[:0], f, 'e', -1, 64)
	digits := make([]byte, 0, 20)
	i := 0
	for ; sci[i] != 'e'; i++ {
		if sci[i] != '.' {
			digits = append(digits, sci[i])
		}
	}
	exp, _ := strconv.Atoi(string(sci[i+1:])) // strconv wrote it
	n, p := len(digits), exp+1
	switch {
	case n <= p && p <= 21:
		b = append(b, digits...)
		for range p - n {
			b = append(b, '0')
		}
		return append(b, ".0"...)
	case 0 < p && p <= 21:
		b = append(b, digits[:p]...)
		b = append(b, '.')
		return append(b, digits[p:]...)
	case -6 < p && p <= 0:
		b = append(b, "0."...)
		for range -p {
			b = append(b, '0')
		}
		return append(b, digits...)
	}
	b = append(b, digits[0])
	if n > 1 {
		b = append(b, '.')
		b = append(b, digits[1:]...)
	}
	b = append(b, 'e')
	return strconv.AppendInt(b, int64(p-1), 10)
}
