package columnar

import (
	"math"
	"strconv"

	"github.com/pa-tools/pa/pkg/export"
)

// Columns of times are signed, because engines compute wrongly with unsigned ones. A
// number above math.MaxInt64 stands there as math.MaxInt64, and exactly in the list
// overflow of its row, with the name of the column and, in recv_ns, the index of the
// response; −1 elsewhere.

// overflow appends the list of the numbers that do not fit their columns; null for none.
func (b *batch) overflow(r *export.Request) {
	c := b.cols[colOverflow]
	some := false
	add := func(name string, index int, v uint64) {
		some = true
		element := c.kids[0]
		element.kids[overflowName].string(name)
		element.kids[overflowIndex].number(uint64(index))
		element.kids[overflowValue].string(strconv.FormatUint(v, 10))
		element.end(true)
	}
	for i := range scalars {
		if p, ok := scalars[i].field(r).(*uint64); ok && *p > math.MaxInt64 {
			add(scalars[i].name, -1, *p)
		}
	}
	for i := range r.Responses {
		if v := r.Responses[i].RecvNS; v > math.MaxInt64 {
			add("recv_ns", i, v)
		}
	}
	c.endList(some)
}

// fitting returns v, or the largest number of a signed column.
func fitting(v uint64) uint64 { return min(v, math.MaxInt64) }

// overflow puts the exact numbers of row i into the request.
func (d *rowDecoder) overflow(v *vector, i int) {
	from, to, ok := v.list(i)
	if !ok {
		return
	}
	element := v.kids[0]
	for e := from; e < to; e++ {
		name, index := string(element.kids[overflowName].str(e)), int64(element.kids[overflowIndex].num(e))
		value, err := strconv.ParseUint(string(element.kids[overflowValue].str(e)), 10, 64)
		if p := d.overflowed(name, index); p != nil && err == nil {
			*p = value
		} else {
			d.odd = "column overflow: nothing has the name, the index or the number of an element"
		}
	}
}

// overflowed returns the member that an element of overflow names; nil if there is none.
func (d *rowDecoder) overflowed(name string, index int64) *uint64 {
	if name == "recv_ns" {
		if index < 0 || index >= int64(len(d.req.Responses)) {
			return nil
		}
		return &d.req.Responses[index].RecvNS
	}
	for i := range scalars {
		if scalars[i].name == name {
			p, _ := scalars[i].field(&d.req).(*uint64)
			return p
		}
	}
	return nil
}
