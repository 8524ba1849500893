package pages

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"
)

// appendHybrid is the obvious encoder: runs of the kinds that kind draws.
func appendHybrid(b []byte, values []uint32, width int, repeat func() bool) []byte {
	for len(values) > 0 {
		if repeat() {
			n := 1
			for n < len(values) && values[n] == values[0] {
				n++
			}
			b = binary.AppendUvarint(b, uint64(n)<<1)
			for i := range (width + 7) / 8 {
				b = append(b, byte(values[0]>>(8*i)))
			}
			values = values[n:]
			continue
		}
		groups := min((len(values)+7)/8, 3)
		n := min(groups*8, len(values))
		if n < groups*8 && n < len(values) {
			panic("unreachable")
		}
		bits := make([]byte, groups*width)
		for i := range n {
			for k := range width {
				at := i*width + k
				bits[at/8] |= byte(values[i]>>k&1) << (at % 8)
			}
		}
		b = append(binary.AppendUvarint(b, uint64(groups)<<1|1), bits...)
		values = values[n:]
	}
	return b
}

func TestHybrid(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for width := range 33 {
		for range 20 {
			values := make([]uint32, rng.IntN(100))
			for i := range values {
				values[i] = uint32(rng.Uint64() & (1<<width - 1))
				if i > 0 && rng.IntN(2) == 0 {
					values[i] = values[i-1]
				}
			}
			h, err := newRLEDecoder(appendHybrid(nil, values, width, func() bool { return rng.IntN(2) == 0 }), width)
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range values {
				if got, err := h.next(); err != nil || got != want {
					t.Fatalf("width %d, value %d: %d, %v, want %d", width, i, got, err, want)
				}
			}
		}
	}
	// A writer may leave out the end of the last group.
	h, err := newRLEDecoder([]byte{1<<1 | 1, 0xE4}, 2)
	if err != nil {
		t.Fatal(err)
	}
	for want := range uint32(4) {
		if got, err := h.next(); err != nil || got != want {
			t.Errorf("%d, %v, want %d", got, err, want)
		}
	}
	if _, err := h.next(); err == nil {
		t.Error("a value from nothing")
	}
	h, err = newRLEDecoder([]byte{2 << 1, 1, 2 << 1, 3}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := decodeLevels(&h, make([]uint8, 4), 1, "definition"); err == nil || err.Error() != "a value of 3 in 1 bits" {
		t.Errorf("a run of a value that its bits cannot hold: %v", err)
	}
	if _, err := newRLEDecoder(nil, 33); err == nil {
		t.Error("33 bits")
	}
}

// appendAnyDelta is the obvious encoder.
func appendAnyDelta(b []byte, values []uint64, mini, minis int) []byte {
	b = binary.AppendUvarint(b, uint64(mini*minis))
	b = binary.AppendUvarint(b, uint64(minis))
	b = binary.AppendUvarint(b, uint64(len(values)))
	if len(values) == 0 {
		return binary.AppendVarint(b, 0)
	}
	b = binary.AppendVarint(b, int64(values[0]))
	for at := 1; at < len(values); at += mini * minis {
		block := values[at-1 : min(len(values), at+mini*minis)]
		deltas := make([]int64, len(block)-1)
		for i := range deltas {
			deltas[i] = int64(block[i+1] - block[i])
		}
		least := slices.Min(deltas)
		b = binary.AppendVarint(b, least)
		var bodies []byte
		for m := range minis {
			width := 0
			lo, hi := min(m*mini, len(deltas)), min((m+1)*mini, len(deltas))
			for _, d := range deltas[lo:hi] {
				for uint64(d-least)>>width != 0 {
					width++
				}
			}
			b = append(b, byte(width))
			if lo == hi {
				continue // the body of a part without values is left out
			}
			body := make([]byte, mini*width/8)
			for i, d := range deltas[lo:hi] {
				for k := range width {
					at := i*width + k
					body[at/8] |= byte(uint64(d-least)>>k&1) << (at % 8)
				}
			}
			bodies = append(bodies, body...)
		}
		b = append(b, bodies...)
	}
	return b
}

func TestDelta(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	for range 300 {
		values := make([]uint64, rng.IntN(400))
		for i := range values {
			switch rng.IntN(3) {
			case 0:
				values[i] = rng.Uint64()
			case 1:
				values[i] = uint64(rng.IntN(3))
			default:
				values[i] = 1700000000000000000 + uint64(i)*1e6
			}
		}
		tail := []byte("tail")
		d, err := newDeltaDecoder(append(appendAnyDelta(nil, values, 32, 4), tail...))
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range values {
			if got, err := d.next(); err != nil || got != want {
				t.Fatalf("value %d of %d: %d, %v, want %d", i, len(values), got, err, want)
			}
		}
		if _, err := d.next(); err == nil {
			t.Fatal("a value too many")
		}
		if got := d.rest(); string(got) != "tail" {
			t.Fatalf("%d values: behind them is %q", len(values), got)
		}
	}
}

// For any bytes, decoding ends, and returns no more values than asked for.
func FuzzEncodings(f *testing.F) {
	f.Add(appendAnyDelta(nil, []uint64{1, 2, 3, 1 << 60}, 32, 4), uint8(3))
	f.Add(appendHybrid(nil, []uint32{1, 1, 1, 0, 2}, 2, func() bool { return false }), uint8(2))
	f.Add(binary.AppendUvarint(nil, 1<<63|1), uint8(32))
	f.Fuzz(func(_ *testing.T, b []byte, width uint8) {
		const most = 10_000
		if h, err := newRLEDecoder(b, int(width)%40); err == nil {
			for range most {
				if _, err := h.next(); err != nil {
					break
				}
			}
		}
		if d, err := newDeltaDecoder(b); err == nil {
			for range most {
				if _, err := d.next(); err != nil {
					break
				}
			}
			d.rest()
		}
		if d, err := newDeltaDecoder(b); err == nil {
			if _, err := d.lengths(nil, most); err == nil {
				d.rest()
			}
		}
	})
}

// next returns the next value, decoded alone.
func (h *rleDecoder) next() (uint32, error) {
	var v [1]uint32
	err := decodeRuns(h, v[:])
	return v[0], err
}

func (d *deltaDecoder) next() (uint64, error) {
	var v [1]uint64
	err := d.decode(v[:])
	return v[0], err
}
