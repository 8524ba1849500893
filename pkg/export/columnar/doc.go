// Package columnar keeps a run as a table: as Parquet, as an Arrow file, and as
// the journal that pa-record writes while it records. It is the only package
// that knows Apache Arrow.
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
// Each request is a row, also an excluded one. The values of its responses are in
// lists of equal length, its outputs in a list of their own. schemas/columns.md
// describes each column. The header of the run is a profile_export.json without
// requests, in the metadata under "pa.run". A table keeps everything: times of 64
// bits, absent against empty, order, number text, bytes that are not UTF-8. A run
// that goes through a table to JSON gives the same bytes as one written to JSON
// directly.
//
// Columns suit the engines that read them: numbers are signed, what was not recorded is
// null, and the derived columns hold what the texts of the answers say. This package does
// not read texts: an [export.Deriver] fills the derived columns, and [Reader.Derived] gives
// them back.
//
// # Journal
//
// A journal is an Arrow IPC stream to which a [JournalWriter] only appends. Each message
// carries its kind and a checksum (CRC-32C), and some carry a header of the run or lines
// of telemetry. Other readers of Arrow ignore these. A journal without an end is read up
// to its last whole batch, with an *export.CutError after it; a damaged journal is read
// up to the damage, with a *[CorruptionError].
//
// # Memory
//
// A writer holds one batch of about 32 MiB, and takes about as much again to encode it; a
// Parquet writer fills one batch while it encodes the one before. A Parquet reader decodes
// as many row groups at the same time as there are processors, and holds of each a page of
// each column and three times 4 MiB of rows; the other readers hold one batch. Opening reads
// three columns of a Parquet file, and the whole of the other files, to find where the
// requests of each level are.
//
// # Damaged and hostile files
//
// Reading never panics: counts and sizes are checked before Arrow uses them, and a panic
// of Arrow becomes an error. Parquet and Arrow files have no checksum, so damage can show
// as a wrong value; journals have checksums. A page that decompresses to gigabytes (a
// bomb) takes that memory while it is read.
package columnar
