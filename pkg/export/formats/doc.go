// Package formats brings all file formats together: the readers there are, and
// the writer that a file's name asks for. It is for programs, which would each
// have to list them otherwise; the data model (package export) and the formats
// know nothing of it.
//
//	o := export.Opener{Formats: formats.Readers()}
//	create, err := formats.ForName("run.parquet")
//	…
//	w, err := create(file)
//	err = export.Copy(ctx, w, reader)
package formats
