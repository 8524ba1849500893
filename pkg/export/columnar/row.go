package columnar

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/pa-tools/pa/pkg/export"
)

// A rowDecoder turns rows into requests, in memory that it uses again for the
// next one. It is the inverse of batch.add.
type rowDecoder struct {
	req       export.Request
	derived   export.Derived
	isDerived bool // derived is of the row
	responses []export.Response
	fields    []export.Field
	names     map[string]string
	// odd describes the row's defect; "" for none.
	odd string
}

// maxNames bounds the strings that are kept to be used again.
const maxNames = 1 << 10

// intern returns b as a string that outlives b.
func (d *rowDecoder) intern(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if s, ok := d.names[string(b)]; ok {
		return s
	}
	s := string(originalText(b))
	if len(b) > 256 {
		return s
	}
	if d.names == nil || len(d.names) >= maxNames {
		d.names = map[string]string{}
	}
	d.names[string(b)] = s
	return s
}

// decode makes req of row i.
func (d *rowDecoder) decode(t *rows, i int) {
	d.req = export.Request{}
	d.odd = ""
	clear(d.responses)
	d.responses, d.fields = d.responses[:0], d.fields[:0]
	r := &d.req
	for k := range scalars {
		if v := t.cols[colScalars+k]; v != nil {
			d.scalar(scalars[k].field(r), v, i)
		}
	}
	r.Inputs = d.fieldList(t.cols[colInputs], i)
	d.decodeResponses(t, i)
	r.Extra = d.fieldList(t.cols[colExtra], i)
	if v := t.cols[colOverflow]; v != nil {
		d.overflow(v, i)
	}
	d.isDerived = d.decodeDerived(t, i)
}

// scalar sets the member of a request that p points to.
func (d *rowDecoder) scalar(p any, v *vector, i int) {
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
	case *string:
		*p = d.intern(v.str(i))
	case *export.Status:
		*p = parseName(d, v.str(i), export.ParseStatus)
	case *export.Phase:
		*p = parseName(d, v.str(i), export.ParsePhase)
	case **export.Stated:
		*p = d.stated(v.str(i))
	default:
		panic("a member of a request has a type without a column type")
	}
}

// parseName parses the name of a status or phase. A name that a later version
// may have added is unknown, with a warning.
func parseName[T any](d *rowDecoder, name []byte, parse func(string) (T, error)) T {
	var unknown T
	if len(name) == 0 {
		return unknown
	}
	x, err := parse(d.intern(name))
	if err != nil {
		d.odd = err.Error()
	}
	return x
}

// stated is the inverse of statedText.
func (d *rowDecoder) stated(text []byte) (s *export.Stated) {
	if len(text) == 0 {
		return nil
	}
	if err := json.Unmarshal(originalText(text), &s); err != nil {
		d.odd = "column stated: " + err.Error()
		return nil
	}
	return s
}

// fieldList returns the values of a row; nil for null.
func (d *rowDecoder) fieldList(v *vector, i int) export.Fields {
	from, to, ok := v.list(i)
	if !ok {
		return nil
	}
	first := len(d.fields)
	element := v.kids[0]
	for e := from; e < to; e++ {
		d.fields = append(d.fields, d.field(element, 0, e))
	}
	n := len(d.fields)
	if first == n {
		return export.Fields{}
	}
	return export.Fields(d.fields[first:n:n])
}

// field returns the value e; the fields of its struct start at first.
func (d *rowDecoder) field(element *vector, first, e int) export.Field {
	f := export.Field{Name: d.intern(element.kids[first+fieldName].str(e))}
	f.Value.Text = element.kids[first+fieldText].num(e) != 0
	f.Value.Data = originalText(element.kids[first+fieldValue].str(e))
	switch {
	case f.Value.Data != nil:
	case f.Value.Text:
		f.Value.Data = []byte{}
	default:
		f.Value.Data = []byte("null")
	}
	return f
}

// decodeResponses puts the lists of a row together.
func (d *rowDecoder) decodeResponses(t *rows, i int) {
	if from, to, ok := t.cols[colRecv].list(i); ok && to > from {
		recv := t.cols[colRecv].kids[0]
		for e := from; e < to; e++ {
			d.responses = append(d.responses, export.Response{RecvNS: recv.num(e)})
		}
	}
	d.additions(t, i, colSource, func(x *export.Response, v uint64) { x.Source = export.StampSource(v) })
	d.additions(t, i, colRead, func(x *export.Response, v uint64) { x.Read = uint32(v) })
	d.additions(t, i, colFinal, func(x *export.Response, v uint64) { x.Final = v != 0 })
	d.additions(t, i, colError, func(x *export.Response, v uint64) { x.Error = v != 0 })
	if len(d.responses) > 0 {
		d.req.Responses = d.responses
	}
	d.outputs(t.cols[colOutputs], i)
}

// additions sets a member of each response.
func (d *rowDecoder) additions(t *rows, i, col int, set func(x *export.Response, v uint64)) {
	from, to, ok := t.cols[col].list(i)
	if !ok {
		return
	}
	if n := len(d.responses); to-from != n {
		d.odd = fmt.Sprintf("%d responses but %d values of %s", n, to-from, columnName(col))
		to = min(to, from+n)
	}
	element := t.cols[col].kids[0]
	for e := from; e < to; e++ {
		set(&d.responses[e-from], element.num(e))
	}
}

// outputs gives each response its outputs: none for one that has no element,
// nil for one that has an element without a value and a name.
func (d *rowDecoder) outputs(v *vector, i int) {
	from, to, ok := v.list(i)
	if !ok {
		d.req.NoOutputs = true
		return
	}
	element := v.kids[0]
	next := 0 // response whose outputs come next
	for e := from; e < to; {
		at := int(element.kids[0].num(e))
		if at < next || at >= len(d.responses) {
			d.odd = fmt.Sprintf("an output of response %d of %d comes after those of response %d", at, len(d.responses), next-1)
			return
		}
		for ; next < at; next++ {
			d.responses[next].Outputs = export.Fields{}
		}
		first := len(d.fields)
		absent := false
		for ; e < to && int(element.kids[0].num(e)) == at; e++ {
			value := element.kids[1+fieldValue]
			if value.null(e) && len(element.kids[1+fieldName].str(e)) == 0 {
				absent = true
				continue
			}
			d.fields = append(d.fields, d.field(element, 1, e))
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
