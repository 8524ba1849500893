package sql

import "strings"

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
