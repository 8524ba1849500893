"""Runs the queries that pa-analyze sql prints and compares them with pa-analyze report.

    queries.py PA-ANALYZE DIR

DIR has shards/*.parquet, the shards of a run. DuckDB, Spark and ClickHouse (chDB) have to give the
counts of the report exactly, and its means, quantiles and rates to 1e-12, also those about the
quality of streams, and queries of windows. Queries for Trino are parsed. Spark needs Java: without it, Spark is left out,
and the last line says so; if CI is set, that is an error.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import chdb.session
import duckdb
import pyspark.sql
import sqlglot
import sqlglot.expressions

# The statements and what they are in the report.
DISTRIBUTIONS = {
    "ttft": "ttft_ns", "ttfat": "ttfat_ns", "ttst": "ttst_ns", "itl": "itl_ns", "tpot": "tpot_ns", "e2el": "e2el_ns",
    "output_tokens": "output_tokens", "input_tokens": "input_tokens",
}
ALL = ["requests", *DISTRIBUTIONS, "reasoning_tokens", "cached_tokens", "throughput", "user_rate", "prefix", "failures"]
EXACTLY = {"n", "ok", "failed", "excluded", "stalls", "stalled_requests"}
# The queries about quality and phases, which come by name, and their parameters.
QUALITY_DISTRIBUTIONS = {
    "tokens_in_time": "tokens_in_time", "reader_idle": "reader_idle_ns", "longest_stall": "longest_stall_ns", "stall_share": "stall_share",
    "tokens_per_event": "tokens_per_event", "normalized_latency": "normalized_latency_ns", "request_fluidity": "fluidity", "request_stalls": "stalls",
}
PHASES = {"server_queue": "server_queue_ns", "server_prefill": "server_prefill_ns", "server_ttft": "server_ttft_ns", "server_decode": "server_decode_ns"}
TTFT_PARTS = {"send": "send", "queue": "queue", "prefill": "prefill", "first_decode": "first decode", "rest": "network and rest"}
QUALITY = ["fluidity", "tokens_in_time", "reader_idle", "stalls", "longest_stall", "stall_share", "tokens_per_event", "normalized_latency", "request_fluidity", "request_stalls", "interactivity", *PHASES, "ttft_parts"]
GROUPS = "quality,economics,prefix,phases"
# Ways to divide the levels into windows.
WINDOWS = ["100ms", "recorded"]
WITHOUT_WINDOWS = ["throughput"]
PARAMETERS = ["--due-first", "4ms", "--due-next", "2ms", "--reader-pace", "4ms", "--stall", "5ms", "--stall-factor", "1.2"]


def report_of(program, files, *options):
    text = subprocess.run([program, "report", "--format", "json", *options, files], check=True, capture_output=True, text=True).stdout
    return json.loads(text)["experiments"]


def windows_of(program, files, windows):
    """Each window of report --windows, as the level that report shows for this part, with the figures of the window."""
    options = ["--metrics", GROUPS, *PARAMETERS]
    levels = report_of(program, files, "--windows", windows)
    n = len(levels[0]["windows"])
    parts = []  # by window: the levels
    for w, last in [(w, w is levels[0]["windows"][-1]) for w in levels[0]["windows"]]:
        at, end = w["offset_ns"], w["offset_ns"] + w["end_ns"] - w["start_ns"]
        parts.append(report_of(program, files, "--window", f"{at}ns:" if last and windows != "recorded" else f"{at}ns:{end}ns", *options))
    cells = []
    for i, level in enumerate(levels):
        for k, window in enumerate(level["windows"]):
            part = parts[k][i]
            if len(level["windows"]) != n or [part["selected"][x] for x in ["start_ns", "end_ns"]] != [window[x] for x in ["start_ns", "end_ns"]]:
                sys.exit(f"--windows {windows}: window {k} of level {i} is {window['start_ns']} to {window['end_ns']}, and the part {part['selected']}")
            part["requests"] |= {"ok": window["ok"], "failed": window["failed"]}
            part["metrics"] = window["metrics"]
            cells.append({"experiment": i, "window_number": k, "level": part})
    if not any(c["level"]["requests"]["ok"] == 0 for c in cells) and windows != "recorded":
        sys.exit(f"--windows {windows}: no window is empty")
    return cells


def script(program, engine, files, names=(), parameters=()):
    """The views, and the statement of each metric by its name; of those that come without names, or of the named ones."""
    every = [m for m in ALL if m not in WITHOUT_WINDOWS or "--windows" not in parameters]
    text = subprocess.run([program, "sql", "--engine", engine, "--files", files, *parameters, *names], check=True, capture_output=True, text=True).stdout
    views, metrics = [], {}
    for part in text.split(";\n"):
        lines = [line for line in part.splitlines() if line]
        comments = [line[3:] for line in lines if line.startswith("-- ")]
        statement = "\n".join(line for line in lines if not line.startswith("--"))
        if not statement:
            continue
        metric = [name for name in (c.split(":")[0] for c in comments) if name in (names or every)]
        if metric:
            metrics[metric[0]] = statement
        else:
            views.append(statement)
    if list(metrics) != list(names or every):
        sys.exit(f"{engine}: statements {list(metrics)}")
    return text, views, metrics


class Checker:
    """Compares rows with cells: the levels of a report, or windows, each with its experiment and window_number."""

    def __init__(self, engine, cells):
        self.engine, self.cells, self.compared = engine, cells, 0

    def number(self, name, got, want):
        """A value of a cell; 1e-12 unless it is a count."""
        exact = name.split()[-1] in EXACTLY
        if got is None or (got != want if exact else abs(float(got) - want) > 1e-12 * abs(want)):
            sys.exit(f"{self.engine}: {name}: got {got!r}, want {want!r}")
        self.compared += 1

    def rows(self, metric, rows):
        def key(x):
            return x["experiment"], x.get("window_number")

        rows = list(rows)
        if metric == "failures":
            got = {(*key(r), r["error_class"]): r["n"] for r in rows}
            want = {(*key(cell), c): n for cell in self.cells for c, n in cell["level"]["requests"].get("failed_by_class", {}).items()}
            if got != want or len(want) < 6:
                sys.exit(f"{self.engine}: failures: got {got}, want {want}")
            return
        found = {key(row): row for row in rows}
        order = [key(cell) for cell in self.cells if key(cell) in found]
        if [key(row) for row in rows] != order:
            sys.exit(f"{self.engine}: {metric}: rows {[key(row) for row in rows]}, want {order}")
        for cell in self.cells:
            at = f"{metric} of {key(cell)}:"
            row, level = found.get(key(cell)), cell["level"]
            if row is None:
                # Only a window may have no row: it has no values.
                if metric == "requests" or key(cell)[1] is None or level["requests"]["ok"] > 0:
                    sys.exit(f"{self.engine}: {at} no row")
                continue
            self.number(f"{at} value", row["value"], level["value"])
            if row["mode"] != level["mode"]:
                sys.exit(f"{self.engine}: {at} {row}")
            self.row(metric, at, row, level)

    def row(self, metric, at, row, level):
        def figure(name, figures, key):
            """A figure of the report, which may lack it."""
            want = figures.get(key, {}).get("value")
            if want is not None:
                self.number(f"{at} {name}", row[name], want)
            elif row[name] is not None:
                sys.exit(f"{self.engine}: {at} {name} is {row[name]}, which the report lacks")

        def distribution(values):
            if values is None:
                if row["n"] != 0 and row["max"] != 0:  # the report leaves out metrics that are 0 throughout
                    sys.exit(f"{self.engine}: {at} a value of {row['max']}, which the report lacks")
                return
            for name, want in values.items():
                self.number(f"{at} {name}", row[name.replace(".", "_")], want)

        if metric == "requests":
            for name in ["ok", "failed", "excluded"]:
                self.number(f"{at} {name}", row[name], level["requests"][name])
        elif metric == "throughput":
            self.number(f"{at} seconds", row["seconds"], level["duration_ns"] / 1e9)
            for name, want in level["throughput"].items():
                self.number(f"{at} {name}", row[name], want)
        elif metric == "user_rate":
            figure("decode_per_s", level["economics"]["figures"], "output_tokens_per_s_per_user_decode")
            figure("request_per_s", level["economics"]["figures"], "output_tokens_per_s_per_user_e2e")
        elif metric == "prefix":
            for name in ["hit_rate", "hit_rate_absent_is_0"]:
                figure(name, level["prefix"]["figures"], name)
        elif metric == "fluidity":
            self.number(f"{at} n", row["n"], level["quality"]["requests"])
            for name in ["fluidity_index", "tokens_in_time"] + ([] if "selected" in level else ["smooth_goodput"]):
                figure(name, level["quality"]["figures"], name)
        elif metric == "stalls":
            for name in ["stalls", "stalled_requests", "stall_share"]:
                figure(name, level["quality"]["figures"], name)
            want = level["quality"]["metrics"].get("longest_stall_ns")
            if (row["longest_stall_ns"] is None) != (want is None):
                sys.exit(f"{self.engine}: {at} the longest stall is {row['longest_stall_ns']}, want {want}")
            if want is not None:
                self.number(f"{at} longest", row["longest_stall_ns"], want["max"])
        elif metric == "interactivity":
            for name in ["interactivity_p90", "interactivity_p75"]:
                figure(name, level["quality"]["figures"], name)
        elif metric in QUALITY_DISTRIBUTIONS:
            distribution(level["quality"]["metrics"].get(QUALITY_DISTRIBUTIONS[metric]))
        elif metric == "ttft_parts":
            waterfall = level["phases"].get("waterfall")
            if waterfall is None:
                sys.exit(f"{self.engine}: {at} parts of a TTFT, which the report lacks")
            self.number(f"{at} n", row["n"], waterfall["requests"])
            self.number(f"{at} ttft", row["ttft_mean_ns"], waterfall["ttft_ns"])
            stated = {p["part"]: p for p in waterfall["parts"]}
            for name, part in TTFT_PARTS.items():
                for suffix, key in [("share", "share"), ("mean_ns", "mean_ns")]:
                    self.number(f"{at} {name}", row[f"{name}_{suffix}"], stated.get(part, {}).get(key, 0))
        elif metric in PHASES:
            distribution(level["phases"]["metrics"].get(PHASES[metric]))
        else:
            distribution(level["metrics"].get(DISTRIBUTIONS.get(metric, metric)))


def run_duckdb(views, metrics, checker):
    con = duckdb.connect()
    for view in views:
        con.execute(view)
    for name, query in metrics.items():
        result = con.sql(query)
        checker.rows(name, (dict(zip(result.columns, row)) for row in result.fetchall()))


def run_spark(views, metrics, checker):
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    spark = pyspark.sql.SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").config("spark.log.level", "ERROR").config("spark.sql.shuffle.partitions", "1").getOrCreate()
    try:
        for view in views:
            spark.sql(view)
        for name, query in metrics.items():
            checker.rows(name, (row.asDict() for row in spark.sql(query).collect()))
    finally:
        spark.stop()


def run_clickhouse(views, metrics, checker):
    session = chdb.session.Session()
    for view in views:
        session.query(view)
    for name, query in metrics.items():
        lines = str(session.query(query + "\nSETTINGS output_format_json_quote_64bit_integers = 0", "JSONEachRow")).splitlines()
        checker.rows(name, (json.loads(line) for line in lines))


def check_trino(program, files):
    place = "s3://bucket/run/*.parquet"
    text, _, metrics = script(program, "trino", place)
    windows = ["--windows", "100ms", "--windows-of", files]
    windowed, views, windowed_metrics = script(program, "trino", place, parameters=windows)
    if "-- throughput: n/a in windows" not in windowed:
        sys.exit("Trino: no comment says that windows have no rates")
    texts = [text, script(program, "trino", place, QUALITY, PARAMETERS)[0], windowed, script(program, "trino", place, QUALITY, [*PARAMETERS, *windows])[0]]
    statements = [s for t in texts for s in sqlglot.parse(t, read="trino")]
    unknown = [s.sql() for s in statements if s is None or isinstance(s, sqlglot.expressions.Command)]
    if unknown or len(statements) != len(metrics) + 5 + len(QUALITY) + 4 + len(windowed_metrics) + len(views) + len(QUALITY) + 6:
        sys.exit(f"Trino: {len(statements)} statements, not understood: {unknown}")
    if "approx_percentile is an approximation" not in text:
        sys.exit("Trino: no comment says that percentiles are approximations")
    for engine in ["duckdb", "spark", "clickhouse"]:
        if "approx" in "".join(script(program, engine, "run.parquet")[2].values()):
            sys.exit(f"{engine}: an approximation")


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    files = str(folder / "shards" / "*.parquet")
    levels = report_of(program, files, "--metrics", GROUPS, *PARAMETERS)
    cells = {"": [{"experiment": i, "level": level} for i, level in enumerate(levels)]}
    cells |= {windows: windows_of(program, files, windows) for windows in WINDOWS}
    engines = {"duckdb": run_duckdb, "clickhouse": run_clickhouse, "spark": run_spark}
    names = []
    for engine, run in engines.items():
        if engine == "spark" and not shutil.which("java"):
            if os.environ.get("CI"):
                sys.exit("Spark: java is missing; install a Java runtime, such as default-jre-headless")
            names.append("not by Spark (java is missing)")
            continue
        compared = []
        for windows, expected in cells.items():
            options = ["--windows", windows] if windows else []
            _, views, metrics = script(program, engine, files, parameters=options)
            _, streams, quality = script(program, engine, files, QUALITY, [*PARAMETERS, *options])
            checker = Checker(engine, expected)
            run([*views, *streams], metrics | quality, checker)
            compared.append(f"{checker.compared} of {windows + ' windows' if windows else 'levels'}")
        names.append(f"{engine} ({', '.join(compared)})")
    check_trino(program, files)
    print(f"The queries of pa-analyze sql give the figures of report: {'; '.join(names)}; the queries for Trino are parsed by sqlglot {sqlglot.__version__}")


if __name__ == "__main__":
    main()
