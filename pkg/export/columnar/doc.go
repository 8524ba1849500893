// Package columnar reads and writes a run as a table: as Parquet and as an Arrow file. Only
// this package imports Apache Arrow.
//
//	w, err := columnar.NewParquetWriter(f, answer.NewDeriver(r.Run())) // or NewArrowWriter
//	if err != nil {
//		return err
//	}
//	if err := export.Copy(ctx, w, r); err != nil {
//		return err
//	}
//	return r.Err() // nil if all of r was read
//
// [Formats] makes an [export.Opener] read these files.
//
// # Table
//
// Each request is a row, including excluded requests. The values of its responses are in
// lists of equal length; its outputs are in a separate list. schemas/columns.md
// describes each column. The header of the run is a profile_export.json without
// requests, in the metadata under "pa.run". A table loses nothing: it keeps 64-bit times,
// the difference between absent and empty, the order, the text of numbers, and bytes that
// are not UTF-8. A run converted to a table and then to JSON gives the same bytes as the
// run written to JSON directly.
//
// The columns suit the engines that read them: numbers are signed, and values that were
// not recorded are null. The derived columns hold the results of parsing the answers. This
// package does not parse them: an [export.Deriver] computes the derived columns, and
// an [export.Row] has them.
//
// # Files
//
// schema.go lists the columns. Writing: batch.go collects requests as rows, and writer.go passes batches to a sink:
// arrow.go, or parquetwriter.go (its pages are made by package pages).
//
// Reading: reader.go chooses rows (selection.go) and reads ahead (feed.go). It reads from a source (source.go): arrow.go,
// or parquetreader.go, whose columns package pages reads. A source returns columns as vectors
// (pages.Vector; of Arrow by arrowvector.go), and row.go makes requests of them.
//
// header.go, telemetry.go and text.go say how headers, telemetry and texts are stored. limits.go and flatbuffer.go
// protect against hostile files. table.go is apart: it reads any Parquet file as rows of JSON.
//
// # Memory
//
// A Writer of Arrow holds one batch of about 32 MiB and needs about the same
// again to encode it. A ParquetWriter holds two row groups of about 32 MiB: it fills one
// while it encodes the other on all cores. Texts that start alike take less. It also takes
// batches of requests that the goroutines of a Reader fill.
//
// A Parquet Reader decodes as many row groups in parallel as there are processors. For each
// row group it holds one page of each column and some blocks of rows of 512 KiB. In batches
// ([export.Need]) the goroutines hand over each request when it is decoded, and hold
// one block. All of this is less if many files are read at the same time; pages of plain integers are packed, too. The other Readers hold one batch.
// To find the requests of each level, opening reads three columns of a Parquet file, and the
// whole of an Arrow file.
//
// # Damaged and hostile files
//
// Reading never panics: counts and sizes are checked before Arrow uses them, and a panic
// of Arrow becomes an error. Parquet and Arrow files have no checksum, so damage can
// appear as a wrong value. A page that decompresses to gigabytes
// (a decompression bomb) takes that memory while it is read.
package columnar
