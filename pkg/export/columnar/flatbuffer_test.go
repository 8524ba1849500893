package columnar

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/pa-tools/pa/internal/test/testenv"
)

// footerOf returns the footer of an Arrow file.
func footerOf(data []byte) []byte {
	end := len(data) - len(arrowMagic) - 4
	n := int(binary.LittleEndian.Uint32(data[end:]))
	return data[end-n : end]
}

// Footers that arrow writes pass; footers with impossible counts do not.
func TestCheckFooter(t *testing.T) {
	footer := footerOf(sample().encode(t, testFormats[1]))
	if err := checkArrowFooter(footer); err != nil {
		t.Fatal(err)
	}
	for n := range len(footer) / 2 {
		if checkArrowFooter(footer[:n]) == nil {
			t.Errorf("its first %d bytes pass", n)
		}
	}
	// Every vector in turn gets a count that no memory holds.
	refused := 0
	for at := 0; at+4 <= len(footer); at += 4 {
		bad := bytes.Clone(footer)
		binary.LittleEndian.PutUint32(bad[at:], 1<<31-1)
		if checkArrowFooter(bad) != nil {
			refused++
		}
	}
	if refused < numColumns {
		t.Errorf("%d damaged footers of %d are refused", refused, len(footer)/4)
	}
	// Nothing makes it panic or run on.
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20_000 / testenv.Stride(10) {
		bad := bytes.Clone(footer)
		for range 1 + rng.IntN(8) {
			bad[rng.IntN(len(bad))] = byte(rng.Uint32())
		}
		if err := checkArrowFooter(bad); err != nil && err.Error() == "" {
			t.Fatal("an error without a text")
		}
	}
}

// sharedFooter returns a footer of which each field has the same child twice,
// to the given depth.
func sharedFooter(depth int) []byte {
	le := binary.LittleEndian
	var b []byte
	u32 := func(v int) { b = le.AppendUint32(b, uint32(v)) }
	vtable := func(v ...uint16) int {
		at := len(b)
		for _, x := range v {
			b = le.AppendUint16(b, x)
		}
		return at
	}
	u32(0) // → footer
	field := vtable(4+2*7, 8, 0, 0, 0, 0, 0, 4, 0)
	schema := vtable(4+2*3, 8, 0, 4, 0)
	footer := vtable(4+2*2, 8, 0, 4)
	le.PutUint32(b, uint32(len(b)))
	u32(len(b) - footer)
	u32(4) // → schema
	u32(len(b) - schema)
	u32(4) // → vector of fields
	for range depth {
		u32(2)
		u32(8) // both → the table behind this vector
		u32(4)
		u32(len(b) - field)
		u32(4) // → vector of children
	}
	u32(0)
	return b
}

// Fields that share their children take 2^depth steps to read.
func TestCheckFooterShared(t *testing.T) {
	if err := checkArrowFooter(sharedFooter(3)); err != nil {
		t.Errorf("depth 3: %v", err)
	}
	if checkArrowFooter(sharedFooter(31)) == nil {
		t.Error("depth 31 passes")
	}
}
