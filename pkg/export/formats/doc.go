// Package formats lists all file formats: Readers returns the readers, and ForName
// returns the writer for a file name. Programs use it so that they need not list the
// formats themselves. Neither the data model (package export) nor a format imports it.
//
//	o := export.Opener{Formats: formats.Readers()}
//	create, ok := formats.ForName("run.parquet")
//	…
//	w, err := create(file, answer.NewDeriver(reader.Run()))
//	…
//	err = export.Copy(ctx, w, reader)
package formats
