package spool

import (
	"math"
	"slices"
	"testing"
)

// Groups give back the fields that were added.
func TestPack(t *testing.T) {
	t.Parallel()
	ints := []int64{0, 1, -1, math.MaxInt64, math.MinInt64}
	texts := []string{"", "a", "a", "long text"}
	series := [][]int64{nil, {5}, {math.MinInt64, math.MaxInt64, 0, 7}}
	var p Packer
	const groups = 3
	for range groups {
		p.Begin()
		for i, v := range ints {
			p.Flag(i%2 == 0)
			p.Int(v)
		}
		for _, v := range texts {
			p.Text(v)
		}
		for _, v := range series {
			p.Each(len(v), 100, func(i int) int64 { return v[i] })
		}
		p.End()
	}
	u := Unpacker{Bytes: p.Bytes}
	for range groups {
		u.Begin()
		for i, want := range ints {
			if flag, v := u.Flag(), u.Int(); flag != (i%2 == 0) || v != want {
				t.Errorf("%v, %d, want %d", flag, v, want)
			}
		}
		for i, want := range texts {
			if v := u.Text(i % 2); v != want {
				t.Errorf("%q, want %q", v, want)
			}
		}
		for _, want := range series {
			var got []int64
			u.Each(100, func(n int) { got = make([]int64, n) }, func(i int, v int64) { got[i] = v })
			if !slices.Equal(got, want) {
				t.Errorf("%v, want %v", got, want)
			}
		}
	}
	if len(u.Bytes) > 0 {
		t.Errorf("%d bytes left", len(u.Bytes))
	}
}

// A group has 64 flags at most.
func TestTooManyFlags(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	var p Packer
	p.Begin()
	for range 65 {
		p.Flag(true)
	}
	p.End()
}
