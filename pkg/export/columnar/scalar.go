package columnar

import (
	"encoding/json"
	"math"
	"time"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/pa-tools/pa/pkg/export"
)

// scalarType returns the column type for the variable that p points to.
func scalarType(p any) arrow.DataType {
	switch p.(type) {
	case *uint64, *int, *time.Duration, *export.Count:
		return int64Type
	case *bool, **bool:
		return boolType
	case *export.StampSource:
		return arrow.PrimitiveTypes.Int8
	case *string, *export.Status, *export.Phase, **export.Stated:
		return stringType
	}
	panic("a member of a request has a type without a column type")
}

// appendScalar appends the field that p points to, of a request or of its derived values. z says whether a
// zero value becomes null. meta reports that the request has pa-record's additions.
func (c *arrowColumn) appendScalar(p any, z zeroMeaning, meta bool) {
	var number uint64
	var text string
	isText := false
	switch p := p.(type) {
	case *uint64:
		number = clampToInt64(*p)
	case *int:
		number = uint64(*p)
	case *time.Duration:
		number = uint64(*p)
	case *export.StampSource:
		number = uint64(*p)
	case *bool:
		if *p || z == zeroRecorded || z == zeroWithMeta && meta {
			c.appendBool(*p)
		} else {
			c.appendNull()
		}
		return
	case **bool:
		if *p != nil {
			c.appendBool(**p)
		} else {
			c.appendNull()
		}
		return
	case *export.Count:
		c.appendCount(*p)
		return
	case *string:
		text, isText = *p, true
	case *export.Status:
		text, isText = nameOrEmpty(p.String(), *p == export.StatusUnknown), true
	case *export.Phase:
		text, isText = nameOrEmpty(p.String(), *p == export.PhaseUnknown), true
	case **export.Stated:
		text, isText = statedText(*p), true
	default:
		panic("a member of a request has a type without a column type")
	}
	switch {
	case number == 0 && text == "" && z != zeroRecorded && (z != zeroWithMeta || !meta):
		c.appendNull()
	case isText:
		c.appendString(text)
	default:
		c.appendNumber(number)
	}
}

// nameOrEmpty returns name; "" if unknown is set.
func nameOrEmpty(name string, unknown bool) string {
	if unknown {
		return ""
	}
	return name
}

// statedText returns s as JSON; "" for nil.
func statedText(s *export.Stated) string {
	if s == nil {
		return ""
	}
	text, err := json.Marshal(s)
	if err != nil {
		panic("what a file states cannot be written as JSON: " + err.Error())
	}
	return string(text)
}

// A scalarDecoder decodes columns that hold one field.
type scalarDecoder struct {
	interned map[string]string
	flag     bool // of the derived values: the only one that may be missing
	// defect describes what is wrong with the row; "" for none.
	defect string
}

// maxInterned bounds the number of strings that intern keeps.
const maxInterned = 1 << 10

// intern returns the original text of b as a string. It shares the memory of equal short
// strings.
func (d *scalarDecoder) intern(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if s, ok := d.interned[string(b)]; ok {
		return s
	}
	s := string(originalText(b))
	if len(b) > 256 {
		return s
	}
	if d.interned == nil || len(d.interned) >= maxInterned {
		d.interned = map[string]string{}
	}
	d.interned[string(b)] = s
	return s
}

// decodeScalar sets the field that p points to, of a request or of its derived values.
func (d *scalarDecoder) decodeScalar(p any, v *vector, i int) {
	switch p := p.(type) {
	case *uint64:
		*p = v.num(i)
	case *int:
		*p = int(v.num(i))
	case *time.Duration:
		*p = time.Duration(v.num(i))
	case *export.StampSource:
		*p = export.StampSource(v.num(i))
	case *bool:
		*p = v.num(i) != 0
	case **bool:
		d.flag = v.num(i) != 0
		*p = &d.flag
	case *export.Count:
		*p = export.Count{V: int64(v.num(i)), OK: true}
	case *string:
		*p = d.intern(v.bytes(i))
	case *export.Status:
		*p = parseName(d, v.bytes(i), export.ParseStatus)
	case *export.Phase:
		*p = parseName(d, v.bytes(i), export.ParsePhase)
	case **export.Stated:
		*p = d.decodeStated(v.bytes(i))
	default:
		panic("a member of a request has a type without a column type")
	}
}

// parseName parses the name of a status or phase. An unknown name, which a later version may
// have added, gives the zero value and a defect.
func parseName[T any](d *scalarDecoder, name []byte, parse func(string) (T, error)) T {
	var unknown T
	if len(name) == 0 {
		return unknown
	}
	x, err := parse(d.intern(name))
	if err != nil {
		d.defect = err.Error()
	}
	return x
}

// decodeStated is the inverse of statedText.
func (d *scalarDecoder) decodeStated(text []byte) (s *export.Stated) {
	if len(text) == 0 {
		return nil
	}
	if err := json.Unmarshal(originalText(text), &s); err != nil {
		d.defect = "column stated: " + err.Error()
		return nil
	}
	return s
}

// clampToInt64 returns v, but at most math.MaxInt64.
func clampToInt64(v uint64) uint64 { return min(v, math.MaxInt64) }
