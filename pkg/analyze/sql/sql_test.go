package sql_test

import (
	"strings"
	"testing"

	"github.com/pa-tools/pa/pkg/analyze/sql"
)

// make readback runs the queries; here are the ways to name files.
func TestFiles(t *testing.T) {
	for _, c := range []struct{ engine, files, want string }{
		{"duckdb", "it's/*.parquet", "read_parquet('it''s/*.parquet')"},
		{"duckdb", "s3://b/r/*.parquet", "read_parquet('s3://b/r/*.parquet')"},
		{"spark", "a`b/*.parquet", "parquet.`a``b/*.parquet`"},
		{"spark", "s3://b/r", "parquet.`s3a://b/r`"},
		{"clickhouse", `a\'b`, `file('a\\''b', 'Parquet')`},
		{"clickhouse", "s3://b/*.parquet", "s3('s3://b/*.parquet', 'Parquet')"},
		{"clickhouse", "gs://b/*.parquet", "gcs('https://storage.googleapis.com/b/*.parquet', 'Parquet')"},
		{"trino", "s3://b/r/*.parquet", "external_location = 's3://b/r/'"},
	} {
		got, err := sql.Script(c.engine, c.files, nil)
		if err != nil || !strings.Contains(got, c.want) {
			t.Errorf("%s %s: %v in\n%s", c.engine, c.files, err, got)
		}
	}
	for _, c := range []struct{ engine, files, metric, want string }{
		{"oracle", "a", "ttft", `unknown engine "oracle": give one of duckdb, spark, clickhouse, trino`},
		{"duckdb", "a", "ttst", `unknown metric "ttst": give one of requests, ttft`},
		{"duckdb", "a\nDROP", "ttft", "control character"},
		{"trino", "run.parquet", "ttft", "give the URL of one"},
		{"trino", "s3://b/*/r.parquet", "ttft", "a glob can only be its last part"},
	} {
		if _, err := sql.Script(c.engine, c.files, []string{c.metric}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestChosenMetrics(t *testing.T) {
	got, err := sql.Script("trino", "s3://b/r/", []string{"e2el", "ttft"})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(got, "VIEW gaps") || strings.Count(got, "approx_percentile(") != 20 || strings.Index(got, "-- ttft:") > strings.Index(got, "-- e2el:") {
		t.Error(got)
	}
}
