// Package pycsv writes rows as Python's csv.writer does by default (its dialect
// "excel"): separated by commas, each ended by CR LF, fields in double quotes
// only where they must be.
//
//	w := pycsv.NewWriter(&b)
//	w.Row("Metric", "avg")
//	w.Row("Request Latency (ms)", "1,525.00") // …,"1,525.00"
//	w.Row()                                   // an empty line
//	err := w.Err()
//
// encoding/csv differs: it also quotes fields that begin with a space, and the
// field \. .
package pycsv
