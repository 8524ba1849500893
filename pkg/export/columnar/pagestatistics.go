package columnar

import (
	"bytes"
	"math"

	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/metadata"
)

// maxStatisticBytes bounds a minimum or maximum; a longer one is left out.
const maxStatisticBytes = 4096

// A pageStatistics holds the minimum and the maximum of the values of a page or a column.
type pageStatistics struct {
	kind     parquet.Type
	some     bool // there is a value
	min, max int64
	// minText and maxText are valid until the batches change.
	minText, maxText     []byte
	minDouble, maxDouble float64
	nulls                int64
}

// addNumbers adds all numbers of a page at once; s has none yet.
func (s *pageStatistics) addNumbers(numbers []int64) {
	if len(numbers) == 0 {
		return
	}
	if s.kind == parquet.Types.Double {
		for _, v := range numbers {
			s.addDouble(math.Float64frombits(uint64(v)))
		}
		return
	}
	least, most := numbers[0], numbers[0]
	for _, v := range numbers[1:] {
		least, most = min(least, v), max(most, v)
	}
	s.min, s.max, s.some = least, most, true
}

// addDouble adds v, which is not NaN.
func (s *pageStatistics) addDouble(v float64) {
	if !s.some {
		s.minDouble, s.maxDouble, s.some = v, v, true
	}
	s.minDouble, s.maxDouble = min(s.minDouble, v), max(s.maxDouble, v)
}

func (s *pageStatistics) addTexts(texts [][]byte) {
	for _, v := range texts {
		s.addText(v)
	}
}

func (s *pageStatistics) addText(v []byte) {
	switch {
	case !s.some:
		s.minText, s.maxText, s.some = v, v, true
	case bytes.Compare(v, s.minText) < 0:
		s.minText = v
	case bytes.Compare(v, s.maxText) > 0:
		s.maxText = v
	}
}

// merge adds the values of o.
func (s *pageStatistics) merge(o *pageStatistics) {
	nulls := s.nulls + o.nulls
	switch {
	case !o.some:
	case !s.some:
		*s = *o
	case s.kind == parquet.Types.ByteArray:
		s.addText(o.minText)
		s.addText(o.maxText)
	default:
		s.min, s.max = min(s.min, o.min), max(s.max, o.max)
		s.minDouble, s.maxDouble = min(s.minDouble, o.minDouble), max(s.maxDouble, o.maxDouble)
	}
	s.nulls = nulls
}

// encoded returns the statistics as they are in the file.
func (s *pageStatistics) encoded() metadata.EncodedStatistics {
	e := metadata.EncodedStatistics{HasNullCount: true, NullCount: s.nulls}
	if !s.some {
		return e
	}
	switch s.kind {
	case parquet.Types.ByteArray:
		e.Min, e.Max = s.minText, s.maxText
	case parquet.Types.Double:
		least, most := s.minDouble, s.maxDouble
		if least == 0 { // −0 and 0 are equal: the format asks for the lower and the higher one
			least = math.Copysign(0, -1)
		}
		if most == 0 {
			most = 0
		}
		e.Signed = true
		e.Min = appendPlainNumbers(nil, []int64{int64(math.Float64bits(least))}, s.kind)
		e.Max = appendPlainNumbers(nil, []int64{int64(math.Float64bits(most))}, s.kind)
	default:
		e.Signed = true
		e.Min = appendPlainNumbers(nil, []int64{s.min}, s.kind)
		e.Max = appendPlainNumbers(nil, []int64{s.max}, s.kind)
	}
	e.HasMin, e.HasMax = len(e.Min) <= maxStatisticBytes, len(e.Max) <= maxStatisticBytes
	return e
}
