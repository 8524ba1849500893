package columnar

import (
	"strings"
	"sync"
	"time"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/pa-tools/pa/pkg/export"
)

// Version is the value of the metadata key "pa.schema" in every file that this
// package writes. A Reader reads files of this version and files without a version. It
// ignores unknown columns.
const Version = "pa-columns/2"

// Keys of the metadata of a file.
const (
	versionKey  = "pa.schema"
	runKey      = "pa.run"        // see header.go
	runBytesKey = "pa.run.base64" // the same, when it is not UTF-8
	derivedKey  = "pa.derived"    // the export.Derivation; absent without derived columns
)

// A zeroMeaning says what the zero value of a field of a request means in the file.
type zeroMeaning uint8

const (
	zeroAbsent   zeroMeaning = iota // not recorded: null
	zeroRecorded                    // a value like any other: the column has no null
	zeroWithMeta                    // a value if the request has pa-record's additions, else null
)

// A columnUse says what a column is for, besides holding its values. Uses are bits.
type columnUse uint8

const (
	// writeOnly: a Reader ignores the column, because the header or other columns hold the same.
	// Other programs use it.
	writeOnly columnUse = 1 << iota
	// few: the column has few distinct values, so that it may have a dictionary in a Parquet file.
	// Of a list of structs this is the field "name".
	few
	// ofAnswer: a Reader skips the column for [export.DerivedInstead].
	ofAnswer
	// ofOutput: a row lacks the column if only its times are checked. The columns of texts take most
	// of the time.
	ofOutput
	// ofResponse: rows of brief requests need not have the column.
	ofResponse
	// ofBrief: the column replaces the columns of the responses in rows of brief requests.
	ofBrief
)

// A schemaColumn is a column of the file.
type schemaColumn struct {
	name string
	use  columnUse
	zero zeroMeaning // of field or derived
	// field returns a pointer to the field of a request that the column holds. The type of the field
	// determines the type of the column. nil if the column holds no single field.
	field func(*export.Request) any
	// derived is field for a derived value. A row without derived values has null.
	derived func(*export.Derived) any
	// dataType is the type of a column without field and derived; null says that it may be null.
	dataType arrow.DataType
	null     bool
}

// schemaColumns lists all columns in the order of the file. The derived columns, from
// firstDerived on, are last, because a file may have none.
var schemaColumns = [...]schemaColumn{
	{name: "experiment", use: few, dataType: int32Type},
	{name: "mode", use: few | writeOnly, dataType: stringType},
	{name: "value", use: few | writeOnly, dataType: arrow.PrimitiveTypes.Float64, null: true},
	{name: "id", zero: zeroRecorded, field: func(r *export.Request) any { return &r.ID }},
	{name: "scheduled_ns", field: func(r *export.Request) any { return &r.ScheduledNS }},
	{name: "issued_ns", field: func(r *export.Request) any { return &r.IssuedNS }},
	{name: "start_ns", zero: zeroRecorded, field: func(r *export.Request) any { return &r.StartNS }},
	{name: "sent_ns", field: func(r *export.Request) any { return &r.SentNS }},
	{name: "first_byte_ns", field: func(r *export.Request) any { return &r.FirstByteNS }},
	{name: "ended_ns", field: func(r *export.Request) any { return &r.FailedNS }},
	{name: "start_source", use: few, field: func(r *export.Request) any { return &r.StartSource }},
	{name: "dns_ns", field: func(r *export.Request) any { return &r.DNS }},
	{name: "connect_ns", field: func(r *export.Request) any { return &r.Connect }},
	{name: "tls_ns", field: func(r *export.Request) any { return &r.TLS }},
	{name: "reused", zero: zeroWithMeta, field: func(r *export.Request) any { return &r.Reused }},
	{name: "resent", zero: zeroWithMeta, field: func(r *export.Request) any { return &r.Resent }},
	{name: "sequence_id", field: func(r *export.Request) any { return &r.SequenceID }},
	{name: "session_id", use: few, field: func(r *export.Request) any { return &r.SessionID }},
	{name: "turn", use: few, zero: zeroWithMeta, field: func(r *export.Request) any { return &r.Turn }},
	{name: "agent", use: few, field: func(r *export.Request) any { return &r.Agent }},
	{name: "parent_agent", use: few, field: func(r *export.Request) any { return &r.ParentAgent }},
	{name: "depth", use: few, zero: zeroWithMeta, field: func(r *export.Request) any { return &r.Depth }},
	{name: "model", use: few, field: func(r *export.Request) any { return &r.Model }},
	{name: "worker", use: few, zero: zeroWithMeta, field: func(r *export.Request) any { return &r.Worker }},
	{name: "conn", use: few, zero: zeroWithMeta, field: func(r *export.Request) any { return &r.Conn }},
	{name: "rank", use: few, zero: zeroWithMeta, field: func(r *export.Request) any { return &r.Rank }},
	{name: "status", use: few, field: func(r *export.Request) any { return &r.Status }},
	{name: "code", use: few, field: func(r *export.Request) any { return &r.Code }},
	{name: "message", use: few, field: func(r *export.Request) any { return &r.Message }},
	{name: "request_id", field: func(r *export.Request) any { return &r.RequestID }},
	{name: "server_id", field: func(r *export.Request) any { return &r.ServerID }},
	{name: "phase", use: few, field: func(r *export.Request) any { return &r.Phase }},
	{name: "outputs_dropped", zero: zeroWithMeta, field: func(r *export.Request) any { return &r.OutputsDropped }},
	{name: "unrecorded_events", zero: zeroWithMeta, field: func(r *export.Request) any { return &r.UnrecordedEvents }},
	{name: "stated", field: func(r *export.Request) any { return &r.Stated }},
	{name: "has_meta", zero: zeroRecorded, field: func(r *export.Request) any { return &r.HasMeta }},
	{name: "reason", use: few | writeOnly, dataType: stringType},
	{name: "inputs", use: few | ofAnswer | ofOutput, dataType: arrow.ListOf(arrow.StructOf(valueFields...)), null: true},
	{name: "recv_ns", use: ofResponse, dataType: arrow.ListOf(int64Type)},
	{name: "source", use: few | ofResponse, dataType: arrow.ListOf(arrow.PrimitiveTypes.Int8), null: true},
	{name: "read", use: ofAnswer | ofOutput | ofResponse, dataType: arrow.ListOf(int32Type), null: true},
	{name: "final", use: ofAnswer | ofOutput | ofResponse, dataType: arrow.ListOf(boolType), null: true},
	{name: "error", use: ofAnswer | ofOutput | ofResponse, dataType: arrow.ListOf(boolType), null: true},
	{name: "outputs", use: few | ofAnswer | ofOutput | ofResponse, dataType: arrow.ListOf(arrow.StructOf(outputFields...)), null: true},
	{name: "extra", use: few | ofAnswer | ofOutput, dataType: arrow.ListOf(arrow.StructOf(valueFields...)), null: true},
	{name: "overflow", dataType: arrow.ListOf(arrow.StructOf(overflowFields...)), null: true},

	{name: "error_class", use: few, derived: func(d *export.Derived) any { return &d.Class }},
	{name: "streamed", derived: func(d *export.Derived) any { return &d.Streamed }},
	{name: "ttft_ns", derived: func(d *export.Derived) any { return &d.TTFT }},
	{name: "tpot_ns", use: writeOnly, dataType: arrow.PrimitiveTypes.Float64, null: true},
	{name: "e2el_ns", derived: func(d *export.Derived) any { return &d.E2EL }},
	{name: "output_tokens", derived: func(d *export.Derived) any { return &d.OutputTokens }},
	{name: "input_tokens", derived: func(d *export.Derived) any { return &d.InputTokens }},
	{name: "reasoning_tokens", derived: func(d *export.Derived) any { return &d.ReasoningTokens }},
	{name: "cached_tokens", derived: func(d *export.Derived) any { return &d.CachedTokens }},
	{name: "token_source", use: few, derived: func(d *export.Derived) any { return &d.TokenSource }},
	{name: "input_counted", zero: zeroRecorded, derived: func(d *export.Derived) any { return &d.InputCounted }},
	{name: "itl_ns", use: ofBrief, dataType: arrow.ListOf(arrow.ListOf(int64Type)), null: true},
	{name: "stream_error", use: few, derived: func(d *export.Derived) any { return &d.Failure }},
	{name: "unreadable_events", zero: zeroRecorded, derived: func(d *export.Derived) any { return &d.Unreadable }},
	{name: "events_assumed", zero: zeroRecorded, derived: func(d *export.Derived) any { return &d.Assumed }},
	{name: "token_events", use: few | ofResponse, dataType: arrow.ListOf(int32Type), null: true},
	{name: "token_choice", use: few | ofResponse, dataType: arrow.ListOf(int64Type), null: true},
	{name: "token_reasoning", use: ofResponse, dataType: arrow.ListOf(boolType), null: true},
	{name: "token_count", use: few | ofAnswer | ofResponse, dataType: arrow.ListOf(int32Type), null: true},
	{name: "events", use: ofResponse, dataType: arrow.ListOf(arrow.StructOf(eventFields...)), null: true},
	{name: "responses", use: few | ofAnswer | ofBrief, dataType: int64Type, null: true},
	{name: "kernel_stamps", use: few | ofAnswer | ofBrief, dataType: int64Type, null: true},
	{name: "user_stamps", use: few | ofAnswer | ofBrief, dataType: int64Type, null: true},
	{name: "first_response_ns", use: ofAnswer | ofBrief, dataType: int64Type, null: true},
	{name: "ttfat_ns", use: ofAnswer | ofBrief, derived: func(d *export.Derived) any { return &d.TTFAT }},
	{name: "itl_events", use: few | ofAnswer | ofBrief, derived: func(d *export.Derived) any { return &d.ITLEvents }},
	{name: "server_prefill_ns", derived: func(d *export.Derived) any { return &d.Server.Prefill }},
	{name: "server_decode_ns", derived: func(d *export.Derived) any { return &d.Server.Decode }},
	{name: "event_tokens", use: few, dataType: arrow.ListOf(int32Type), null: true},
	{name: "timed_tokens", derived: func(d *export.Derived) any { return &d.TimedTokens }},
	{name: "hidden_tokens", derived: func(d *export.Derived) any { return &d.HiddenTokens }},
	{name: "server_queue_ns", derived: func(d *export.Derived) any { return &d.Server.Queue }},
	{name: "server_ttft_ns", derived: func(d *export.Derived) any { return &d.Server.TTFT }},
	{name: "server_e2e_ns", derived: func(d *export.Derived) any { return &d.Server.E2E }},
	{name: "server_sent_ns", derived: func(d *export.Derived) any { return &d.Server.SentNS }},
	{name: "cached_local_tokens", derived: func(d *export.Derived) any { return &d.Server.CachedLocal }},
	{name: "cached_host_tokens", derived: func(d *export.Derived) any { return &d.Server.CachedHost }},
	{name: "cached_storage_tokens", derived: func(d *export.Derived) any { return &d.Server.CachedStorage }},
	{name: "cached_external_tokens", derived: func(d *export.Derived) any { return &d.Server.CachedExternal }},
	{name: "draft_steps", derived: func(d *export.Derived) any { return &d.Server.DraftSteps }},
	{name: "draft_tokens", derived: func(d *export.Derived) any { return &d.Server.DraftTokens }},
	{name: "accepted_tokens", derived: func(d *export.Derived) any { return &d.Server.AcceptedTokens }},
	{name: "retractions", derived: func(d *export.Derived) any { return &d.Server.Retractions }},
	{name: "prefill_worker", use: few, derived: func(d *export.Derived) any { return &d.Server.PrefillWorker }},
	{name: "decode_worker", use: few, derived: func(d *export.Derived) any { return &d.Server.DecodeWorker }},
}

// numColumns is the number of columns of a file with derived columns.
const numColumns = len(schemaColumns)

var (
	int32Type  = arrow.PrimitiveTypes.Int32
	int64Type  = arrow.PrimitiveTypes.Int64
	boolType   = arrow.FixedWidthTypes.Boolean
	stringType = arrow.BinaryTypes.String
)

// Fields of the elements of inputs and extra. The elements of outputs have them after the
// index of the response.
const (
	fieldName = iota
	fieldText
	fieldValue
)

// Fields of the elements of overflow.
const (
	overflowName = iota
	overflowIndex
	overflowValue
)

// Fields of the elements of lists of structs.
var (
	valueFields = []arrow.Field{
		{Name: "name", Type: stringType},
		{Name: "text", Type: boolType},
		{Name: "value", Type: stringType, Nullable: true},
	}
	outputFields   = append([]arrow.Field{{Name: "response", Type: int32Type}}, valueFields...)
	overflowFields = []arrow.Field{
		{Name: "name", Type: stringType},
		{Name: "index", Type: int32Type},
		{Name: "value", Type: stringType},
	}
	eventFields = []arrow.Field{
		{Name: "response", Type: int32Type},
		{Name: "choice", Type: int64Type},
		{Name: "reasoning", Type: boolType},
	}
)

// Columns that hold no single field, or that are looked at by themselves.
var (
	colExperiment, colMode, colValue = columnIndex("experiment"), columnIndex("mode"), columnIndex("value")
	colStatus, colPhase, colReason   = columnIndex("status"), columnIndex("phase"), columnIndex("reason")
	colInputs, colExtra, colOverflow = columnIndex("inputs"), columnIndex("extra"), columnIndex("overflow")
	colRecv, colSource, colRead      = columnIndex("recv_ns"), columnIndex("source"), columnIndex("read")
	colFinal, colError, colOutputs   = columnIndex("final"), columnIndex("error"), columnIndex("outputs")
	colITL, colITLEvents             = columnIndex("itl_ns"), columnIndex("itl_events")
	colTPOT                          = columnIndex("tpot_ns")
	colTokenEvents, colTokenChoice   = columnIndex("token_events"), columnIndex("token_choice")
	colTokenReasoning, colTokenCount = columnIndex("token_reasoning"), columnIndex("token_count")
	colEvents, colEventTokens        = columnIndex("events"), columnIndex("event_tokens")
	colResponses, colFirstResponse   = columnIndex("responses"), columnIndex("first_response_ns")
	colKernelStamps, colUserStamps   = columnIndex("kernel_stamps"), columnIndex("user_stamps")
	firstDerived                     = columnIndex("error_class")
)

// columnIndex returns the index of the column with a name.
func columnIndex(name string) int {
	for i := range schemaColumns {
		if schemaColumns[i].name == name {
			return i
		}
	}
	panic("no column " + name)
}

// of reports whether a column has one of the uses.
func (u columnUse) of(col int) bool { return schemaColumns[col].use&u != 0 }

// A scalar is a column that holds one field.
type scalar struct {
	*schemaColumn
	col int
}

// scalars are the columns with a field, and derivedScalars those with a derived value.
var scalars, derivedScalars = func() (fields, derived []scalar) {
	for i := range schemaColumns {
		switch c := &schemaColumns[i]; {
		case c.field != nil:
			fields = append(fields, scalar{c, i})
		case c.derived != nil:
			derived = append(derived, scalar{c, i})
		}
	}
	return fields, derived
}()

// arrowField returns the column as a field of a schema.
func (c *schemaColumn) arrowField() arrow.Field {
	switch {
	case c.field != nil:
		return arrow.Field{Name: c.name, Type: scalarType(c.field(&export.Request{})), Nullable: c.zero != zeroRecorded}
	case c.derived != nil:
		return arrow.Field{Name: c.name, Type: scalarType(c.derived(&export.Derived{})), Nullable: true}
	}
	return arrow.Field{Name: c.name, Type: c.dataType, Nullable: c.null}
}

// arrowFields returns all columns. Callers must not change them.
var arrowFields = sync.OnceValue(func() (all []arrow.Field) {
	for i := range schemaColumns {
		all = append(all, schemaColumns[i].arrowField())
	}
	return all
})

// newSchema returns the Arrow schema of the data model, with the version and meta as
// metadata. derived adds the derived columns.
func newSchema(meta fileMetadata, derived bool) *arrow.Schema {
	fields := arrowFields()
	if !derived {
		fields = fields[:firstDerived]
	}
	m := arrow.NewMetadata(append([]string{versionKey}, meta.keys...), append([]string{Version}, meta.values...))
	return arrow.NewSchema(fields, &m)
}

// fullSchema returns the schema with all columns that a Reader knows.
var fullSchema = sync.OnceValue(func() *arrow.Schema { return newSchema(fileMetadata{}, true) })

// hasDictionary reports whether a column of a Parquet file may have a dictionary. path is its path in
// the schema, such as "inputs.list.element.name".
func hasDictionary(path string) bool {
	name, rest, _ := strings.Cut(path, ".")
	_, field, isStruct := strings.Cut(rest, ".element.")
	return few.of(columnIndex(name)) && (!isStruct || field == "name")
}

// A fileMetadata holds the keys and values that are added to the schema. The zero value is
// empty.
type fileMetadata struct{ keys, values []string }

func (m *fileMetadata) add(key, value string) {
	m.keys, m.values = append(m.keys, key), append(m.values, value)
}

// scalarType returns the column type for the variable that p points to.
func scalarType(p any) arrow.DataType {
	switch p.(type) {
	case *uint64, *int, *time.Duration, *export.Int:
		return int64Type
	case *bool, **bool:
		return boolType
	case *export.StampSource:
		return arrow.PrimitiveTypes.Int8
	case *string, *export.Status, *export.Phase, **export.Stated:
		return stringType
	}
	panic("a member of a request has a type without a column type")
}
