package columnar

import (
	"encoding/json"
	"fmt"
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
	rows     int
	maxRows  int
	maxBytes int
}

func newBatch(schema *arrow.Schema) *batch {
	b := &batch{schema: schema, maxRows: maxBatchRows, maxBytes: maxBatchBytes}
	for _, f := range schema.Fields() {
		b.cols = append(b.cols, newColumn(f))
	}
	return b
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

// add appends a row. It does nothing if it returns an error.
func (b *batch) add(experiment int, r *export.Request) error {
	if err := check(r); err != nil {
		return err
	}
	b.cols[colExperiment].number(uint64(experiment))
	for i := range scalars {
		b.cols[colScalars+i].scalar(scalars[i].field(r))
	}
	b.cols[colReason].string(r.Excluded())
	b.cols[colInputs].fields(r.Inputs)
	b.responses(r)
	b.cols[colExtra].fields(r.Extra)
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

// scalar appends the member of a request that p points to.
func (c *column) scalar(p any) {
	switch p := p.(type) {
	case *uint64:
		c.number(*p)
	case *int:
		c.number(uint64(*p))
	case *time.Duration:
		c.number(uint64(*p))
	case *export.StampSource:
		c.number(uint64(*p))
	case *bool:
		c.bool(*p)
	case *string:
		c.string(*p)
	case *export.Status:
		c.string(p.String())
	case *export.Phase:
		c.string(p.String())
	case **export.Stated:
		c.string(statedText(*p))
	default:
		panic("a member of a request has a type without a column type")
	}
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
		recv.kids[0].number(x.RecvNS)
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
