// Package schemas holds the JSON Schemas (draft 2020-12) of the files that
// pa-record and pa-analyze write, embedded, so that a program can check a file
// or hand the schema on:
//
//	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schemas.ProfileExport()))
//
// profile_export.schema.json describes what pa-record writes; what any release
// of perf_analyzer writes is valid under it too. calibration.schema.json
// describes what pa-record calibrate writes, and the others repeat it: each file
// can be used alone.
package schemas
