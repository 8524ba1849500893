package sql

import (
	"fmt"
	"strings"
)

// trinoColumns are the columns that the queries read.
const trinoColumns = `  experiment integer,
  mode varchar,
  value double,
  id bigint,
  rank bigint,
  scheduled_ns bigint,
  issued_ns bigint,
  start_ns bigint,
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
  server_prefill_ns bigint,
  server_decode_ns bigint,
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
