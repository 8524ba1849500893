package sql_test

import (
	"strings"
	"testing"

	"github.com/pa-tools/pa/pkg/analyze"
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
		got, err := sql.Script(c.engine, c.files, nil, analyze.DefaultQuality())
		if err != nil || !strings.Contains(got, c.want) {
			t.Errorf("%s %s: %v in\n%s", c.engine, c.files, err, got)
		}
	}
	for _, c := range []struct{ engine, files, metric, want string }{
		{"oracle", "a", "ttft", `unknown engine "oracle": give one of duckdb, spark, clickhouse, trino`},
		{"duckdb", "a", "windows", `pa-analyze report --windows LENGTH shows them`},
		{"duckdb", "a", "fluid_token_rate", `metric "fluid_token_rate" has no query: it needs a search for each request`},
		{"duckdb", "a", "ttxt", `unknown metric "ttxt": give one of requests, ttft`},
		{"duckdb", "a\nDROP", "ttft", "control character"},
		{"trino", "run.parquet", "ttft", "give the URL of one"},
		{"trino", "s3://b/*/r.parquet", "ttft", "a glob can only be its last part"},
	} {
		if _, err := sql.Script(c.engine, c.files, []string{c.metric}, analyze.DefaultQuality()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestChosenMetrics(t *testing.T) {
	got, err := sql.Script("trino", "s3://b/r/", []string{"e2el", "ttft"}, analyze.DefaultQuality())
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(got, "VIEW gaps") || strings.Count(got, "approx_percentile(") != 20 || strings.Index(got, "-- ttft:") > strings.Index(got, "-- e2el:") {
		t.Error(got)
	}
}

// The queries about quality come by name only, and with the parameters that were asked for.
func TestQualityQueries(t *testing.T) {
	cfg := analyze.DefaultQuality()
	cfg.TokenNS, cfg.StallNS = 41_000_000, 77_000_000
	for _, e := range sql.EngineNames() {
		files := "s3://b/r/"
		all, err := sql.Script(e, files, nil, cfg)
		if err != nil || strings.Contains(all, "streams") {
			t.Errorf("%s: %v, and quality in the script of all metrics", e, err)
		}
		got, err := sql.Script(e, files, sql.QualityNames(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"VIEW streams", "-- fluidity:", "-- interactivity:", "41000000", "77000000"} {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %s in\n%s", e, want, got)
			}
		}
	}
}
