package columnar

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

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
	flag       bool    // of the derived values: the only one that may be missing
	summary    export.ResponseSummary
	interned   map[string]string
	// defect describes what is wrong with the row; "" for none.
	defect string
}

// maxInterned bounds the number of strings that intern keeps.
const maxInterned = 1 << 10

// intern returns the original text of b as a string. It shares the memory of equal short
// strings.
func (d *rowDecoder) intern(b []byte) string {
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

// decodeScalar sets the field that p points to, of a request or of its derived values.
func (d *rowDecoder) decodeScalar(p any, v *vector, i int) {
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
func parseName[T any](d *rowDecoder, name []byte, parse func(string) (T, error)) T {
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
func (d *rowDecoder) decodeStated(text []byte) (s *export.Stated) {
	if len(text) == 0 {
		return nil
	}
	if err := json.Unmarshal(originalText(text), &s); err != nil {
		d.defect = "column stated: " + err.Error()
		return nil
	}
	return s
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
