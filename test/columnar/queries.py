"""Runs the queries that pa-analyze sql prints and compares them with pa-analyze report.

    queries.py PA-ANALYZE DIR

DIR has shards/*.parquet, the shards of a run. DuckDB, Spark and ClickHouse (chDB) have to give the
counts of the report exactly, and its means, quantiles and rates to 1e-12, also those about the
quality of streams. Queries for Trino are parsed. Spark needs Java: without it, Spark is left out,
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
# The queries about quality, which come by name, and their parameters.
QUALITY_DISTRIBUTIONS = {"tokens_per_event": "tokens_per_event", "normalized_latency": "normalized_latency_ns"}
QUALITY = ["fluidity", "stalls", *QUALITY_DISTRIBUTIONS, "interactivity"]
PARAMETERS = ["--due-first", "4ms", "--due-next", "2ms", "--reader-pace", "4ms", "--stall", "5ms", "--stall-factor", "1.2"]


def script(program, engine, files, names=(), parameters=()):
    """The views, and the statement of each metric by its name; of those that come without names, or of the named ones."""
    text = subprocess.run([program, "sql", "--engine", engine, "--files", files, *parameters, *names], check=True, capture_output=True, text=True).stdout
    views, metrics = [], {}
    for part in text.split(";\n"):
        lines = [line for line in part.splitlines() if line]
        comments = [line[3:] for line in lines if line.startswith("-- ")]
        statement = "\n".join(line for line in lines if not line.startswith("--"))
        if not statement:
            continue
        name = comments[-1].split(":")[0] if comments else ""
        if name in (names or ALL):
            metrics[name] = statement
        else:
            views.append(statement)
    if list(metrics) != list(names or ["requests", "ttft", "ttfat", "ttst", "itl", "tpot", "e2el", "output_tokens", "input_tokens", "reasoning_tokens", "cached_tokens", "throughput", "user_rate", "prefix", "failures"]):
        sys.exit(f"{engine}: statements {list(metrics)}")
    return text, views, metrics


class Checker:
    def __init__(self, engine, report):
        self.engine, self.levels, self.compared = engine, report["experiments"], 0

    def number(self, name, got, want):
        """A value of a level; 1e-12 unless it is a count."""
        exact = name.split()[-1] in EXACTLY
        if got is None or (got != want if exact else abs(float(got) - want) > 1e-12 * abs(want)):
            sys.exit(f"{self.engine}: {name}: got {got!r}, want {want!r}")
        self.compared += 1

    def rows(self, metric, rows):
        rows = list(rows)
        if metric == "failures":
            got = {(r["experiment"], r["error_class"]): r["n"] for r in rows}
            want = {(i, c): n for i, level in enumerate(self.levels) for c, n in level["requests"]["failed_by_class"].items()}
            if got != want or len(want) < 6:
                sys.exit(f"{self.engine}: failures: got {got}, want {want}")
            return
        if len(rows) != len(self.levels):
            sys.exit(f"{self.engine}: {metric}: {len(rows)} rows, want {len(self.levels)}")
        for i, (row, level) in enumerate(zip(rows, self.levels)):
            at = f"{metric} of level {i}:"
            self.number(f"{at} value", row["value"], level["value"])
            if row["experiment"] != i or row["mode"] != level["mode"]:
                sys.exit(f"{self.engine}: {at} {row}")
            if metric == "requests":
                for name in ["ok", "failed", "excluded"]:
                    self.number(f"{at} {name}", row[name], level["requests"][name])
            elif metric == "throughput":
                self.number(f"{at} seconds", row["seconds"], level["duration_ns"] / 1e9)
                for name, want in level["throughput"].items():
                    self.number(f"{at} {name}", row[name], want)
            elif metric == "user_rate":
                figures = level["economics"]["figures"]
                for name, key in {"decode_per_s": "output_tokens_per_s_per_user_decode", "request_per_s": "output_tokens_per_s_per_user_e2e"}.items():
                    self.number(f"{at} {name}", row[name], figures[key]["value"])
            elif metric == "prefix":
                want = level["prefix"]["figures"]["hit_rate"].get("value")
                if want is not None:
                    self.number(f"{at} hit_rate", row["hit_rate"], want)
                elif row["hit_rate"] is not None:
                    sys.exit(f"{self.engine}: {at} a hit rate of {row['hit_rate']}, which the report lacks")
            elif metric == "fluidity":
                self.number(f"{at} n", row["n"], level["quality"]["requests"])
                for name in ["fluidity_index", "tokens_in_time", "smooth_goodput"]:
                    self.number(f"{at} {name}", row[name], level["quality"]["figures"][name]["value"])
            elif metric == "stalls":
                for name in ["stalls", "stalled_requests", "stall_share"]:
                    self.number(f"{at} {name}", row[name], level["quality"]["figures"][name]["value"])
                self.number(f"{at} longest", row["longest_stall_ns"], level["quality"]["metrics"]["longest_stall_ns"]["max"])
            elif metric == "interactivity":
                for name in ["interactivity_p90", "interactivity_p75"]:
                    self.number(f"{at} {name}", row[name], level["quality"]["figures"][name]["value"])
            elif metric in QUALITY_DISTRIBUTIONS:
                for name, want in level["quality"]["metrics"][QUALITY_DISTRIBUTIONS[metric]].items():
                    self.number(f"{at} {name}", row[name.replace(".", "_")], want)
            elif metric in DISTRIBUTIONS:
                for name, want in level["metrics"][DISTRIBUTIONS[metric]].items():
                    self.number(f"{at} {name}", row[name.replace(".", "_")], want)
            elif row["n"] != 0 and row["max"] != 0:  # the report leaves out metrics that are 0 throughout
                sys.exit(f"{self.engine}: {at} a value of {row['max']}, which the report lacks")


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


def check_trino(program):
    text, _, metrics = script(program, "trino", "s3://bucket/run/*.parquet")
    statements = sqlglot.parse(text, read="trino")
    statements += sqlglot.parse(script(program, "trino", "s3://bucket/run/*.parquet", QUALITY, PARAMETERS)[0], read="trino")
    unknown = [s.sql() for s in statements if s is None or isinstance(s, sqlglot.expressions.Command)]
    if unknown or len(statements) != len(metrics) + 5 + len(QUALITY) + 4:
        sys.exit(f"Trino: {len(statements)} statements, not understood: {unknown}")
    if "approx_percentile is an approximation" not in text:
        sys.exit("Trino: no comment says that percentiles are approximations")
    for engine in ["duckdb", "spark", "clickhouse"]:
        if "approx" in "".join(script(program, engine, "run.parquet")[2].values()):
            sys.exit(f"{engine}: an approximation")


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    files = str(folder / "shards" / "*.parquet")
    report = json.loads(subprocess.run([program, "report", "--format", "json", "--metrics", "quality,economics,prefix", *PARAMETERS, files], check=True, capture_output=True, text=True).stdout)
    engines = {"duckdb": run_duckdb, "clickhouse": run_clickhouse, "spark": run_spark}
    names = []
    for engine, run in engines.items():
        if engine == "spark" and not shutil.which("java"):
            if os.environ.get("CI"):
                sys.exit("Spark: java is missing; install a Java runtime, such as default-jre-headless")
            names.append("not by Spark (java is missing)")
            continue
        checker = Checker(engine, report)
        _, views, metrics = script(program, engine, files)
        _, streams, quality = script(program, engine, files, QUALITY, PARAMETERS)
        run([*views, *streams], metrics | quality, checker)
        names.append(f"{engine} ({checker.compared} figures)")
    check_trino(program)
    print(f"The queries of pa-analyze sql give the figures of report: {', '.join(names)}; the queries for Trino are parsed by sqlglot {sqlglot.__version__}")


if __name__ == "__main__":
    main()
