package columnar

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/pa-tools/pa/pkg/export"
)

// Bounds of a batch, which is a row group in Parquet. One that reaches a bound
// is written; a single request may be larger than maxBatchBytes.
const (
	maxBatchRows  = 10_000
	maxBatchBytes = 32 << 20
	// maxRowBytes bounds the text of one request, so that the offsets of a
	// batch stay far below the 2^31 that Arrow's strings and lists can count.
	maxRowBytes = 1 << 30
)

// A batch collects requests as rows.
type batch struct {
	schema   *arrow.Schema
	cols     []*column
	counts   []int32        // see perResponse
	deriver  export.Deriver // nil: without derived columns
	rows     int
	maxRows  int
	maxBytes int
}

// newBatch returns an empty batch. deriver computes the derived columns that schema has;
// nil if it has none.
func newBatch(schema *arrow.Schema, deriver export.Deriver) *batch {
	b := &batch{schema: schema, deriver: deriver, maxRows: maxBatchRows, maxBytes: maxBatchBytes}
	for _, f := range schema.Fields() {
		b.cols = append(b.cols, newColumn(f))
	}
	return b
}

// empty returns an empty batch like b.
func (b *batch) empty() *batch {
	e := newBatch(b.schema, b.deriver)
	e.maxRows, e.maxBytes = b.maxRows, b.maxBytes
	return e
}

// full reports whether the batch has to be written before the next row.
func (b *batch) full() bool { return b.rows >= b.maxRows || b.size() >= b.maxBytes }

// size returns the bytes of all columns.
func (b *batch) size() int {
	n := 0
	for _, c := range b.cols {
		n += c.size()
	}
	return n
}

// record returns the rows as Arrow has them. They are good until the next
// change of the batch.
func (b *batch) record() arrow.Record {
	arrays := make([]arrow.Array, len(b.cols))
	for i, c := range b.cols {
		arrays[i] = array.MakeFromData(c.array())
	}
	return array.NewRecord(b.schema, arrays, int64(b.rows))
}

func (b *batch) reset() {
	b.rows = 0
	for _, c := range b.cols {
		c.reset()
	}
}

// add appends a row of experiment number i. It does nothing if it returns an error.
func (b *batch) add(i int, e *export.Experiment, r *export.Request) error {
	if err := check(r); err != nil {
		return err
	}
	b.cols[colExperiment].number(uint64(i))
	b.cols[colMode].string(e.Mode)
	if v, err := strconv.ParseFloat(e.Value, 64); err == nil {
		b.cols[colValue].float(v)
	} else {
		b.cols[colValue].null()
	}
	for k := range scalars {
		b.cols[colScalars+k].scalar(scalars[k].field(r), scalars[k].zero, r.HasMeta)
	}
	b.cols[colInputs].fields(r.Inputs)
	b.responses(r)
	b.cols[colExtra].fields(r.Extra)
	b.overflow(r)
	reason := r.Excluded()
	if b.deriver != nil {
		d := b.deriver.Derive(r)
		reason = d.Excluded
		b.derived(r, d)
	}
	b.cols[colReason].string(reason)
	b.rows++
	return nil
}

// check finds what cannot be written.
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

// fieldBytes returns an upper bound of the bytes of fields without base64, which adds
// a third; maxRowBytes leaves room for it.
func fieldBytes(fields export.Fields) int {
	n := 0
	for i := range fields {
		n += len(fields[i].Name) + len(fields[i].Value.Data) + 32
	}
	return n
}

// scalar appends the member of a request that p points to; null if its zero value says
// so. meta says that the request has pa-record's additions.
func (c *column) scalar(p any, z zero, meta bool) {
	var number uint64
	var text string
	isText := false
	switch p := p.(type) {
	case *uint64:
		number = fitting(*p)
	case *int:
		number = uint64(*p)
	case *time.Duration:
		number = uint64(*p)
	case *export.StampSource:
		number = uint64(*p)
	case *bool:
		if *p || z == zeroRecorded || z == zeroWithMeta && meta {
			c.bool(*p)
		} else {
			c.null()
		}
		return
	case *string:
		text, isText = *p, true
	case *export.Status:
		text, isText = nameUnless(p.String(), *p == export.StatusUnknown), true
	case *export.Phase:
		text, isText = nameUnless(p.String(), *p == export.PhaseUnknown), true
	case **export.Stated:
		text, isText = statedText(*p), true
	default:
		panic("a member of a request has a type without a column type")
	}
	switch {
	case number == 0 && text == "" && z != zeroRecorded && (z != zeroWithMeta || !meta):
		c.null()
	case isText:
		c.string(text)
	default:
		c.number(number)
	}
}

func nameUnless(name string, unknown bool) string {
	if unknown {
		return ""
	}
	return name
}

// statedText is s as JSON, "" for nil.
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

// fields appends a list of values, or null for nil.
func (c *column) fields(fields export.Fields) {
	if fields == nil {
		c.null()
		return
	}
	element := c.kids[0]
	for i := range fields {
		element.value(0, &fields[i])
	}
	c.endList(true)
}

// value appends a struct from its field first on; the fields before are there.
func (c *column) value(first int, f *export.Field) {
	c.kids[first+fieldName].string(f.Name)
	c.kids[first+fieldText].bool(f.Value.Text)
	value := c.kids[first+fieldValue]
	if !f.Value.Text && len(f.Value.Data) == 0 {
		value.string("null") // the zero Value
	} else {
		value.text(f.Value.Data)
	}
	c.end(true)
}

// responses appends the lists that hold the responses. The lists of pa-record's
// additions are null when they would be empty.
func (b *batch) responses(r *export.Request) {
	recv, source, read := b.cols[colRecv], b.cols[colSource], b.cols[colRead]
	final, failed, outputs := b.cols[colFinal], b.cols[colError], b.cols[colOutputs]
	added := r.HasMeta
	for i := range r.Responses {
		x := &r.Responses[i]
		recv.kids[0].number(fitting(x.RecvNS))
		added = added || x.Source != 0 || x.Read != 0 || x.Final || x.Error
	}
	if added {
		for i := range r.Responses {
			x := &r.Responses[i]
			source.kids[0].number(uint64(x.Source))
			read.kids[0].number(uint64(x.Read))
			final.kids[0].bool(x.Final)
			failed.kids[0].bool(x.Error)
		}
	}
	if !r.NoOutputs {
		element := outputs.kids[0]
		for i := range r.Responses {
			x := &r.Responses[i]
			for k := range x.Outputs {
				element.kids[0].number(uint64(i))
				element.value(1, &x.Outputs[k])
			}
			if x.Outputs == nil {
				element.kids[0].number(uint64(i))
				element.kids[1+fieldName].string("")
				element.kids[1+fieldText].bool(false)
				element.kids[1+fieldValue].null()
				element.end(true)
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
