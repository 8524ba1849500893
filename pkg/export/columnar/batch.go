package columnar

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/pa-tools/pa/pkg/export"
)

// Bounds of a batch of an Arrow file. The Writer writes a batch that reaches a
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
	size := len(statedText(r.Stated)) + len(r.SessionID) + len(r.Agent) + len(r.ParentAgent) + len(r.Model) + len(r.Message) + len(r.RequestID) + len(r.ServerID) + fieldBytes(r.Inputs) + fieldBytes(r.Extra)
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

// addDerived appends the derived columns of r; nulls if d is nil.
func (b *batch) addDerived(r *export.Request, d *export.Derived) {
	if d == nil {
		for _, c := range b.cols[firstDerived:] {
			c.appendNull()
		}
		return
	}
	for _, s := range derivedScalars {
		b.cols[s.col].appendScalar(s.derived(d), s.zero, false)
	}
	if d.HasTPOT {
		b.cols[colTPOT].appendFloat(d.TPOT)
	} else {
		b.cols[colTPOT].appendNull()
	}
	b.addITL(d.ITL)
	b.addSummary(r, d.Responses)
	b.addEvents(r, d)
}

// addITL appends the list of the gaps of each choice.
func (b *batch) addITL(all [][]int64) {
	itl := b.cols[colITL]
	for _, gaps := range all {
		cells := itl.children[0].children[0].extend(len(gaps))
		for i, g := range gaps {
			binary.LittleEndian.PutUint64(cells[8*i:], uint64(g))
		}
		itl.children[0].endList(true)
	}
	itl.endList(len(all) > 0)
}

// addSummary appends the columns that sum up the responses; s is nil if their times do not fit.
func (b *batch) addSummary(r *export.Request, s *export.ResponseSummary) {
	b.cols[colResponses].appendNumber(uint64(len(r.Responses)))
	var kernel, user, first export.Int
	if s != nil {
		kernel, user = export.IntOf(int64(s.Kernel)), export.IntOf(int64(s.User))
		first = export.Int{V: s.First, OK: s.N > 0}
	}
	b.cols[colKernelStamps].appendCount(kernel)
	b.cols[colUserStamps].appendCount(user)
	b.cols[colFirstResponse].appendCount(first)
}

// addEvents appends the columns that say which responses are token events.
func (b *batch) addEvents(r *export.Request, d *export.Derived) {
	number, choice := b.cols[colTokenEvents], b.cols[colTokenChoice]
	reasoning, tokens := b.cols[colTokenReasoning], b.cols[colTokenCount]
	reasons, simple := false, true
	for i := range d.Events {
		e := &d.Events[i]
		reasons = reasons || e.Reasoning
		if i > 0 {
			p := &d.Events[i-1]
			simple = simple && e.Response >= p.Response && (e.Response > p.Response || e.Choice == p.Choice && e.Reasoning == p.Reasoning)
		}
	}
	known := d.OutputTokens.OK && d.OutputTokens.V == int64(len(d.Events))
	perResponse := b.countEvents(len(r.Responses), d)
	setNumbers(number.children[0], perResponse)
	var perTokens []int32 // tokens of each response
	if d.EventTokens {
		perTokens = make([]int32, len(r.Responses))
		for i := range d.Events {
			e := &d.Events[i]
			perTokens[e.Response] += e.Tokens
		}
	}
	switch {
	case d.EventTokens:
		setNumbers(tokens.children[0], perTokens)
	case known:
		setNumbers(tokens.children[0], perResponse)
	}
	next := 0
	for from := 0; from < len(perResponse); {
		to := from // up to here, all responses have events
		for simple && to < len(perResponse) && perResponse[to] > 0 {
			to++
		}
		cells := choice.children[0].extend(to - from)
		for i, n := range perResponse[from:to] {
			binary.LittleEndian.PutUint64(cells[8*i:], uint64(d.Events[next].Choice))
			if reasons {
				reasoning.children[0].appendBool(d.Events[next].Reasoning)
			}
			next += int(n)
		}
		for from = to; from < len(perResponse) && (perResponse[from] == 0 || !simple); from++ {
			choice.children[0].appendNull()
			if reasons {
				reasoning.children[0].appendBool(false)
			}
		}
	}
	number.endList(true)
	choice.endList(true)
	reasoning.endList(reasons)
	tokens.endList(known || d.EventTokens)
	events := b.cols[colEvents]
	if !simple {
		for i := range d.Events {
			e := &d.Events[i]
			element := events.children[0]
			element.children[0].appendNumber(uint64(e.Response))
			element.children[1].appendNumber(uint64(e.Choice))
			element.children[2].appendBool(e.Reasoning)
			element.endValue(true)
		}
	}
	events.endList(!simple)
	each := b.cols[colEventTokens]
	if d.EventTokens {
		for i := range d.Events {
			each.children[0].appendNumber(uint64(d.Events[i].Tokens))
		}
	}
	each.endList(d.EventTokens)
}

// setNumbers appends numbers to c, a column of 32 bits.
func setNumbers(c *arrowColumn, numbers []int32) {
	cells := c.extend(len(numbers))
	for i, v := range numbers {
		binary.LittleEndian.PutUint32(cells[4*i:], uint32(v))
	}
}

// countEvents returns the number of token events of each of n responses. The result is
// valid until the next call.
func (b *batch) countEvents(n int, d *export.Derived) []int32 {
	b.eventCounts = slices.Grow(b.eventCounts[:0], n)[:n]
	clear(b.eventCounts)
	for i := range d.Events {
		b.eventCounts[d.Events[i].Response]++
	}
	return b.eventCounts
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
	case *export.Int:
		c.appendCount(*p)
		return
	case *string:
		text, isText = *p, true
	case *export.Status:
		if isText = true; *p != export.StatusUnknown {
			text = p.String()
		}
	case *export.Phase:
		if isText = true; *p != export.PhaseUnknown {
			text = p.String()
		}
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

// clampToInt64 returns v, but at most math.MaxInt64.
func clampToInt64(v uint64) uint64 { return min(v, math.MaxInt64) }
