package columnar

import (
	"slices"
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

// A scalar is a column that holds one field of a request.
type scalar struct {
	name        string
	zeroMeaning zeroMeaning
	// field returns a pointer to the field. The type of the field determines the
	// type of the column.
	field func(*export.Request) any
}

// scalars lists the scalar columns in the order of the file.
var scalars = [...]scalar{
	{"id", zeroRecorded, func(r *export.Request) any { return &r.ID }},
	{"scheduled_ns", zeroAbsent, func(r *export.Request) any { return &r.ScheduledNS }},
	{"issued_ns", zeroAbsent, func(r *export.Request) any { return &r.IssuedNS }},
	{"start_ns", zeroRecorded, func(r *export.Request) any { return &r.StartNS }},
	{"sent_ns", zeroAbsent, func(r *export.Request) any { return &r.SentNS }},
	{"first_byte_ns", zeroAbsent, func(r *export.Request) any { return &r.FirstByteNS }},
	{"ended_ns", zeroAbsent, func(r *export.Request) any { return &r.EndedNS }},
	{"start_source", zeroAbsent, func(r *export.Request) any { return &r.StartSource }},
	{"dns_ns", zeroAbsent, func(r *export.Request) any { return &r.DNS }},
	{"connect_ns", zeroAbsent, func(r *export.Request) any { return &r.Connect }},
	{"tls_ns", zeroAbsent, func(r *export.Request) any { return &r.TLS }},
	{"reused", zeroWithMeta, func(r *export.Request) any { return &r.Reused }},
	{"resent", zeroWithMeta, func(r *export.Request) any { return &r.Resent }},
	{"sequence_id", zeroAbsent, func(r *export.Request) any { return &r.SequenceID }},
	{"session_id", zeroAbsent, func(r *export.Request) any { return &r.SessionID }},
	{"turn", zeroWithMeta, func(r *export.Request) any { return &r.Turn }},
	{"model", zeroAbsent, func(r *export.Request) any { return &r.Model }},
	{"worker", zeroWithMeta, func(r *export.Request) any { return &r.Worker }},
	{"conn", zeroWithMeta, func(r *export.Request) any { return &r.Conn }},
	{"rank", zeroWithMeta, func(r *export.Request) any { return &r.Rank }},
	{"status", zeroAbsent, func(r *export.Request) any { return &r.Status }},
	{"code", zeroAbsent, func(r *export.Request) any { return &r.Code }},
	{"message", zeroAbsent, func(r *export.Request) any { return &r.Message }},
	{"server_id", zeroAbsent, func(r *export.Request) any { return &r.ServerID }},
	{"phase", zeroAbsent, func(r *export.Request) any { return &r.Phase }},
	{"outputs_dropped", zeroWithMeta, func(r *export.Request) any { return &r.OutputsDropped }},
	{"unrecorded_events", zeroWithMeta, func(r *export.Request) any { return &r.UnrecordedEvents }},
	{"stated", zeroAbsent, func(r *export.Request) any { return &r.Stated }},
	{"has_meta", zeroRecorded, func(r *export.Request) any { return &r.HasMeta }},
}

// scalarType returns the column type for the variable that p points to.
func scalarType(p any) arrow.DataType {
	switch p.(type) {
	case *uint64, *int, *time.Duration:
		return arrow.PrimitiveTypes.Int64
	case *bool:
		return arrow.FixedWidthTypes.Boolean
	case *export.StampSource:
		return arrow.PrimitiveTypes.Int8
	case *string, *export.Status, *export.Phase, **export.Stated:
		return arrow.BinaryTypes.String
	}
	panic("a member of a request has a type without a column type")
}

// Indices of the columns: the columns of the level, the scalar columns, the lists and the
// derived columns. The derived columns are last because a journal has none.
const (
	colExperiment = 0
	colMode       = 1
	colValue      = 2
	colScalars    = 3
	colReason     = colScalars + len(scalars) + iota - 4
	colInputs
	colRecv
	colSource
	colRead
	colFinal
	colError
	colOutputs
	colExtra
	colOverflow
	colDerived // the first derived column
)

// numColumns is the number of columns of a file with derived columns.
const numColumns = colDerived + numDerived

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

// isWriteOnly reports whether a Reader ignores the column, because the header or other
// columns hold the same. Other programs use it.
func isWriteOnly(col int) bool {
	return col == colMode || col == colValue || col == colReason || col == colDerived+derivedTPOT
}

// listColumn returns a list column. Its elements are nullable, because readers take them as
// nullable in any case.
func listColumn(name string, element arrow.DataType, nullable bool) arrow.Field {
	return arrow.Field{Name: name, Type: arrow.ListOf(element), Nullable: nullable}
}

// newSchema returns the Arrow schema of the data model, with the version and meta as
// metadata. derived adds the derived columns.
func newSchema(meta fileMetadata, derived bool) *arrow.Schema {
	fields := recordedFields()
	if derived {
		fields = append(slices.Clip(fields), derivedFields()...)
	}
	m := arrow.NewMetadata(append([]string{versionKey}, meta.keys...), append([]string{Version}, meta.values...))
	return arrow.NewSchema(fields, &m)
}

// recordedFields returns the columns that are not derived. Callers must not change them.
var recordedFields = sync.OnceValue(func() []arrow.Field {
	var (
		int32Type  = arrow.PrimitiveTypes.Int32
		boolType   = arrow.FixedWidthTypes.Boolean
		stringType = arrow.BinaryTypes.String
	)
	value := []arrow.Field{
		{Name: "name", Type: stringType},
		{Name: "text", Type: boolType},
		{Name: "value", Type: stringType, Nullable: true},
	}
	output := append([]arrow.Field{{Name: "response", Type: int32Type}}, value...)
	overflow := []arrow.Field{
		{Name: "name", Type: stringType},
		{Name: "index", Type: int32Type},
		{Name: "value", Type: stringType},
	}
	fields := []arrow.Field{
		{Name: "experiment", Type: int32Type},
		{Name: "mode", Type: stringType},
		{Name: "value", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
	}
	var r export.Request
	for _, s := range scalars {
		fields = append(fields, arrow.Field{Name: s.name, Type: scalarType(s.field(&r)), Nullable: s.zeroMeaning != zeroRecorded})
	}
	fields = append(fields,
		arrow.Field{Name: "reason", Type: stringType},
		listColumn("inputs", arrow.StructOf(value...), true),
		listColumn("recv_ns", arrow.PrimitiveTypes.Int64, false),
		listColumn("source", arrow.PrimitiveTypes.Int8, true),
		listColumn("read", int32Type, true),
		listColumn("final", boolType, true),
		listColumn("error", boolType, true),
		listColumn("outputs", arrow.StructOf(output...), true),
		listColumn("extra", arrow.StructOf(value...), true),
		listColumn("overflow", arrow.StructOf(overflow...), true),
	)
	return fields
})

// fullSchema returns the schema with all columns that a Reader knows.
var fullSchema = sync.OnceValue(func() *arrow.Schema { return newSchema(fileMetadata{}, true) })

// columnName returns the name of a column.
func columnName(col int) string {
	if i := col - colScalars; i >= 0 && i < len(scalars) {
		return scalars[i].name
	}
	return fullSchema().Field(col).Name
}
