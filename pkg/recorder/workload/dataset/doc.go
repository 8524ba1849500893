// Package dataset reads what to send from files: the input data of
// perf_analyzer, GenAI-Perf and AIPerf, prompts and conversations as JSON, JSON
// Lines, CSV or Parquet, and traces of what real servers were asked, and when.
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
// A file consists of rows: the lines of JSON Lines and CSV, the elements of a
// JSON array, the rows of Parquet. A layout says what the members of a row mean;
// of a row it makes entries, mostly one. The way a file holds its rows and their
// layout are found by looking at it, whatever its name. A file that is named .txt
// and does not begin as JSON does is plain text: each line is a prompt.
//
// # Memory
//
// Open reads everything once, which finds the rows that are not right before
// anything is sent, and keeps for each row where it is: 8 bytes, and up to as
// much again where rows give more or less than one entry. At reads a row from
// the file again. What cannot be read in place (pipes, compressed files, Parquet)
// is kept in a temporary file.
package dataset
