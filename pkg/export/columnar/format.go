package columnar

import "github.com/pa-tools/pa/pkg/export"

// Formats returns the formats of this package for [export.Opener].
func Formats() []export.Format { return []export.Format{Parquet(), Arrow()} }

// Parquet returns the format of NewParquetWriter. A file that is cut short is an *export.CutError.
func Parquet() export.Format { return export.MagicFormat("Parquet", parquetMagic, newParquetReader) }

// Arrow returns the format of NewArrowWriter. A file that is cut short is an *export.CutError.
func Arrow() export.Format { return export.MagicFormat("Arrow", arrowMagic, newArrowReader) }
