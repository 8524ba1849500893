// Package dataset reads requests from files: the input data of perf_analyzer, GenAI-Perf and
// AIPerf; prompts and conversations as JSON, JSON Lines, CSV or Parquet; and traces of the
// requests to real servers.
//
//	set, err := dataset.Open(ctx, []string{"prompts.jsonl"}, dataset.Options{})
//	if err != nil {
//		return err
//	}
//	defer set.Close()
//	entry, err := set.At(17) // a workload.Source
//
// # Terms
//
// A file consists of rows: the lines of JSON Lines and CSV, the elements of a JSON array, the
// rows of Parquet. A layout defines the meaning of the members of a row and turns a row into
// entries, usually one. The package detects format and layout by the content of a file, not
// by its name. Only a file named .txt that does not start like JSON is plain text, with a
// prompt on each line. Each format has a file here, and each layout too.
//
// # Memory
//
// Open reads everything once, so that bad rows are found before the first request. It keeps
// the offset of each row: 8 bytes, or 16 in a JSON document. If some rows have several entries
// or none, each row takes 4 bytes more. If sessions span rows, each entry takes 2 bytes more.
// At reads a row again. Pipes, compressed files and Parquet are copied to a temporary file.
package dataset
