package jsonscan

import (
	"encoding/binary"
	"math/bits"
	"strconv"
)

// Uint scans an integer, also one that is written as 1.0 or 1e+18. bad
// reports a sound JSON value that is not one of 64 bits without a sign.
func Uint(b []byte, i int) (v uint64, end int, bad bool, err error) {
	start := i
	// A timestamp has 19 digits: twice eight at once, then three.
	for i+8 <= len(b) && i-start < 16 {
		w := binary.LittleEndian.Uint64(b[i:])
		if !eightDigits(w) {
			break
		}
		v = v*1e8 + parseEight(w)
		i += 8
	}
	for i < len(b) && i-start < 19 && b[i]-'0' <= 9 {
		v = v*10 + uint64(b[i]-'0')
		i++
	}
	if i == len(b) {
		return 0, i, false, ErrMore
	}
	c := b[i]
	if i > start && c-'0' > 9 && c != '.' && c|0x20 != 'e' && (b[start] != '0' || i == start+1) {
		return v, i, false, nil
	}
	// 20 digits, or something else.
	end, _, err = Value(b, start)
	if err != nil {
		return 0, end, false, err
	}
	v, ok := integral(b[start:end])
	return v, end, !ok, nil
}

// integral returns the value of the JSON text v, exactly, if that is a number
// without a sign that is an integer of 64 bits.
func integral(v []byte) (n uint64, ok bool) {
	exp, zeros := 0, 0 // digits so far are n · 10^zeros; all is that · 10^exp
	point := false
	i := 0
	for ; i < len(v) && v[i]|0x20 != 'e'; i++ {
		c := v[i]
		switch {
		case c == '.' && i > 0:
			point = true
			continue
		case c-'0' > 9:
			return 0, false
		case c == '0':
			zeros++
		default:
			if n, ok = shifted(n, zeros+1); !ok || n > 1<<64-1-uint64(c-'0') {
				return 0, false
			}
			n += uint64(c - '0')
			zeros = 0
		}
		if point {
			exp--
		}
	}
	if n == 0 {
		return 0, true
	}
	if i < len(v) {
		e, err := strconv.Atoi(string(v[i+1:]))
		if err != nil { // of so many digits that no mantissa makes up for it
			return 0, false
		}
		exp += e
	}
	// A fraction of zeros is none.
	return shifted(n, zeros+exp)
}

// shifted returns n · 10^by. ok is false when that is no integer of 64 bits; n
// does not end in 0.
func shifted(n uint64, by int) (v uint64, ok bool) {
	if n == 0 {
		return 0, true
	}
	if by < 0 || by > 19 {
		return 0, false
	}
	for range by {
		hi, lo := bits.Mul64(n, 10)
		if hi != 0 {
			return 0, false
		}
		n = lo
	}
	return n, true
}

// eightDigits reports whether all bytes of w are '0' to '9': the upper half of
// each is 3, and still is after adding 6.
func eightDigits(w uint64) bool {
	return w&(lsb*0xF0)|(w+lsb*6)&(lsb*0xF0)>>4 == lsb*0x33
}

// parseEight returns the number that eight digits are, the first in the lowest
// byte: neighbours are joined to pairs, pairs to fours, fours to the eight.
func parseEight(w uint64) uint64 {
	w -= lsb * '0'
	w = w*10 + w>>8
	const mask = 0x000000FF000000FF
	return (w&mask*(100+1000000<<32) + w>>16&mask*(1+10000<<32)) >> 32
}
