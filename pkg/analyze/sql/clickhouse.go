package sql

import (
	"fmt"
	"strings"
)

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
