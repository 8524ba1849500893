// Package sql prints SQL queries over the Parquet files of a run (schemas/columns.md) that
// compute the figures of pa-analyze report in DuckDB, Spark, ClickHouse and Trino.
//
//	text, err := sql.Script("duckdb", sql.Query{Files: "shards/*.parquet", Metrics: []string{"ttft", "throughput"}})
//
// A script has views first, then a statement for each metric. Counts and exact quantiles
// are the counts and quantiles of the report; means and rates differ from its digits by the
// rounding of the engine's sums, below 1e-12. An engine that can only approximate a quantile
// says so in a comment. Metrics are data in metric.go, and each engine is one file.
//
// The queries use the default definitions: latencies from the start, tokens from
// their best source, whole levels or windows. The queries read derived columns, so a file without them
// (of the recorder's journal) does not suffice. The bounds of windows are numbers in the script,
// because they depend on the header of the files, which no engine reads as a table. Requests whose
// column streamed is null, as in runs of other tools, have no TTFT in the columns, whereas the
// report decides by the other requests of the level.
package sql
