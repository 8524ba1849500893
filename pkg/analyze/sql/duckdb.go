package sql

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
