package sql_test

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/golden"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/analyze/quality"
	"github.com/pa-tools/pa/pkg/analyze/sql"
	"github.com/pa-tools/pa/pkg/answer"
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
		got, err := sql.Script(c.engine, sql.Query{Files: c.files})
		if err != nil || !strings.Contains(got, c.want) {
			t.Errorf("%s %s: %v in\n%s", c.engine, c.files, err, got)
		}
	}
	for _, c := range []struct{ engine, files, metric, want string }{
		{"oracle", "a", "ttft", `unknown engine "oracle": give one of duckdb, spark, clickhouse, trino`},
		{"duckdb", "a", "windows", `metric "windows" has no query: windows are not a metric; --windows LENGTH gives each metric a row for each window`},
		{"duckdb", "a", "fluid_token_rate", `metric "fluid_token_rate" has no query: it needs a search for each request`},
		{"duckdb", "a", "ttxt", `unknown metric "ttxt": give one of requests, ttft`},
		{"duckdb", "a\nDROP", "ttft", "control character"},
		{"trino", "run.parquet", "ttft", "give the URL of one"},
		{"trino", "s3://b/*/r.parquet", "ttft", "a glob can only be its last part"},
	} {
		if _, err := sql.Script(c.engine, sql.Query{Files: c.files, Metrics: []string{c.metric}}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestChosenMetrics(t *testing.T) {
	got, err := sql.Script("trino", sql.Query{Files: "s3://b/r/", Metrics: []string{"e2el", "ttft"}})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(got, "VIEW gaps") || strings.Count(got, "approx_percentile(") != 20 || strings.Index(got, "-- ttft:") > strings.Index(got, "-- e2el:") {
		t.Error(got)
	}
}

// A metric whose values are a column has it in tables, and in the columns that Trino is told of.
func TestColumns(t *testing.T) {
	script, err := sql.Script("trino", sql.Query{Files: "s3://b/r/"})
	if err != nil {
		t.Fatal(err)
	}
	tables, err := os.ReadFile(filepath.Join(golden.Root(t), "schemas", "columns.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range slices.Concat(answer.StrictMetrics, answer.ServerMetrics) {
		if d.View != answer.ViewRequests {
			continue
		}
		if column := d.Key(); !strings.Contains(script, "\n  "+column+" bigint") && !strings.Contains(script, "\n  "+column+" double") {
			t.Errorf("%s: trinoColumns lacks its column %s", d, column)
		} else if !strings.Contains(string(tables), "\n| `"+column+"` |") {
			t.Errorf("%s: schemas/columns.md has no column %s; a metric without one has no View", d, column)
		}
	}
}

// The queries about quality come by name only, and with the parameters that were asked for.
func TestQualityQueries(t *testing.T) {
	cfg := quality.Default()
	cfg.TokenNS, cfg.StallNS = 41_000_000, 77_000_000
	for _, e := range sql.EngineNames() {
		files := "s3://b/r/"
		all, err := sql.Script(e, sql.Query{Files: files, Quality: cfg})
		if err != nil || strings.Contains(all, "streams") {
			t.Errorf("%s: %v, and quality in the script of all metrics", e, err)
		}
		got, err := sql.Script(e, sql.Query{Files: files, Metrics: sql.QualityNames(), Quality: cfg})
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

// A script states the bounds of the windows. The figures of windows are compared by make readback.
func TestWindows(t *testing.T) {
	const end = math.MaxUint64
	levels := []analyze.LevelWindows{
		{Index: 0, Mode: "concurrency", Value: "1", Level: figure.Span{FromNS: 100, ToNS: 300}, Windows: []figure.Span{{FromNS: 100, ToNS: 200}, {FromNS: 200, ToNS: 300}}},
		{Index: 2, Mode: "concurrency", Value: "4", Level: figure.Span{FromNS: 500, ToNS: 900}, Windows: []figure.Span{{FromNS: 600, ToNS: end}}},
	}
	// The last window of level 0 includes the level's last instant; columns hold at most 63 bits.
	const rows = "  (0, 0, 100, 200),\n  (0, 1, 200, 301),\n  (2, 0, 600, 9223372036854775807)"
	for _, e := range sql.EngineNames() {
		q := sql.Query{Files: "s3://b/r/", Windows: levels}
		got, err := sql.Script(e, q)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{rows, "VIEW windows AS", "FROM windowed WHERE reason = ''", "-- throughput: n/a in windows: the tokens of a request"} {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %s in\n%s", e, want, got)
			}
		}
		if strings.Contains(got, "requests_per_s") || strings.Count(got, "GROUP BY") != strings.Count(got, "window_number, error_class\n")+strings.Count(got, "GROUP BY experiment, mode, value, window_number\n") {
			t.Errorf("%s: a row for whole levels in\n%s", e, got)
		}
		q.Quality, q.Metrics = quality.Default(), []string{"fluidity"}
		if got, err = sql.Script(e, q); err != nil || strings.Contains(got, "smooth_goodput") || !strings.Contains(got, "AS fluidity_index") {
			t.Errorf("%s: %v in\n%s", e, err, got)
		}
	}
	const want = `metric "throughput" has no query for windows: the tokens of a request belong to the windows in which they came`
	if _, err := sql.Script("duckdb", sql.Query{Windows: levels, Metrics: []string{"throughput"}}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}

// Comments define each metric and each figure of the report by the table of package explain.
func TestDefinitions(t *testing.T) {
	got, err := sql.Script("duckdb", sql.Query{Metrics: slices.Concat(sql.Names(), sql.QualityNames()), Quality: quality.Default()})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"-- ttft: TTFT [ns]: first token event − start.\nSELECT ",
		"-- throughput: rates of the requests that count.\n--   requests_per_s: requests/s [1/s]: successful requests / duration, first start to last response of any kind\n",
		"\n--   decode_per_s: output tokens/s/user (decode) [tokens/s]: 1 / mean TPOT (InferenceX: interactivity)\n",
		"\n--   smooth_goodput: smooth goodput [tokens/s]: Σ (tokens − reader idle / PaceNS) / duration (arXiv 2410.14257, ",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
	if strings.Contains(got, " []: ") {
		t.Errorf("a metric or a figure is not in the table:\n%s", got)
	}
	if n := strings.Count(got, "\n--   "); n != 15 {
		t.Errorf("%d figures, want 15", n)
	}
}
