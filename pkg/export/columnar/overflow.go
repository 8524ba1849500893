package columnar

import (
	"math"
	"strconv"

	"github.com/pa-tools/pa/pkg/export"
)

// Columns of times are signed, because engines compute wrongly with unsigned columns. The
// column stores a number above math.MaxInt64 as math.MaxInt64. The list overflow of the row
// stores the exact number, with the name of the column and the index of the response: −1
// for a column other than recv_ns.

// addOverflow appends the list of the numbers that do not fit their columns; null for none.
func (b *batch) addOverflow(r *export.Request) {
	c := b.cols[colOverflow]
	some := false
	add := func(name string, index int, v uint64) {
		some = true
		element := c.children[0]
		element.children[overflowName].appendString(name)
		element.children[overflowIndex].appendNumber(uint64(index))
		element.children[overflowValue].appendString(strconv.FormatUint(v, 10))
		element.endValue(true)
	}
	for _, s := range scalars {
		if p, ok := s.field(r).(*uint64); ok && *p > math.MaxInt64 {
			add(s.name, -1, *p)
		}
	}
	for i := range r.Responses {
		if v := r.Responses[i].RecvNS; v > math.MaxInt64 {
			add("recv_ns", i, v)
		}
	}
	c.endList(some)
}

// clampToInt64 returns v, but at most math.MaxInt64.
func clampToInt64(v uint64) uint64 { return min(v, math.MaxInt64) }

// decodeOverflow sets the exact numbers of row i in the request.
func (d *rowDecoder) decodeOverflow(v *vector, i int) {
	from, to, ok := v.list(i)
	if !ok {
		return
	}
	element := v.children[0]
	for e := from; e < to; e++ {
		name, index := string(element.children[overflowName].bytes(e)), int64(element.children[overflowIndex].num(e))
		value, err := strconv.ParseUint(string(element.children[overflowValue].bytes(e)), 10, 64)
		if p := d.overflowTarget(name, index); p != nil && err == nil {
			*p = value
		} else {
			d.defect = "column overflow: an element has an unknown name, a wrong index or no number"
		}
	}
}

// overflowTarget returns the field of the request that an element of overflow names; nil
// if there is none.
func (d *rowDecoder) overflowTarget(name string, index int64) *uint64 {
	if name == "recv_ns" {
		if index < 0 || index >= int64(len(d.req.Responses)) {
			return nil
		}
		return &d.req.Responses[index].RecvNS
	}
	for _, s := range scalars {
		if s.name == name {
			p, _ := s.field(&d.req).(*uint64)
			return p
		}
	}
	return nil
}
