package columnar

import (
	"time"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/pa-tools/pa/pkg/export"
)

// Version is the value of the metadata key "pa.schema" in every file that this
// package writes. A reader takes any pa-columns/1 file; it leaves out
// unknown columns with a warning.
const Version = "pa-columns/1"

// Keys of the metadata of a file.
const (
	versionKey  = "pa.schema"
	runKey      = "pa.run"        // see header.go
	runBytesKey = "pa.run.base64" // the same, when it is not UTF-8
)

// A scalar is a column that holds one member of a request.
type scalar struct {
	name string
	// field returns a pointer to the member. The type of the member determines the
	// type of the column.
	field func(*export.Request) any
}

// scalars lists the scalars in the order of the file.
var scalars = [...]scalar{
	{"id", func(r *export.Request) any { return &r.ID }},
	{"scheduled_ns", func(r *export.Request) any { return &r.ScheduledNS }},
	{"issued_ns", func(r *export.Request) any { return &r.IssuedNS }},
	{"start_ns", func(r *export.Request) any { return &r.StartNS }},
	{"sent_ns", func(r *export.Request) any { return &r.SentNS }},
	{"first_byte_ns", func(r *export.Request) any { return &r.FirstByteNS }},
	{"ended_ns", func(r *export.Request) any { return &r.EndedNS }},
	{"start_source", func(r *export.Request) any { return &r.StartSource }},
	{"dns_ns", func(r *export.Request) any { return &r.DNS }},
	{"connect_ns", func(r *export.Request) any { return &r.Connect }},
	{"tls_ns", func(r *export.Request) any { return &r.TLS }},
	{"reused", func(r *export.Request) any { return &r.Reused }},
	{"resent", func(r *export.Request) any { return &r.Resent }},
	{"sequence_id", func(r *export.Request) any { return &r.SequenceID }},
	{"session_id", func(r *export.Request) any { return &r.SessionID }},
	{"turn", func(r *export.Request) any { return &r.Turn }},
	{"model", func(r *export.Request) any { return &r.Model }},
	{"worker", func(r *export.Request) any { return &r.Worker }},
	{"conn", func(r *export.Request) any { return &r.Conn }},
	{"rank", func(r *export.Request) any { return &r.Rank }},
	{"status", func(r *export.Request) any { return &r.Status }},
	{"code", func(r *export.Request) any { return &r.Code }},
	{"message", func(r *export.Request) any { return &r.Message }},
	{"server_id", func(r *export.Request) any { return &r.ServerID }},
	{"phase", func(r *export.Request) any { return &r.Phase }},
	{"outputs_dropped", func(r *export.Request) any { return &r.OutputsDropped }},
	{"unrecorded_events", func(r *export.Request) any { return &r.UnrecordedEvents }},
	{"stated", func(r *export.Request) any { return &r.Stated }},
	{"has_meta", func(r *export.Request) any { return &r.HasMeta }},
}

// scalarType returns the column type for the variable that p points to.
func scalarType(p any) arrow.DataType {
	switch p.(type) {
	case *uint64:
		return arrow.PrimitiveTypes.Uint64
	case *int, *time.Duration:
		return arrow.PrimitiveTypes.Int64
	case *bool:
		return arrow.FixedWidthTypes.Boolean
	case *export.StampSource:
		return arrow.PrimitiveTypes.Uint8
	case *string, *export.Status, *export.Phase, **export.Stated:
		return arrow.BinaryTypes.String
	}
	panic("a member of a request has a type without a column type")
}

// Indices of the columns: the experiment, the scalars, and then these.
const (
	colExperiment = 0
	colScalars    = 1
	colReason     = colScalars + len(scalars) + iota - 2
	colInputs
	colRecv
	colSource
	colRead
	colFinal
	colError
	colOutputs
	colExtra
	numColumns
)

// Fields of the elements of inputs and extra, and, after the index of the
// response, of outputs.
const (
	fieldName = iota
	fieldText
	fieldValue
	numFields
)

// newSchema returns the Arrow schema of the data model with the keys and values
// of meta and the version.
func newSchema(meta fileMetadata) *arrow.Schema {
	var (
		uint32Type = arrow.PrimitiveTypes.Uint32
		boolType   = arrow.FixedWidthTypes.Boolean
		stringType = arrow.BinaryTypes.String
	)
	value := []arrow.Field{
		{Name: "name", Type: stringType},
		{Name: "text", Type: boolType},
		{Name: "value", Type: stringType, Nullable: true},
	}
	output := append([]arrow.Field{{Name: "response", Type: uint32Type}}, value...)
	// Elements that cannot be null would be read as ones that can.
	list := func(name string, element arrow.DataType, nullable bool) arrow.Field {
		return arrow.Field{Name: name, Type: arrow.ListOf(element), Nullable: nullable}
	}
	fields := []arrow.Field{{Name: "experiment", Type: uint32Type}}
	var r export.Request
	for _, s := range scalars {
		fields = append(fields, arrow.Field{Name: s.name, Type: scalarType(s.field(&r))})
	}
	fields = append(fields,
		arrow.Field{Name: "reason", Type: stringType},
		list("inputs", arrow.StructOf(value...), true),
		list("recv_ns", arrow.PrimitiveTypes.Uint64, false),
		list("source", arrow.PrimitiveTypes.Uint8, true),
		list("read", uint32Type, true),
		list("final", boolType, true),
		list("error", boolType, true),
		list("outputs", arrow.StructOf(output...), true),
		list("extra", arrow.StructOf(value...), true),
	)
	m := arrow.NewMetadata(append([]string{versionKey}, meta.keys...), append([]string{Version}, meta.values...))
	return arrow.NewSchema(fields, &m)
}

// columnName returns the name of a column.
func columnName(col int) string {
	if i := col - colScalars; i >= 0 && i < len(scalars) {
		return scalars[i].name
	}
	return newSchema(fileMetadata{}).Field(col).Name
}
