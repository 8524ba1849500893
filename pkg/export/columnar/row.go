package columnar

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/pa-tools/pa/pkg/export"
)

// A rowDecoder decodes rows into requests. It reuses its memory for the next row. It is
// the inverse of batch.add.
type rowDecoder struct {
	req        export.Request
	derived    export.Derived
	hasDerived bool // derived is of the row
	responses  []export.Response
	fields     []export.Field
	gaps       []int64 // of the derived values
	summary    export.ResponseSummary
	scalarDecoder
}

// decode sets req and derived to row i.
func (d *rowDecoder) decode(t *rows, i int) {
	d.defect = ""
	if !d.req.NoOutputs {
		clear(d.responses) // their outputs
	}
	d.req = export.Request{}
	d.responses, d.fields = d.responses[:0], d.fields[:0]
	r := &d.req
	for _, s := range scalars {
		if v := t.cols[s.col]; v != nil && !v.null(i) {
			d.decodeScalar(s.field(r), v, i)
		}
	}
	r.Inputs = d.decodeFields(t.cols[colInputs], i)
	d.decodeResponses(t, i)
	r.Extra = d.decodeFields(t.cols[colExtra], i)
	if v := t.cols[colOverflow]; v != nil {
		d.decodeOverflow(v, i)
	}
	d.hasDerived = d.decodeDerived(t, i)
}

// decodeFields returns the list of fields in row i; nil for null.
func (d *rowDecoder) decodeFields(v *vector, i int) export.Fields {
	from, to, ok := v.list(i)
	if !ok {
		return nil
	}
	first := len(d.fields)
	element := v.children[0]
	for e := from; e < to; e++ {
		d.fields = append(d.fields, d.decodeField(element, 0, e))
	}
	n := len(d.fields)
	if first == n {
		return export.Fields{}
	}
	return export.Fields(d.fields[first:n:n])
}

// decodeField returns element e, a struct whose children from first on are a field.
func (d *rowDecoder) decodeField(element *vector, first, e int) export.Field {
	f := export.Field{Name: d.intern(element.children[first+fieldName].bytes(e))}
	f.Value.Text = element.children[first+fieldText].num(e) != 0
	f.Value.Data = originalText(element.children[first+fieldValue].bytes(e))
	switch {
	case f.Value.Data != nil:
	case f.Value.Text:
		f.Value.Data = []byte{}
	default:
		f.Value.Data = []byte("null")
	}
	return f
}

// decodeResponses sets the responses of the request from the lists of row i.
func (d *rowDecoder) decodeResponses(t *rows, i int) {
	if from, to, ok := t.cols[colRecv].list(i); ok && to > from {
		recv := t.cols[colRecv].children[0]
		d.responses = slices.Grow(d.responses, to-from)[:to-from]
		for k := range d.responses { // outputs are nil
			x := &d.responses[k]
			x.RecvNS, x.Source, x.Read, x.Final, x.Error = recv.num(from+k), 0, 0, false, false
		}
	}
	d.decodeAdditions(t, i, colSource, func(x *export.Response, v uint64) { x.Source = export.StampSource(v) })
	d.decodeAdditions(t, i, colRead, func(x *export.Response, v uint64) { x.Read = uint32(v) })
	d.decodeAdditions(t, i, colFinal, func(x *export.Response, v uint64) { x.Final = v != 0 })
	d.decodeAdditions(t, i, colError, func(x *export.Response, v uint64) { x.Error = v != 0 })
	if len(d.responses) > 0 {
		d.req.Responses = d.responses
	}
	d.decodeOutputs(t.cols[colOutputs], i)
}

// decodeAdditions calls set for each response with its value in the list column col.
func (d *rowDecoder) decodeAdditions(t *rows, i, col int, set func(x *export.Response, v uint64)) {
	from, to, ok := t.cols[col].list(i)
	if !ok {
		return
	}
	if n := len(d.responses); to-from != n {
		d.defect = fmt.Sprintf("%d responses but %d values of %s", n, to-from, schemaColumns[col].name)
		to = min(to, from+n)
	}
	element := t.cols[col].children[0]
	for e := from; e < to; e++ {
		set(&d.responses[e-from], element.num(e))
	}
}

// decodeOutputs sets the outputs of each response. A response without an element has no
// outputs. A response with an element without name and value has nil outputs.
func (d *rowDecoder) decodeOutputs(v *vector, i int) {
	from, to, ok := v.list(i)
	if !ok {
		d.req.NoOutputs = true
		return
	}
	element := v.children[0]
	next := 0 // response whose outputs come next
	for e := from; e < to; {
		at := int(element.children[0].num(e))
		if at < next || at >= len(d.responses) {
			d.defect = fmt.Sprintf("an output of response %d of %d comes after the outputs of response %d", at, len(d.responses), next-1)
			return
		}
		for ; next < at; next++ {
			d.responses[next].Outputs = export.Fields{}
		}
		first := len(d.fields)
		absent := false
		for ; e < to && int(element.children[0].num(e)) == at; e++ {
			value := element.children[1+fieldValue]
			if value.null(e) && len(element.children[1+fieldName].bytes(e)) == 0 {
				absent = true
				continue
			}
			d.fields = append(d.fields, d.decodeField(element, 1, e))
		}
		if n := len(d.fields); !absent || n > first {
			d.responses[at].Outputs = export.Fields(d.fields[first:n:n])
		}
		next = at + 1
	}
	for ; next < len(d.responses); next++ {
		d.responses[next].Outputs = export.Fields{}
	}
}

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
