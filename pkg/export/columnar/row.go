package columnar

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/pa-tools/pa/internal/jsonscan"
	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/columnar/internal/pages"
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
		if v := t.cols[s.col]; v != nil && !v.Null(i) {
			d.decodeScalar(s.name, s.field(r), v, i)
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
func (d *rowDecoder) decodeFields(v *pages.Vector, i int) export.Fields {
	from, to, ok := v.List(i)
	if !ok {
		return nil
	}
	first := len(d.fields)
	element := v.Children[0]
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
func (d *rowDecoder) decodeField(element *pages.Vector, first, e int) export.Field {
	f := export.Field{Name: d.intern(element.Children[first+fieldName].Bytes(e))}
	f.Value.Text = element.Children[first+fieldText].Num(e) != 0
	f.Value.Data = originalText(element.Children[first+fieldValue].Bytes(e))
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
	if from, to, ok := t.cols[colRecv].List(i); ok && to > from {
		recv := t.cols[colRecv].Children[0]
		d.responses = slices.Grow(d.responses, to-from)[:to-from]
		for k := range d.responses { // outputs are nil
			x := &d.responses[k]
			x.RecvNS, x.Source, x.Read, x.Final, x.Error = recv.Num(from+k), 0, 0, false, false
			if recv.Signed && x.RecvNS > math.MaxInt64 {
				d.defect = fmt.Sprintf("column recv_ns: expected 0 or more, found %d", int64(x.RecvNS))
				x.RecvNS = 0
			}
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
	from, to, ok := t.cols[col].List(i)
	if !ok {
		return
	}
	if n := len(d.responses); to-from != n {
		d.defect = fmt.Sprintf("%d responses but %d values of %s", n, to-from, schemaColumns[col].name)
		to = min(to, from+n)
	}
	element := t.cols[col].Children[0]
	for e := from; e < to; e++ {
		set(&d.responses[e-from], element.Num(e))
	}
}

// decodeOutputs sets the outputs of each response. A response without an element has no
// outputs. A response with an element without name and value has nil outputs.
func (d *rowDecoder) decodeOutputs(v *pages.Vector, i int) {
	from, to, ok := v.List(i)
	if !ok {
		d.req.NoOutputs = true
		return
	}
	element := v.Children[0]
	next := 0 // response whose outputs come next
	for e := from; e < to; {
		at := int(element.Children[0].Num(e))
		if at < next || at >= len(d.responses) {
			d.defect = fmt.Sprintf("an output of response %d of %d comes after the outputs of response %d", at, len(d.responses), next-1)
			return
		}
		for ; next < at; next++ {
			d.responses[next].Outputs = export.Fields{}
		}
		first := len(d.fields)
		absent := false
		for ; e < to && int(element.Children[0].Num(e)) == at; e++ {
			value := element.Children[1+fieldValue]
			if value.Null(e) && len(element.Children[1+fieldName].Bytes(e)) == 0 {
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
func (d *rowDecoder) decodeOverflow(v *pages.Vector, i int) {
	from, to, ok := v.List(i)
	if !ok {
		return
	}
	element := v.Children[0]
	for e := from; e < to; e++ {
		name, index := string(element.Children[overflowName].Bytes(e)), int64(element.Children[overflowIndex].Num(e))
		value, err := strconv.ParseUint(string(element.Children[overflowValue].Bytes(e)), 10, 64)
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

// decodeDerived sets d.derived from the derived columns of row i. ok is false if the row
// has none or they are damaged; d.defect then describes the damage.
func (d *rowDecoder) decodeDerived(t *rows, i int) (ok bool) {
	from, to, ok := t.cols[colTokenEvents].List(i)
	if !ok && !t.brief {
		return false
	}
	x := &d.derived
	*x = export.Derived{Events: x.Events[:0], ITL: x.ITL[:0]}
	for _, s := range derivedScalars {
		if v := t.cols[s.col]; v != nil && !v.Null(i) {
			d.decodeScalar(s.name, s.derived(x), v, i)
		}
	}
	d.decodeITL(t.cols[colITL], i)
	d.decodeSummary(t, i)
	if t.brief {
		return d.useSummary()
	}
	return d.decodeEvents(t, i, from, to) && d.decodeEventTokens(t.cols[colEventTokens], i)
}

// decodeEvents sets the Events of d.derived; from and to is the list of token_events of row i.
func (d *rowDecoder) decodeEvents(t *rows, i, from, to int) (ok bool) {
	x := &d.derived
	if a, b, several := t.cols[colEvents].List(i); several {
		element := t.cols[colEvents].Children[0]
		for e := a; e < b; e++ {
			at := element.Children[0].Num(e)
			if at >= uint64(len(d.responses)) {
				d.defect = fmt.Sprintf("column events: there is no response %d among %d", int64(at), len(d.responses))
				return false
			}
			x.Events = append(x.Events, export.TokenEvent{Response: int32(at), Choice: int64(element.Children[1].Num(e)), Reasoning: element.Children[2].Num(e) != 0})
		}
		return true
	}
	if to-from != len(d.responses) {
		d.defect = fmt.Sprintf("%d responses but %d values of token_events", len(d.responses), to-from)
		return false
	}
	number := t.cols[colTokenEvents].Children[0]
	choice, choiceFrom, haveChoice := elements(t.cols[colTokenChoice], i, to-from)
	reasoning, reasoningFrom, haveReasoning := elements(t.cols[colTokenReasoning], i, to-from)
	x.Events = slices.Grow(x.Events, to-from)
	room := d.furtherEvents()
	for k := range to - from {
		n := number.Num(from + k)
		if n == 0 {
			continue
		}
		if n-1 > room {
			d.defect = fmt.Sprintf("column token_events: response %d has %d token events, but column itl_ns has %s for them", k, int32(n), plural.Of(int(room), "more gap"))
			return false
		}
		room -= n - 1
		e := export.TokenEvent{Response: int32(k)}
		if haveChoice {
			e.Choice = int64(choice.Num(choiceFrom + k))
		}
		if haveReasoning {
			e.Reasoning = reasoning.Num(reasoningFrom+k) != 0
		}
		for range n {
			x.Events = append(x.Events, e)
		}
	}
	return true
}

// maxUnseen bounds the token events that a request without gaps has beyond one for each
// response: an answer that is not known to be streamed has none.
const maxUnseen = 1024

// furtherEvents returns how many token events d.derived may have beyond the first event of each response.
// Such an event has a gap of 0 to the event before it, which column itl_ns holds if the answer was
// streamed. So a number in column token_events never makes up more events than the file holds.
func (d *rowDecoder) furtherEvents() uint64 {
	n := 0
	for _, gaps := range d.derived.ITL {
		n += len(gaps)
	}
	if s := d.derived.Streamed; s == nil || !*s {
		n = max(n, maxUnseen)
	}
	return uint64(n)
}

// decodeITL sets the gaps of the derived values from row i of v.
func (d *rowDecoder) decodeITL(v *pages.Vector, i int) {
	from, to, ok := v.List(i)
	if !ok {
		return
	}
	lists := v.Children[0]
	d.gaps = d.gaps[:0]
	for k := from; k < to; k++ {
		first, last, _ := lists.List(k)
		at := len(d.gaps)
		for e := first; e < last; e++ {
			d.gaps = append(d.gaps, int64(lists.Children[0].Num(e)))
		}
		d.derived.ITL = append(d.derived.ITL, d.gaps[at:len(d.gaps):len(d.gaps)])
	}
}

// decodeSummary sets the sum of the responses from row i of the derived columns; nil if the
// file has none, or a wrong one.
func (d *rowDecoder) decodeSummary(t *rows, i int) {
	n, kernel, user := countOf(t.cols[colResponses], i), countOf(t.cols[colKernelStamps], i), countOf(t.cols[colUserStamps], i)
	first, last := countOf(t.cols[colFirstResponse], i), d.derived.E2EL
	if !n.OK || !kernel.OK || !user.OK || n.V < 0 || n.V > math.MaxInt32 || kernel.V < 0 || kernel.V > n.V || user.V < 0 || user.V > n.V-kernel.V {
		return
	}
	d.summary = export.ResponseSummary{N: int(n.V), Kernel: int(kernel.V), User: int(user.V)}
	if n.V > 0 {
		if !first.OK || !last.OK {
			return
		}
		d.summary.First, d.summary.Last = first.V, last.V
	}
	d.derived.Responses = &d.summary
}

// useSummary makes the request of a brief row have a summary in place of responses. ok is
// false if the derived values contradict each other; d.defect then describes it.
func (d *rowDecoder) useSummary() (ok bool) {
	x := &d.derived
	d.req.Summary = x.Responses
	gaps := int64(0)
	if len(x.ITL) > 0 {
		gaps = int64(len(x.ITL[0]))
	}
	n := x.ITLEvents
	if x.Responses == nil || !n.OK || n.V < 0 || len(x.ITL) > 1 || gaps != max(0, n.V-1) || n.V > 0 && (!x.TTFT.OK || x.Responses.N == 0) {
		d.defect = "columns responses, first_response_ns, ttft_ns, e2el_ns, itl_ns and itl_events contradict each other"
		return false
	}
	return true
}

// decodeEventTokens sets the Tokens of the Events of d.derived from column event_tokens; null if they
// are not known.
func (d *rowDecoder) decodeEventTokens(v *pages.Vector, i int) (ok bool) {
	x := &d.derived
	from, to, some := v.List(i)
	if !some {
		return true
	}
	if to-from != len(x.Events) {
		d.defect = fmt.Sprintf("%d token events but %d values of event_tokens", len(x.Events), to-from)
		return false
	}
	left := uint64(math.MaxInt32) // of the first event
	for k := range x.Events {
		n := v.Children[0].Num(from + k)
		if n > left {
			d.defect = fmt.Sprintf("column event_tokens: an event of %d tokens, which are too many for a request with %s", int32(n), plural.Of(len(x.Events), "event"))
			return false
		}
		if left -= n; k == 0 {
			left = uint64(export.MostEventTokens(len(x.Events)))
		}
		x.Events[k].Tokens = int32(n)
	}
	x.EventTokens = true
	return true
}

// elements returns the elements of list i of v and the index of the first element. ok is
// false unless the list has n elements.
func elements(v *pages.Vector, i, n int) (element *pages.Vector, first int, ok bool) {
	from, to, ok := v.List(i)
	if !ok || to-from != n {
		return nil, 0, false
	}
	return v.Children[0], from, true
}

// countOf returns number i of v; a missing Count for null.
func countOf(v *pages.Vector, i int) export.Int {
	if v == nil || v.Null(i) {
		return export.Int{}
	}
	return export.IntOf(int64(v.Num(i)))
}

// A scalarDecoder decodes columns that hold one field.
type scalarDecoder struct {
	names jsonscan.Names
	flag  bool // of the derived values: the only one that may be missing
	// defect describes what is wrong with the row; "" for none.
	defect string
}

// intern returns the original text of b as a string. It shares the memory of equal short
// strings.
func (d *scalarDecoder) intern(b []byte) string { return d.names.Intern(originalText(b)) }

// decodeScalar sets the field that p points to, of a request or of its derived values, from row i of the column v.
func (d *scalarDecoder) decodeScalar(name string, p any, v *pages.Vector, i int) {
	switch p := p.(type) {
	case *uint64:
		if *p = v.Num(i); v.Signed && *p > math.MaxInt64 {
			d.defect = fmt.Sprintf("column %s: expected 0 or more, found %d", name, int64(*p))
			*p = 0
		}
	case *int:
		*p = int(v.Num(i))
	case *time.Duration:
		*p = time.Duration(v.Num(i))
	case *export.StampSource:
		*p = export.StampSource(v.Num(i))
	case *bool:
		*p = v.Num(i) != 0
	case **bool:
		d.flag = v.Num(i) != 0
		*p = &d.flag
	case *export.Int:
		*p = export.IntOf(int64(v.Num(i)))
	case *string:
		*p = d.intern(v.Bytes(i))
	case *export.Status:
		*p = parseName(d, v.Bytes(i), export.ParseStatus)
	case *export.Phase:
		*p = parseName(d, v.Bytes(i), export.ParsePhase)
	case **export.Stated:
		*p = d.decodeStated(v.Bytes(i))
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
		d.defect = "column stated: " + jsonscan.InWords(err).Error()
		return nil
	}
	return s
}
