package kserve

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// A Datatype is the name of an element type as the protocol writes it. A type
// that this package does not know keeps its name; "" means no type.
type Datatype string

// The element types of KServe v2.
const (
	BOOL   Datatype = "BOOL"
	UINT8  Datatype = "UINT8"
	UINT16 Datatype = "UINT16"
	UINT32 Datatype = "UINT32"
	UINT64 Datatype = "UINT64"
	INT8   Datatype = "INT8"
	INT16  Datatype = "INT16"
	INT32  Datatype = "INT32"
	INT64  Datatype = "INT64"
	FP16   Datatype = "FP16"
	FP32   Datatype = "FP32"
	FP64   Datatype = "FP64"
	BF16   Datatype = "BF16"
	BYTES  Datatype = "BYTES"
)

// Size returns the length of one element in bytes; 0 for BYTES, whose elements
// vary, and for types that are not known.
func (d Datatype) Size() int {
	switch d {
	case BOOL, UINT8, INT8:
		return 1
	case UINT16, INT16, FP16, BF16:
		return 2
	case UINT32, INT32, FP32:
		return 4
	case UINT64, INT64, FP64:
		return 8
	}
	return 0
}

// known reports whether d is one of the constants above.
func (d Datatype) known() bool { return d == BYTES || d.Size() > 0 }

// Count returns the number of elements of a tensor of that shape: 1 for the
// scalar shape []. It returns an error for an open dimension (below 0), and for a product
// that overflows int64.
func Count(shape []int64) (int64, error) {
	if slices.ContainsFunc(shape, func(d int64) bool { return d < 0 }) {
		return 0, fmt.Errorf("shape %s has an open dimension", ShapeString(shape))
	}
	if slices.Contains(shape, 0) {
		return 0, nil
	}
	n := int64(1)
	for _, d := range shape {
		if n > math.MaxInt64/d {
			return 0, fmt.Errorf("shape %s is too large", ShapeString(shape))
		}
		n *= d
	}
	return n, nil
}

// ShapeString returns shape as messages show it: "[1,-1,16]".
func ShapeString(shape []int64) string {
	return strings.ReplaceAll(fmt.Sprint(shape), " ", ",")
}
