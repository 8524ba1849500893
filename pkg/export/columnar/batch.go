package columnar

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/pa-tools/pa/pkg/export"
)

// Bounds of a batch of an Arrow file or a journal. The Writer writes a batch that reaches a
// bound. A single request may be larger than maxBatchBytes.
const (
	maxBatchRows  = 10_000
	maxBatchBytes = 32 << 20
	// maxRowBytes bounds the text of one request, so that the offsets of a
	// batch stay far below 2^31, the limit of Arrow's strings and lists.
	maxRowBytes = 1 << 30
)

// A batch collects requests as rows.
type batch struct {
	schema      *arrow.Schema
	cols        []*arrowColumn
	eventCounts []int32        // see countEvents
	deriver     export.Deriver // nil: without derived columns
	rows        int
	levelRows   int // rows whose level is set
	maxRows     int
	maxBytes    int
}

// newBatch returns an empty batch. deriver computes the derived columns of schema; it is
// nil if schema has none.
func newBatch(schema *arrow.Schema, deriver export.Deriver) *batch {
	b := &batch{schema: schema, deriver: deriver, maxRows: maxBatchRows, maxBytes: maxBatchBytes}
	for _, f := range schema.Fields() {
		b.cols = append(b.cols, newArrowColumn(f))
	}
	return b
}

// full reports whether the batch must be written before the next row.
func (b *batch) full() bool { return b.rows >= b.maxRows || b.size() >= b.maxBytes }

// size returns the bytes of all columns.
func (b *batch) size() int {
	n := 0
	for _, c := range b.cols {
		n += c.size()
	}
	return n
}

// record returns the rows as an Arrow record. The record shares the memory of the batch
// and is valid until the batch changes.
func (b *batch) record() arrow.Record {
	arrays := make([]arrow.Array, len(b.cols))
	for i, c := range b.cols {
		arrays[i] = array.MakeFromData(c.array())
	}
	return array.NewRecord(b.schema, arrays, int64(b.rows))
}

// reset removes all rows and keeps the memory.
func (b *batch) reset() {
	b.rows, b.levelRows = 0, 0
	for _, c := range b.cols {
		c.reset()
	}
}

// setLevel makes the rows that were added since the last call requests of experiment number i.
func (b *batch) setLevel(i int, e *export.Experiment) {
	value, err := strconv.ParseFloat(e.Value, 64)
	for ; b.levelRows < b.rows; b.levelRows++ {
		b.cols[colExperiment].appendNumber(uint64(i))
		b.cols[colMode].appendString(e.Mode)
		if err == nil {
			b.cols[colValue].appendFloat(value)
		} else {
			b.cols[colValue].appendNull()
		}
	}
}

// appendAll appends the rows of o, a batch with the same schema.
func (b *batch) appendAll(o *batch) {
	for i, c := range b.cols {
		c.appendColumn(o.cols[i])
	}
	b.rows += o.rows
	b.levelRows += o.levelRows
}

// add appends r as a row, whose level setLevel sets. It appends nothing if it returns an error.
func (b *batch) add(r *export.Request) error {
	if err := check(r); err != nil {
		return err
	}
	for _, s := range scalars {
		b.cols[s.col].appendScalar(s.field(r), s.zero, r.HasMeta)
	}
	b.cols[colInputs].appendFields(r.Inputs)
	b.addResponses(r)
	b.cols[colExtra].appendFields(r.Extra)
	b.addOverflow(r)
	reason := r.Excluded()
	if b.deriver != nil {
		d := b.deriver.Derive(r)
		reason = d.Excluded
		b.addDerived(r, d)
	}
	b.cols[colReason].appendString(string(reason))
	b.rows++
	return nil
}

// check returns an error if r cannot be written.
func check(r *export.Request) error {
	if _, err := export.ParseStatus(r.Status.String()); err != nil {
		return err
	}
	if _, err := export.ParsePhase(r.Phase.String()); err != nil {
		return err
	}
	size := len(statedText(r.Stated)) + len(r.SessionID) + len(r.Model) + len(r.Message) + len(r.ServerID) + fieldBytes(r.Inputs) + fieldBytes(r.Extra)
	for i := range r.Responses {
		size += 32 + fieldBytes(r.Responses[i].Outputs)
	}
	if size > maxRowBytes {
		return fmt.Errorf("the request takes %d bytes, more than the %d that a row can hold", size, maxRowBytes)
	}
	return nil
}

// fieldBytes returns an upper bound of the bytes that fields take. It ignores base64, which
// adds a third; maxRowBytes leaves room for that.
func fieldBytes(fields export.Fields) int {
	n := 0
	for i := range fields {
		n += len(fields[i].Name) + len(fields[i].Value.Data) + 32
		if e := fields[i].Value.Envelope; e != nil {
			n += len(e.Front) + len(e.Back)
		}
	}
	return n
}

// appendFields appends a list of fields; null for nil.
func (c *arrowColumn) appendFields(fields export.Fields) {
	if fields == nil {
		c.appendNull()
		return
	}
	element := c.children[0]
	for i := range fields {
		element.appendField(0, &fields[i])
	}
	c.endList(true)
}

// appendField completes a struct with the values of f, which start at child first. The
// caller has appended the children before it.
func (c *arrowColumn) appendField(first int, f *export.Field) {
	c.children[first+fieldName].appendString(f.Name)
	c.children[first+fieldText].appendBool(f.Value.Text)
	c.children[first+fieldValue].appendJSON(&f.Value)
	c.endValue(true)
}

// appendJSON appends the text or the JSON text of v; null for the zero Value, which is JSON null.
func (c *arrowColumn) appendJSON(v *export.Value) {
	if !v.Text && len(v.Data) == 0 && v.Envelope == nil {
		c.appendString("null")
	} else {
		c.appendValue(v)
	}
}

// addResponses appends the lists that hold the responses. The lists of pa-record's
// additions are null when they would be empty.
func (b *batch) addResponses(r *export.Request) {
	recv, source, read := b.cols[colRecv], b.cols[colSource], b.cols[colRead]
	final, failed, outputs := b.cols[colFinal], b.cols[colError], b.cols[colOutputs]
	added := r.HasMeta
	n := len(r.Responses)
	cells := recv.children[0].extend(n)
	for i := range r.Responses {
		x := &r.Responses[i]
		binary.LittleEndian.PutUint64(cells[8*i:], clampToInt64(x.RecvNS))
		added = added || x.Source != 0 || x.Read != 0 || x.Final || x.Error
	}
	if added {
		sources, reads := source.children[0].extend(n), read.children[0].extend(n)
		for i := range r.Responses {
			x := &r.Responses[i]
			sources[i] = byte(x.Source)
			binary.LittleEndian.PutUint32(reads[4*i:], x.Read)
			final.children[0].appendBool(x.Final)
			failed.children[0].appendBool(x.Error)
		}
	}
	element := outputs.children[0]
	switch {
	case r.NoOutputs:
	case alike(r.Responses):
		element.appendAlike(r.Responses)
	default:
		for i := range r.Responses {
			x := &r.Responses[i]
			for k := range x.Outputs {
				element.children[0].appendNumber(uint64(i))
				element.appendField(1, &x.Outputs[k])
			}
			if x.Outputs == nil {
				element.children[0].appendNumber(uint64(i))
				element.children[1+fieldName].appendString("")
				element.children[1+fieldText].appendBool(false)
				element.children[1+fieldValue].appendNull()
				element.endValue(true)
			}
		}
	}
	recv.endList(true)
	source.endList(added)
	read.endList(added)
	final.endList(added)
	failed.endList(added)
	outputs.endList(!r.NoOutputs)
}

// alike reports whether each response has one output, all outputs have the same name, and all or none are texts.
func alike(responses []export.Response) bool {
	for i := range responses {
		x := responses[i].Outputs
		if len(x) != 1 || x[0].Name != responses[0].Outputs[0].Name || x[0].Value.Text != responses[0].Outputs[0].Value.Text {
			return false
		}
	}
	return true
}

// appendAlike appends the outputs of responses for which [alike] is true to c, the elements of outputs.
func (c *arrowColumn) appendAlike(responses []export.Response) {
	n := len(responses)
	if n == 0 {
		return
	}
	first := &responses[0].Outputs[0]
	indices := c.children[0].extend(n)
	for i := range n {
		binary.LittleEndian.PutUint32(indices[4*i:], uint32(i))
	}
	c.children[1+fieldName].appendStrings(first.Name, n)
	c.children[1+fieldText].appendBools(first.Value.Text, n)
	for i := range responses {
		c.children[1+fieldValue].appendJSON(&responses[i].Outputs[0].Value)
	}
	c.endValues(n)
}

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
