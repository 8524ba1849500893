// Package columnar keeps a run as a table: as Parquet, as an Arrow file, and as
// the journal that pa-record writes while it records. It is the only package
// that knows Apache Arrow.
//
//	w, err := columnar.NewParquetWriter(f) // or NewArrowWriter
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
// A writer holds one batch, up to 10,000 requests or 32 MiB, and takes about as much
// again to encode it. A Parquet reader holds a page of each column and about 4 MiB of
// rows; the other readers hold one batch. Opening reads two columns of a Parquet file,
// and the whole of the other files, to find where the requests of each level are.
//
// # Damaged and hostile files
//
// Reading never panics: counts and sizes are checked before Arrow uses them, and a panic
// of Arrow becomes an error. Parquet and Arrow files have no checksum, so damage can show
// as a wrong value; journals have checksums. A page that decompresses to gigabytes (a
// bomb) takes that memory while it is read.
package columnar
