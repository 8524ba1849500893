package sql

import (
	"fmt"
	"strings"
)

// duckDB reads local files, globs, and s3:// and gs:// with its extension httpfs.
func duckDB() *engine {
	return &engine{
		name: "duckdb", title: "DuckDB",
		notes: []string{"For s3:// and gs:// run INSTALL httpfs; LOAD httpfs; and CREATE SECRET first."},
		source: func(files string) (string, error) {
			return "CREATE OR REPLACE VIEW requests AS\nSELECT * FROM read_parquet(" + text(files) + ")", nil
		},
		view: func(name, query string) string { return "CREATE OR REPLACE VIEW " + name + " AS\n" + query },
		rows: rowsOf,
		gaps: "unnest(flatten(itl_ns)) AS itl_ns FROM measured",
		std:  "stddev_pop", float: castToDouble, quantile: called("quantile_cont"),
		lastOf: func(column string) string { return "list_max(" + column + ")" },
	}
}

// spark reads local files, globs, and every file system that its Hadoop knows.
func spark() *engine {
	return &engine{
		name: "spark", title: "Spark",
		notes: []string{"percentile is exact and keeps the values in memory; percentile_approx would not be exact."},
		source: func(files string) (string, error) {
			// Hadoop knows Amazon's store as s3a.
			if rest, ok := strings.CutPrefix(files, "s3://"); ok {
				files = "s3a://" + rest
			}
			return "CREATE OR REPLACE TEMPORARY VIEW requests AS\nSELECT * FROM parquet.`" + strings.ReplaceAll(files, "`", "``") + "`", nil
		},
		view: func(name, query string) string { return "CREATE OR REPLACE TEMPORARY VIEW " + name + " AS\n" + query },
		rows: rowsOf,
		gaps: "explode(flatten(itl_ns)) AS itl_ns FROM measured",
		std:  "stddev_pop", float: castToDouble, quantile: called("percentile"),
		lastOf: func(column string) string { return "array_max(" + column + ")" },
	}
}

// clickHouse reads local files and globs with file(), and object stores with s3() and gcs().
func clickHouse() *engine {
	return &engine{
		name: "clickhouse", title: "ClickHouse",
		notes: []string{
			"quantileExactInclusive is exact and interpolates linearly; plain quantile is a sample.",
			"A server reads local files below its user_files_path only; clickhouse-local and chDB read every path.",
		},
		source: func(files string) (string, error) {
			function := "file"
			switch {
			case strings.HasPrefix(files, "s3://"):
				function = "s3"
			case strings.HasPrefix(files, "gs://"):
				function, files = "gcs", "https://storage.googleapis.com/"+strings.TrimPrefix(files, "gs://")
			}
			files = text(strings.ReplaceAll(files, `\`, `\\`))
			return fmt.Sprintf("CREATE OR REPLACE VIEW requests AS\nSELECT * FROM %s(%s, 'Parquet')", function, files), nil
		},
		view: func(name, query string) string { return "CREATE OR REPLACE VIEW " + name + " AS\n" + query },
		rows: func(rows string) string {
			return "SELECT * FROM values('level Int32, window_number Int32, from_ns Int64, to_ns Int64',\n" + rows + ")"
		},
		gaps: "arrayJoin(arrayFlatten(itl_ns)) AS itl_ns FROM measured",
		std:  "stddevPop", float: func(expression string) string { return "toFloat64(" + expression + ")" },
		quantile: func(column string, p float64) string {
			return fmt.Sprintf("quantileExactInclusive(%s)(%s)", decimal(p), column)
		},
		lastOf: func(column string) string { return "arrayMax(" + column + ")" },
	}
}

// trinoColumns are the columns that the queries read.
const trinoColumns = `  experiment integer,
  mode varchar,
  value double,
  id bigint,
  rank bigint,
  scheduled_ns bigint,
  issued_ns bigint,
  start_ns bigint,
  sent_ns bigint,
  ended_ns bigint,
  recv_ns array(bigint),
  reason varchar,
  error_class varchar,
  ttft_ns bigint,
  tpot_ns double,
  e2el_ns bigint,
  itl_ns array(array(bigint)),
  output_tokens bigint,
  timed_tokens bigint,
  hidden_tokens bigint,
  input_tokens bigint,
  reasoning_tokens bigint,
  cached_tokens bigint,
  streamed boolean,
  token_source varchar,
  input_counted boolean,
  server_queue_ns bigint,
  server_prefill_ns bigint,
  server_ttft_ns bigint,
  server_decode_ns bigint,
  draft_steps bigint,
  draft_tokens bigint,
  accepted_tokens bigint,
  token_events array(integer),
  token_choice array(bigint),
  token_reasoning array(boolean),
  events array(row(response integer, choice bigint, reasoning boolean))`

// trino reads the folder of the files as an external table of its Hive connector. It has no
// exact quantile.
func trino() *engine {
	return &engine{
		name: "trino", title: "Trino",
		notes: []string{
			"approx_percentile is an approximation: percentiles differ from the report's, and do not interpolate.",
			"All other figures are exact. The table is a folder of Parquet files in the Hive connector's catalog hive;",
			"every file in the folder belongs to it. Spell its URL as the catalog's file system does.",
		},
		source: func(files string) (string, error) {
			at := strings.LastIndexByte(files, '/')
			folder := files[:at+1]
			if at < 0 || !strings.Contains(folder, "://") || strings.HasSuffix(folder, "://") {
				return "", fmt.Errorf("files %q: Trino reads a folder of its Hive connector: give the URL of one, such as s3://bucket/run/", files)
			}
			if strings.ContainsAny(folder, "*?[") {
				return "", fmt.Errorf("files %q: Trino reads a folder: a glob can only be its last part", files)
			}
			return "CREATE TABLE IF NOT EXISTS hive.default.pa_requests (\n" + trinoColumns + "\n) WITH (\n  format = 'PARQUET',\n  external_location = " + text(folder) + "\n);\n" +
				"CREATE OR REPLACE VIEW requests AS\nSELECT * FROM hive.default.pa_requests", nil
		},
		view: func(name, query string) string { return "CREATE OR REPLACE VIEW " + name + " AS\n" + query },
		rows: rowsOf,
		gaps: "gap AS itl_ns FROM measured CROSS JOIN UNNEST(flatten(itl_ns)) AS t (gap)",
		std:  "stddev_pop", float: castToDouble, quantile: called("approx_percentile"),
		lastOf: func(column string) string { return "array_max(" + column + ")" },
	}
}

// listsOf returns the functions of an engine.
func listsOf(e *engine) lists {
	switch e.name {
	case "duckdb":
		return duckDBLists()
	case "spark":
		return sparkLists()
	case "clickhouse":
		return clickHouseLists()
	}
	return trinoLists()
}
