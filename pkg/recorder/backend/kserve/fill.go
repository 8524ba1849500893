package kserve

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/pa-tools/pa/pkg/recorder/workload"
	wire "github.com/pa-tools/pa/pkg/wire/kserve"
)

// Generated data.
const (
	defaultStringLength = 128
	stringCharacters    = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 .?!"
	maxFillBytes        = 1 << 28 // per tensor: a mistyped --shape must not use up the memory
)

// fill generates the data of a tensor. It depends only on f, the type and the shape: as in
// perf_analyzer, all inputs and all requests start with the same random bytes.
//
// Integers take all values, BOOL is true or false, and floats are in [0, 1), so that none
// is NaN. Strings of FillZero are empty; StringData replaces both kinds of strings.
func fill(f workload.Fill, dt wire.Datatype, shape []int64) ([]byte, error) {
	n, err := fillBytes(f, dt, shape)
	if err != nil {
		return nil, err
	}
	if dt == wire.BYTES {
		return fillStrings(f, n), nil
	}
	data := make([]byte, n)
	if f.Kind == workload.FillZero {
		return data, nil
	}
	r := source(f)
	le := binary.LittleEndian
	switch dt {
	case wire.BOOL:
		for i := range data {
			data[i] = byte(r.Uint64() & 1)
		}
	case wire.FP16:
		// k/1024 is exact in half precision: 2^e ≤ k < 2^(e+1) has exponent
		// e−10+15 and the bits of k below the first as mantissa.
		for i := 0; i < len(data); i += 2 {
			k := uint16(r.Uint64N(1024))
			var bits uint16
			if k > 0 {
				e := uint16(math.Ilogb(float64(k)))
				bits = (e+5)<<10 | (k<<(10-e))&0x3ff
			}
			le.PutUint16(data[i:], bits)
		}
	case wire.BF16:
		for i := 0; i < len(data); i += 2 {
			le.PutUint16(data[i:], uint16(math.Float32bits(r.Float32())>>16))
		}
	case wire.FP32:
		for i := 0; i < len(data); i += 4 {
			le.PutUint32(data[i:], math.Float32bits(r.Float32()))
		}
	case wire.FP64:
		for i := 0; i < len(data); i += 8 {
			le.PutUint64(data[i:], math.Float64bits(r.Float64()))
		}
	default:
		var word [8]byte
		for i := 0; i < len(data); i += 8 {
			le.PutUint64(word[:], r.Uint64())
			copy(data[i:], word[:])
		}
	}
	return data, nil
}

// fillBytes returns the length of the data that fill generates. It fails if the length
// is above maxFillBytes or unknown. It allocates nothing.
func fillBytes(f workload.Fill, dt wire.Datatype, shape []int64) (int64, error) {
	n, err := wire.Count(shape)
	if err != nil {
		return 0, err
	}
	size := int64(dt.Size())
	if dt == wire.BYTES {
		length := stringLength(f)
		if length < 0 || length > maxFillBytes-4 || n > maxFillBytes/(4+length) {
			return 0, fmt.Errorf("%d strings of %d bytes: more than %d bytes to generate", n, length, maxFillBytes)
		}
		return n * (4 + length), nil
	}
	if size == 0 {
		return 0, fmt.Errorf("datatype %q is not known; no data can be generated", clip(string(dt)))
	}
	if n > maxFillBytes/size {
		return 0, fmt.Errorf("shape %s of %s: more than %d bytes to generate", wire.ShapeString(shape), dt, maxFillBytes)
	}
	return n * size, nil
}

// stringLength returns the length of each generated string, in bytes.
func stringLength(f workload.Fill) int64 {
	switch {
	case f.StringData != "":
		return int64(len(f.StringData))
	case f.Kind == workload.FillZero:
		return 0
	case f.StringLength == 0:
		return defaultStringLength
	}
	return int64(f.StringLength)
}

// fillStrings generates the strings of a tensor of that many bytes.
func fillStrings(f workload.Fill, bytes int64) []byte {
	r := source(f)
	data := make([]byte, 0, bytes)
	word := make([]byte, stringLength(f))
	for int64(len(data)) < bytes {
		if f.StringData != "" {
			data = wire.AppendBytes(data, f.StringData)
			continue
		}
		for i := range word {
			word[i] = stringCharacters[r.IntN(len(stringCharacters))]
		}
		data = wire.AppendBytes(data, string(word))
	}
	return data
}

func source(f workload.Fill) *rand.Rand { return rand.New(rand.NewPCG(f.Seed, 0)) }
