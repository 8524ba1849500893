// Package pages reads and writes the pages of Parquet columns, and knows nothing of what the columns mean.
//
// To read, a [Leaf] decodes the values of one column of a row group into a [Vector], some rows at a time;
// a [Chunk] says where the pages are, and a [Budget] bounds the memory. To write, an [Encoder] fills a [Part]
// with the pages of some rows of a [Column], whose [Values] are in Arrow's layout.
//
// The package checks all that it reads: a damaged page is an error. But decoders of codecs other than zstd may
// panic, so that callers turn a panic into an error.
package pages
