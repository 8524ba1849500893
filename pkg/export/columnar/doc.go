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
//	return r.Err() // what of r could not be read
//
// The formats are for reading with [export.Opener] by [Formats].
//
// # Table
//
// A request is a row, excluded ones included; what belongs to its responses is
// in lists of equal length, its outputs in a list of their own.
// schemas/columns.md describes each column. The header of the run is a
// profile_export.json without requests, in the metadata under "pa.run". Nothing
// is lost: times of 64 bits, absent against empty, order, number text, bytes
// that are not UTF-8; reading and writing as JSON gives the bytes that the
// direct way gives.
//
// # Journal
//
// A journal is an Arrow IPC stream that is only appended to, by
// [JournalWriter]. Each of its messages carries a checksum (CRC-32C) where other
// readers of Arrow do not look, and tells what part of the run it is. A journal
// that just ends is read up to its last whole batch, with an *export.CutError
// after it; one that is damaged up to the damage, with a *[CorruptionError].
//
// # Memory
//
// A writer holds one batch, up to 10 000 requests or 32 MiB, and what encoding
// it takes: about as much again. A Parquet reader holds a page of each column
// and about 4 MiB of rows, the others one batch. Opening reads two columns of a
// Parquet file, and all of the others, to know which requests are where.
//
// # What is not protected
//
// Whatever bytes a file holds, reading it returns and does not panic: counts
// and sizes are checked before Arrow is given them, and what it panics with is
// turned into an error. Parquet and Arrow files have no checksum, so that
// damage can show as a wrong value; a journal has. A page made to decompress to
// gigabytes (a bomb) costs that memory while it is read.
package columnar
